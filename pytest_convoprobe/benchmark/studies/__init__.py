"""What asks more of a benchmark than its pass rates: calibration, validation, gates, exports."""
