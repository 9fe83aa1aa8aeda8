"""The stages: what each makes, and of what."""
