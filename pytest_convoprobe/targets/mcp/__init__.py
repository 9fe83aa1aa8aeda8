"""MCP servers as tools of a model: their processes and connections, and what they list and return.

`servers.py` is the door. Only `sdk.py` knows the package `mcp`, which is imported when the first server is
started.
"""
