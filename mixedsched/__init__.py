"""mixedsched, the HTTP/3 prioritization lab: which order of bytes gives people the best page?"""

__version__ = "0.1.0"
