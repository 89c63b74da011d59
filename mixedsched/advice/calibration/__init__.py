"""How well simulation ranks delivery schemes, measured against real Chromium, and which browser model makes it rank best.

Browser loads of sites under schemes come in; out come rank agreement for each site, before and after, and fitted constants.
"""
