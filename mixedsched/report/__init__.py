"""Reports for people: tables for the terminal, HTML documents that stand alone, pictures.

A folder a document; what they share stands beside them. Each folder is imported for itself, as pictures of simulated loads need
not wait for the statistics of comparisons.
"""
