"""Header rules as configuration for Caddy. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.advice.tuner.ship import expressions
from mixedsched.advice.tuner.ship.lines import HeaderRule
from mixedsched.advice.tuner.ship.writing import about, comment, with_values

SNIPPET = "mixedsched_priorities"
_HOW = """\
Response priorities (RFC 9218 section 8) for Caddy 2. Put this file beside your Caddyfile as mixedsched.caddy, and write into it
    import mixedsched.caddy          at the top, outside of all blocks
    import mixedsched_priorities     inside the block of the site
Caddy passes the header on and does not act on it itself. Its newest versions follow, over HTTP/3, what browsers ask for, which
this header cannot override there. A CDN or proxy in front of it may act on it.
"""


def render(rules: Sequence[HeaderRule]) -> str:
    """A snippet, to be imported into a site block. The first line of the map that fits counts."""
    lines = [f"# {line}" for line in _HOW.splitlines()]
    lines += ["", f"({SNIPPET}) {{", "\tmap {http.request.orig_uri.path} {mixedsched_priority} {"]
    told: set[str] = set()
    for rule, value in with_values(rules):
        expression = expressions.of_decoded(rule.match)
        if expression in told:
            continue  # Caddy takes none twice, and an encoded slash is a slash to it
        told.add(expression)
        lines += [f"\t\t{line}" for line in comment(about(rule))]
        lines.append(f'\t\t`~{expression}` "{value}"')
    lines += ['\t\tdefault ""', "\t}", '\t@mixedsched_priority not vars {mixedsched_priority} ""']
    lines += ["\theader @mixedsched_priority priority {mixedsched_priority}", "}"]
    return "\n".join(lines) + "\n"
