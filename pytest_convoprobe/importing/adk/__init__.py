"""Reads eval sets of Google's Agent Development Kit, old and new, with the criteria beside them."""
