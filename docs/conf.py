"""The documentation as a site: `make docs` builds it from docs/, results/ and the program itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HOME = Path(__file__).parents[1]

project = "mixedsched"
author = "the authors of mixedsched"
copyright = author  # noqa: A001 - Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "results/**.md",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "lighthouse-runner/README.md",
]
exclude_patterns = ["**/node_modules/**", "build/**", "runs/**", ".venv/**"]
myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]
suppress_warnings = ["myst.header", "toc.not_included"]  # pages that others link to need no place in the contents
html_theme = "furo"
html_title = "mixedsched"
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
templates_path: list[str] = []
COMMANDS = HOME / "docs" / "reference" / "commands.md"


def write_commands(_: Sphinx) -> None:
    """The reference of commands, from their --help."""
    words = [sys.executable, "-m", "typer", "mixedsched.cli", "utils", "docs", "--name", "mixedsched"]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=HOME).stdout
    COMMANDS.parent.mkdir(exist_ok=True)
    COMMANDS.write_text(re.sub(r"^# `mixedsched`$", "# Commands", told, count=1, flags=re.MULTILINE), encoding="utf-8")


def without_folders(_: Sphinx, __: str, source: list[str]) -> None:
    """Links to folders are for readers of the repository: a site has no page for them."""
    source[0] = re.sub(r"\[([^]]*)]\([^)\s#]*/\)", r"\1", source[0])


def with_levels(_: Sphinx, __: str, ___: str, context: dict[str, Any], ____: object) -> None:
    """Captions of contents are headings to who listens to a page, who must be told of which level."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = context[part].replace('role="heading">', 'role="heading" aria-level="2">')


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_commands)
    app.connect("source-read", without_folders)
    app.connect("html-page-context", with_levels, priority=900)  # after the theme
