"""The templates of all reports, and what each of them may use."""

from __future__ import annotations

import re
from collections.abc import Callable

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


def template(name: str, **filters: Callable[..., str]) -> Template:
    """A template of this package, by its file's name, with filters of its own. What it is given is escaped, and all that it
    names must be given."""
    environment = Environment(
        loader=PackageLoader("mixedsched.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({"unbroken": _unbroken, **filters})
    return environment.get_template(name)


def _unbroken(text: str) -> str:
    """Numbers keep their unit on the same line."""
    return re.sub(r"(\d) (%|ms\b|s\b|[kMG]?B\b)", "\\1\N{NO-BREAK SPACE}\\2", text)
