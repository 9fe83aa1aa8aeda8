"""A review of the tools that a target offers: what a model can't know from their descriptions and schemas."""
