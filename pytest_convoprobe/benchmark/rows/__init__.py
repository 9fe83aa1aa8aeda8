"""Rows and the tables that keep them."""
