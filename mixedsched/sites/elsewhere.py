"""Names of sites that are elsewhere: an address on the web, or a HAR that a browser has saved."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from mixedsched.errors import UsageError
from mixedsched.units import printable

_ARCHIVES = (".har", ".har.gz")


def is_address(name: str) -> bool:
    """Whether it is the address of a page: https://example.org."""
    return name.lower().startswith(("https://", "http://"))


def is_archive(name: str) -> bool:
    """Whether it is a HAR, which may be compressed as a whole. Whether there is such a file is another question."""
    return not is_address(name) and name.lower().endswith(_ARCHIVES) and not _is_folder(name)


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # it is too long for a name
        return False


def is_elsewhere(name: str) -> bool:
    return is_address(name) or is_archive(name)


def page_address(text: str) -> str:
    """The address of a page, as it is given. Raises UsageError for what is none, or names a user."""
    what = f"'{printable(text)}' is not the address of a page"
    try:
        parts = urlsplit(text.strip())
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise UsageError(what, why=str(error)) from error
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname:
        fix = "" if "://" in text else f"try https://{printable(text)}"
        raise UsageError(what, why="it does not begin with https:// or http://", fix=fix)
    if not port_is_fine or re.search(r"[\s\x00-\x1f\x7f\\]", text.strip()):
        raise UsageError(what, why="it contains characters that no address can")
    if parts.username is not None:
        raise UsageError(what, why="it contains a user name", fix="take it out: pages behind a login are not recorded")
    return text.strip()
