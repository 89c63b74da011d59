"""What continuous integration wants to know: gates in a line each, as JUnit's XML, and as a table for a comment."""

from mixedsched.report.ci._junit import junit_xml
from mixedsched.report.ci._markdown import markdown_table
from mixedsched.report.ci._questions import CheckedQuestions, gate_text

__all__ = ["CheckedQuestions", "gate_text", "junit_xml", "markdown_table"]
