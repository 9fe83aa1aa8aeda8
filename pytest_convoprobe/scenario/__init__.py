"""The scenario format: its models, reading files with the place of every mistake, its JSON Schema."""
