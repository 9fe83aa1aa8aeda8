"""How a synthetic user and a target talk: the user, the guard on what it says, and the loop."""
