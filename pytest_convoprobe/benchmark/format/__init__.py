"""The files that people write: benchmark.yaml, config.yaml, labels."""
