"""Probes that measure whether a network does what its profile says."""
