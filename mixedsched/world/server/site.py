"""A site as a server needs it: names and files, without the libraries that reading sites takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixedsched.model.request import Flag, Kind


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """One path of a site: the file that is sent for it, and what the page's manifest says of it."""

    file: Path | None  # absolute, without symbolic links; None for an answer without content, a recorded 304
    mime: str
    encoding: str | None = None  # how the file is stored
    kind: Kind | None = None
    flags: frozenset[Flag] | None = None
    status: int = 200
    delay_ms: float = 0.0
    headers: tuple[tuple[bytes, tuple[bytes, ...]], ...] = ()
    """Fields that the site sets for this answer, with all their values: they replace the server's own, or with no value remove
    them."""
    bare: bool = False  # without the fields that the server adds to every file


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer and the request that it was recorded for."""

    method: str
    host: str
    target: str  # path and query
    status: int
    entry: SiteEntry
    if_none_match: str | None = None  # of a request that was answered with 304


@dataclass(frozen=True, slots=True)
class ServedSite:
    """The site that a server serves."""

    name: str
    url: str  # what a browser opens
    hosts: tuple[str, ...]  # the first is the main one
    entries: Mapping[str, Mapping[str, SiteEntry]]  # by host name, then by path, with query where one matters
    recorded: Sequence[RecordedAnswer] | None  # to replay, in order; None to serve the entries as they are
    connections: int  # that one load of the page should take
