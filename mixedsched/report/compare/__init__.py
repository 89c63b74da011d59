"""The report of a comparison: for the terminal, and as one HTML file that needs no other."""

from mixedsched.report.compare._document import write_comparison
from mixedsched.report.compare._health import miss_lines
from mixedsched.report.compare._terminal import render_comparison

__all__ = ["miss_lines", "render_comparison", "write_comparison"]
