"""Hostile clients: seeds, structure-aware mutations, and an independent reading of what must come of them.

`python -m tests.fuzz --minutes N` runs them for long; tests/core/h3/test_hostile_input.py for seconds.
"""
