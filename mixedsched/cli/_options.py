"""Options that several commands which load pages share, so that they mean and say the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.sites.site import Origins


class Screen(StrEnum):
    """As which device a page is loaded: Lighthouse's form factors."""

    MOBILE = "mobile"
    DESKTOP = "desktop"


FormFactorOption = Annotated[Screen, typer.Option(help="As which device pages are loaded and scored.")]
OriginsOption = Annotated[
    Origins | None,
    typer.Option(
        help="Of a site of several hosts: keep them, or merge them into the first; what the site says by default."
    ),
]
LinkOption = Annotated[str, typer.Option(help="Network profile, by name or file.", metavar="L")]
BudgetOption = Annotated[str, typer.Option(help="Time for all of it; the more, the surer the answer.", metavar="TIME")]
ResultsOption = Annotated[
    Path | None, typer.Option("--out", help="Folder of results; by default one in runs/.", metavar="DIR")
]
