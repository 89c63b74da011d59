"""Header rules as configuration for the Apache HTTP Server. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.advice.tuner.ship import expressions
from mixedsched.advice.tuner.ship.lines import HeaderRule
from mixedsched.advice.tuner.ship.writing import about, comment, with_values

_HOW = """\
Response priorities (RFC 9218 section 8) for Apache httpd 2.4 with mod_headers. Include this file in the virtual host of the
site, or copy it into its .htaccess (AllowOverride FileInfo). The last line that fits counts, so general ones come first.
Apache has no HTTP/3, and over HTTP/2 it passes the header on without acting on it. A CDN or proxy in front of it may.
"""


def render(rules: Sequence[HeaderRule]) -> str:
    """Lines for a virtual host, a directory or .htaccess. The request line is looked at as it was sent."""
    lines = [f"# {line}" for line in _HOW.splitlines()]
    lines += ["", "<IfModule mod_headers.c>"]
    for rule, value in reversed(with_values(rules)):
        lines += [f"    {line}" for line in comment(about(rule))]
        target = f"m#^[A-Z]+ (?:[a-z]+://[^/ ]+)?{expressions.of_target(rule.match)}[? ]#"
        lines.append(f'    Header always set priority "{value}" "expr=%{{THE_REQUEST}} =~ {target}"')
    return "\n".join([*lines, "</IfModule>"]) + "\n"
