"""What makes a scenario fail: policies, and how often they are wrong. Pure functions."""
