"""Strategies over measured and simulated loads: audit, tuner, calibration."""
