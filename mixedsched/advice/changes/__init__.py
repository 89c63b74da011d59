"""What a measured load shows of a page, and what could be changed about it: shared by the audit and the tuner.

From bottom to top: `change` (what can be changed), `html_change` and `page_change` (a change made to a document, and
to the page model), `look` (what a measured load shows), `findings` (what comes too late), `candidates` (changes worth a try),
`edition` (a changed copy of the site).
"""
