"""Calling language models: the port, its implementations, and the layers around them."""
