"""HTML documents: what their templates may use.

Each is one file that needs no network and no other file, and says all without scripts.
"""

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mixedsched.report._facts import fact_rows
from mixedsched.report._kinds import KIND_LETTERS
from mixedsched.report._scripts import PLAYER
from mixedsched.report.svg import shortened, storable
from mixedsched.units import capital, counted, format_bytes, format_ms


def render(name: str, /, **values: Any) -> str:
    """A document as text, by the name of its template. Texts are escaped; all that the template names must be given.

    Half surrogates, which a page's attributes may hold and no file can, become question marks.
    """
    return storable(_ENVIRONMENT.get_template(name).render(values).encode("utf-8", "replace").decode())


def tables_of(facts: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(caption, rows) for every mapping among the facts."""
    return [(name.replace("_", " "), fact_rows(value)) for name, value in facts.items() if isinstance(value, Mapping)]


def _unbroken(text: str) -> str:
    """Numbers keep their unit on the same line."""
    return re.sub(r"(\d) (%|ms\b|s\b|[kMGT]?B\b)", "\\1\N{NO-BREAK SPACE}\\2", text)


_ENVIRONMENT = Environment(
    loader=PackageLoader("mixedsched.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    unbroken=_unbroken, size=format_bytes, ms=format_ms, shortened=shortened, counted=counted, capital=capital
)
_ENVIRONMENT.globals["PLAYER"] = PLAYER
_ENVIRONMENT.globals["KINDS"] = KIND_LETTERS
