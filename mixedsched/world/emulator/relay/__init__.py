"""The userspace UDP relay; needs no privilege and repeats exactly."""
