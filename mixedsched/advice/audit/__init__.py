"""The audit of a small site: what comes too late and why, what would help, and proof of it in the browser.

From bottom to top: `screening` (which changes help in simulation), `budget` (how much can be measured), `result` (what the
measurements say), `session` (all of it in order). What a load shows and what can be changed is in `advice.changes`.
"""
