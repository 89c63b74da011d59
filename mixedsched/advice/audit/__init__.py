"""The audit of a small site: what comes too late and why, what would help, and proof of it in the browser.

From bottom to top: `change` (what can be changed), `html_change` and `page_change` (a change made to a document, and to the
page model), `look` (what a measured load shows), `findings` (what comes too late), `candidates` (changes worth a try),
`screening` (which of them help in simulation), `edition` (a changed copy of the site), `budget` (how much can be measured),
`verdict` (what the measurements say), `session` (all of it in order).
"""
