"""What scores add up to."""
