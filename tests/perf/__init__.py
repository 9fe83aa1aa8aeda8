"""Benchmarks of whole commands, each figure beside its bar: `python -m tests.perf`. And simulated gates."""
