"""Simulated loads: what to play (`scenario`, `task`), in how many processes (`pool`), and what was played before (`stored`).

`simulate`, studies, the search of `tune`, the screening of `audit`, and `calibrate` all play their loads here.
"""
