"""What is tested: the port, and the targets that models, Python objects and HTTP services are."""
