"""`lab run`: any command over an emulated network."""
