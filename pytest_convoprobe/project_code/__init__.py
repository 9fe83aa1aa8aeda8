"""How code of the project runs (agents, tools, hooks): away from our event loop, with a time limit."""
