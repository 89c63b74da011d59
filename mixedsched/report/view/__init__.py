"""A local page of everything in a folder of results: what runs, what was found, two side by side, one over weeks.

- `summary`: a result in a few lines; commands keep it beside their reports. `folders`: what lies in a folder of results.
- `app`: the pages, which `mixedsched.world.local_page` serves to this user alone.

Nothing but a summary is imported with it, because every command that writes a report does so.
"""

from mixedsched.report.view.summary import SUMMARY_NAME, ResultKind, ResultSummary, summary_of, write_summary

__all__ = ["SUMMARY_NAME", "ResultKind", "ResultSummary", "summary_of", "write_summary"]
