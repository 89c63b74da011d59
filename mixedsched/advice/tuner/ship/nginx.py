"""Header rules as configuration for nginx. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.advice.tuner.ship import expressions
from mixedsched.advice.tuner.ship.lines import HeaderRule
from mixedsched.advice.tuner.ship.writing import about, comment, with_values

VARIABLE = "$mixedsched_priority"
_HOW = """\
Response priorities (RFC 9218 section 8) for nginx. Put this file beside your configuration and name it in the http block:
    include /etc/nginx/mixedsched.conf;
Where a server or location block has add_header lines of its own, nginx inherits none from above: repeat the last line of this
file there. If this machine serves other sites, too, move that line into the server block of this one.
nginx passes the header on and does not act on it itself, over HTTP/2 or HTTP/3. A CDN or proxy in front of it may.
"""


def render(rules: Sequence[HeaderRule]) -> str:
    """A file for the http block. It looks at requests as they were sent, so index, try_files and rewrites change nothing."""
    lines = [f"# {line}" for line in _HOW.splitlines()]
    lines += ["", f"map $request_uri {VARIABLE} {{", '    default "";']
    for rule, value in with_values(rules):
        lines += [f"    {line}" for line in comment(about(rule))]
        lines.append(f'    "~^{expressions.of_target(rule.match)}(?:\\?|$)" "{value}";')
    lines += ["}", "", f"add_header priority {VARIABLE} always;"]
    return "\n".join(lines) + "\n"
