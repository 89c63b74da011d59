"""Sites as commands open them: what takes time, and what might surprise, is reported on standard error."""

from pathlib import Path

from mixedsched.errors import UsageError
from mixedsched.sites import opening
from mixedsched.sites.analysis.difference import Described
from mixedsched.sites.elsewhere import is_elsewhere
from mixedsched.sites.site import Origins, Site


def open_site(name_or_folder: str, origins: Origins | None = None) -> Site:
    """The site of that name, or in that folder; see opening.open_site."""
    return opening.open_site(name_or_folder, origins, _say)


def located(name: str, *, fresh: bool = False, fetch: bool = False) -> str:
    """What to open for a name. With --fresh a copy of what is elsewhere is made anew; with --fetch a folder gets what it lacks.

    Raises UsageError where these make no sense, and as `bring` and `bring_whole`.
    """
    if not fresh and not fetch:
        return name
    from mixedsched.sites.brought import bring, bring_whole  # here, because they take a browser's client

    if fetch:
        if is_elsewhere(name) or not Path(name).is_dir():
            raise UsageError("--fetch is for folders", why=f"'{name}' is not one", fix="leave it out")
        return str(bring_whole(Path(name), _say, fresh=fresh))
    if not is_elsewhere(name):
        raise UsageError(
            "--fresh is for addresses and HARs", why=f"'{name}' is always taken as it is", fix="leave it out"
        )
    bring(name, _say, fresh=True)
    return name


def open_described(name: str) -> Described:
    """A site, or the page of a page file; see opening.open_described."""
    return opening.open_described(name, _say)


def _say(line: str) -> None:
    # Here, because a server of a built site has nothing to say, and needs its memory.
    from mixedsched.cli._console import say_step

    say_step(line)
