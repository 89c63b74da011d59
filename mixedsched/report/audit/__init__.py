"""The report of an audit, for the owner of a site: what it says on the terminal, and as one HTML file that needs no other."""

from pathlib import Path

from mixedsched.advice.audit.result import Audit
from mixedsched.report.audit._terminal import render_audit

__all__ = ["render_audit", "write_audit"]


def write_audit(audit: Audit, path: Path) -> None:
    """Write the HTML report to `path`. Raises OSError if it cannot be written."""
    from mixedsched.report.audit._document import render_html  # here, because templates take time to load

    path.write_text(render_html(audit), encoding="utf-8")
