"""What a reader is shown: the report on one result, and the summary of a run."""
