"""Sites as commands open them: what takes time, and what merging hosts could not do, is said on standard error."""

from __future__ import annotations

from mixedsched.sites import opening
from mixedsched.sites.analysis import Described
from mixedsched.sites.site import Origins, Site


def open_site(name_or_folder: str, origins: Origins | None = None) -> Site:
    """The site of that name, or in that folder; see opening.open_site."""
    site = opening.open_site(name_or_folder, origins, say)
    for note in site.notes:
        say(f"warning: {note}", style="yellow")
    return site


def open_described(name: str) -> Described:
    """A site, or the page of a page file; see opening.open_described."""
    return opening.open_described(name, say)


def say(line: str, style: str = "dim") -> None:
    """Say something about a site on standard error."""
    from mixedsched.cli._console import (
        err,  # here, as a server of a built site has nothing to say, and needs its memory
    )

    err.print(line, style=style, markup=False, soft_wrap=True)
