"""Mutants: stored conversations, changed in ways that a scenario must notice."""
