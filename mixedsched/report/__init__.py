"""Comparisons for people: a self-contained HTML report and a table for the terminal."""

from mixedsched.report._html import render_report, write_report
from mixedsched.report.table import render_table

__all__ = ["render_report", "render_table", "write_report"]
