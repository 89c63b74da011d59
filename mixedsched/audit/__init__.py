"""The audit of a small site: what comes too late, why, and what would help, with the evidence."""
