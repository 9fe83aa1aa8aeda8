"""Settings: their models, the reading of files, the merging of levels, and how they are shown."""
