"""The demo's agent and the shop that it works for."""
