"""Sites as commands open them: what takes time, and what might surprise, is said on standard error."""

from mixedsched.sites import opening
from mixedsched.sites.analysis.difference import Described
from mixedsched.sites.site import Origins, Site


def open_site(name_or_folder: str, origins: Origins | None = None) -> Site:
    """The site of that name, or in that folder; see opening.open_site."""
    return opening.open_site(name_or_folder, origins, _say)


def open_described(name: str) -> Described:
    """A site, or the page of a page file; see opening.open_described."""
    return opening.open_described(name, _say)


def _say(line: str) -> None:
    # Here, because a server of a built site has nothing to say, and needs its memory.
    from mixedsched.cli._console import say_step

    say_step(line)
