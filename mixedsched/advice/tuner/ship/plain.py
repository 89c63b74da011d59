"""Header rules for people and other programs, and for hosts that read a `_headers` file. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.advice.tuner.ship.headers import Elsewhere
from mixedsched.advice.tuner.ship.lines import HeaderRule
from mixedsched.advice.tuner.ship.writing import checked_value, comment, in_words, plain, with_values

_HOW = """\
Response header `priority` (RFC 9218 section 8) by path, for any server. The first pattern that fits counts; * stands for any
signs; queries do not matter. Columns, between tabs: pattern, value, files of the page.
"""


def render(rules: Sequence[HeaderRule], elsewhere: Sequence[Elsewhere] = (), hosts: Sequence[str] = ()) -> str:
    """One rule a line. elsewhere: files of other hosts, as lines with the host's name before the path."""
    lines = [f"# {line}" for line in _HOW.splitlines()]
    for rule, value in with_values(rules):
        lines += comment(rule.why + (f". Without it: {in_words(rule.effect_pct)}" if rule.effect_pct else ""))
        lines.append("\t".join((rule.match, value, ", ".join(map(plain, rule.covers)))))
    if elsewhere:
        lines += ["", *comment("Files of other hosts. Only these can send the header: ask them.")]
        lines += ["\t".join((_address(item, hosts), checked_value(item.value), plain(item.id))) for item in elsewhere]
    return "\n".join(lines) + "\n"


def _address(item: Elsewhere, hosts: Sequence[str]) -> str:
    host = hosts[item.host] if item.host < len(hosts) else f"host {item.host}"
    return plain(f"{host}{item.path}")
