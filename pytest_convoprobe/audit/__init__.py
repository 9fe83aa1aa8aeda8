"""The audit: how often the gate of a suite is wrong, measured on its own stored conversations."""
