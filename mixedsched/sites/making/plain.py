"""A plain folder as a site: analysed on the spot, its texts compressed into a build folder."""

from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.model.page import PAGE_FORMAT
from mixedsched.sites.making._discover import Hints, SentFile, discover, serving_entry
from mixedsched.sites.site import Site, site_name_of, site_of
from mixedsched.sites.site.folders import keep_files
from mixedsched.sites.site.paths import Local, confined, is_confined, shown, url_of_file
from mixedsched.sites.site.responses import SETTINGS_NAME, read_settings_file
from mixedsched.sites.site.wire import compress, is_text

INDEX_NAME = "index.html"
_COPIES_PREFIX = "plain-"


def load_plain(directory: Path, build_dir: Path | None) -> Site:
    """The site that a folder with an index.html is; see load_site. Raises SiteError, and OSError if it changes meanwhile."""
    name = site_name_of(directory.resolve().name)
    origin = f"site '{name}'"
    if not confined(directory, INDEX_NAME, origin).read_bytes().strip():
        raise SiteError(
            f"{origin}: {INDEX_NAME} is empty", why="a page that paints nothing cannot be measured", fix="write a page"
        )
    wire = _Wire(directory, compressed=build_dir is not None)
    hosts = (f"{name}.test",)
    found = discover(directory, "/", hosts, wire.sent, Hints(), origin)
    known = {entry["path"] for entry in (*found.resources, *found.served)}
    others = [
        serving_entry(Local(0, address), wire.sent(file))
        for file in _visible_files(directory, build_dir)
        if (address := url_of_file(file)) not in known
    ]
    data: dict[str, Any] = {
        "format": PAGE_FORMAT,
        "name": name,
        "title": name,
        "description": f"the files of {shown(directory.resolve().name)}",
        "source": shown(directory),
        "hosts": hosts,
        "entry": "/",
        "resources": found.resources,
        "also_served": [*found.served, *others],
        **read_settings_file(directory),
    }
    copies = keep_files(wire.copies, _COPIES_PREFIX, build_dir) if build_dir is not None else None
    return site_of(data, directory, origin, copies)


def _visible_files(directory: Path, build_dir: Path | None) -> list[str]:
    """The files that scripts may ask for, relative to the folder, sorted.

    Left out: hidden files, links that lead out, unreadable files, names that have no URL, our own settings and builds.
    """
    ours = build_dir.resolve() if build_dir is not None else None
    inside = ours is not None and directory.resolve() in ours.parents
    files = []
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        hidden = any(part.startswith(".") for part in relative.parts)
        if hidden or (inside and ours is not None and path.resolve().is_relative_to(ours)):
            continue
        if relative.as_posix() != SETTINGS_NAME and is_confined(directory, relative.as_posix()):
            files.append(relative.as_posix())
    return files


class _Wire:
    """How the files of a plain folder travel: text compressed where that makes it smaller, all else as it is."""

    def __init__(self, directory: Path, *, compressed: bool) -> None:
        self._directory = directory
        self._compressed = compressed
        self._sent: dict[str, SentFile] = {}
        self.copies: dict[str, bytes] = {}  # file -> gzip

    def sent(self, file: str) -> SentFile:
        """The form in which a file travels. A compressed copy keeps its name, in a folder of its own, so any name can occur."""
        if file not in self._sent:
            self._sent[file] = self._look(file)
        return self._sent[file]

    def _look(self, file: str) -> SentFile:
        path = self._directory / file
        if self._compressed and is_text(file):
            body = path.read_bytes()
            copy = compress(body)
            if len(copy) < len(body):
                self.copies[file] = copy
                return SentFile(file, len(copy), "gzip")
        return SentFile(file, path.stat().st_size)
