"""What all configurations have in common: comments that stay comments, values that stay values. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mixedsched.advice.tuner.ship.lines import HeaderRule

_VALUE = re.compile(r"u=[0-7](?:, i(?:=\?0)?)?|i(?:=\?0)?")
_SHOWN_IDS = 3
_LINE = 110


def checked_value(value: str) -> str:
    """A header value that means the same in every language of configuration. Raises ValueError for any other."""
    if not _VALUE.fullmatch(value):
        raise ValueError(f"no priority that could be shipped: {value!r}")
    return value


def plain(text: str) -> str:
    """Text for a comment: one line, without what could end it, or go on to the next."""
    return "".join(sign if sign.isprintable() and sign != "\\" else "?" for sign in text)


def comment(text: str, sign: str = "#") -> list[str]:
    """Lines of a comment, wrapped between words."""
    lines, line = [], sign
    for word in plain(text).split():
        if len(line) + 1 + len(word) > _LINE and line != sign:
            lines.append(line)
            line = sign
        line += f" {word}"
    return [*lines, line]


def about(rule: HeaderRule) -> str:
    """As "a.jpg, b.jpg and 12 more; 5 images: later than the browser asks (u=2 i). Without it: LCP +3.1 % on 4g"."""
    shown = rule.covers[:_SHOWN_IDS] if len(rule.covers) > _SHOWN_IDS + 1 else rule.covers
    more = len(rule.covers) - len(shown)
    names = ", ".join(shown) + (f" and {more} more" if more else "")
    effect = f". Without it: {in_words(rule.effect_pct)}" if rule.effect_pct else ""
    return plain("; ".join(filter(None, [names, rule.why])) + effect)


def in_words(effect_pct: Mapping[str, float]) -> str:
    """As "+3.1 % (4g), -0.2 % (3g)"."""
    return ", ".join(f"{value:+.1f} % ({name})" for name, value in effect_pct.items())


def measured_in_words(measured_pct: Mapping[str, tuple[float, float, float]]) -> str:
    """As "-18.1 % (4g, interval -22.0 to -13.4)"."""
    return ", ".join(
        f"{change:+.1f} % ({name}, interval {low:+.1f} to {high:+.1f})"
        for name, (change, low, high) in measured_pct.items()
    )


def with_values(rules: Sequence[HeaderRule]) -> list[tuple[HeaderRule, str]]:
    """Rules with the checked value of each; of several with one pattern only the first can fit."""
    first: dict[str, HeaderRule] = {}
    for rule in rules:
        first.setdefault(rule.match, rule)
    return [(rule, checked_value(rule.value)) for rule in first.values()]
