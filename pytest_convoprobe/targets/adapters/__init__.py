"""Adapters for agents of frameworks: a conversation with each is a session in the framework's own way.

`registry` finds the adapter of an object, without importing a framework. Each framework has a module here
with `open_session` (see `sessions.AgentSession`), which is imported once such an object was given.
"""
