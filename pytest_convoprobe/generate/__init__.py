"""Scenarios that a model writes: from the tools of a target, or from a conversation that really happened.

Nothing of it is trusted: each is loaded and linted before it is written, and it says what it was made from.
"""
