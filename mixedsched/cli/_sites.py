"""Sites as commands open them: what takes time, and what might surprise, is said on standard error."""

from collections.abc import Iterable

from mixedsched.errors import UsageError
from mixedsched.sites import opening
from mixedsched.sites.analysis.difference import Described
from mixedsched.sites.elsewhere import is_elsewhere
from mixedsched.sites.site import Origins, Site


def open_site(name_or_folder: str, origins: Origins | None = None) -> Site:
    """The site of that name, or in that folder; see opening.open_site."""
    return opening.open_site(name_or_folder, origins, _say)


def bring_again(names: Iterable[str], *, fresh: bool) -> None:
    """With --fresh: bring those that are elsewhere once more. Raises UsageError if none is, and as `bring`."""
    if not fresh:
        return
    elsewhere = [name for name in names if is_elsewhere(name)]
    if not elsewhere:
        raise UsageError("--fresh is for addresses and HARs", why="a site that is here is always taken as it is")
    from mixedsched.sites.brought import bring  # here, because it takes a browser's client

    for name in elsewhere:
        bring(name, _say, fresh=True)


def open_described(name: str) -> Described:
    """A site, or the page of a page file; see opening.open_described."""
    return opening.open_described(name, _say)


def _say(line: str) -> None:
    # Here, because a server of a built site has nothing to say, and needs its memory.
    from mixedsched.cli._console import say_step

    say_step(line)
