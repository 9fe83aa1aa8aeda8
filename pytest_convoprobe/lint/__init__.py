"""Faults of scenarios that make them notice nothing, or the wrong thing. Code finds them; nothing runs."""
