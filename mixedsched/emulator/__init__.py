"""Emulated networks between a client and a server. The relay needs no privilege and repeats exactly."""
