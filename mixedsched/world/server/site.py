"""A site as a server needs it: names and files, without the libraries that reading sites takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mixedsched.world.server.files import Entry
from mixedsched.world.server.replay import Recorded


@dataclass(frozen=True, slots=True)
class ServedSite:
    """All that a server is told of the site it serves."""

    name: str
    url: str  # what a browser opens
    hosts: tuple[str, ...]  # the first is the main one
    entries: Mapping[str, Mapping[str, Entry]]  # by host name, then by path
    recorded: Sequence[Recorded[Entry]] | None  # answers to replay, in order; None to serve the entries as they are
    connections: int  # that one load of the page should take
