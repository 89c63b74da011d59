"""Interpreting a measured load of a page, and changing the page: shared by the audit and the tuner.

From bottom to top: `change` (what can be changed), `html_change` and `page_change` (a change made to a document, and to the
page model and the site), `look` (a measured load, interpreted), `observed` (the page to be simulated), `findings` (resources
that come too late), `candidates` (changes worth a try).
"""
