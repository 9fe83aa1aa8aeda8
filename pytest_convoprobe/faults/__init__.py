"""Faults that are injected into calls of tools: how they are written, and the plan of one conversation."""
