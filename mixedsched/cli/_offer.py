"""What a server needs of its site and its mapping, worked out aside: reading both takes libraries that serving does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.cli._aside import aside
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world.server.files import Entry, SiteFiles
from mixedsched.world.server.replay import Recorded


@dataclass(frozen=True, slots=True)
class Offer:
    """A site under a scheme, ready to be served. hosts: the first is the main one. connections: that a load should take."""

    name: str
    url: str
    hosts: tuple[str, ...]
    files: SiteFiles
    scheme: ConfiguredScheme
    connections: int


@dataclass(frozen=True, slots=True)
class _Read:
    """The picklable part of an offer."""

    name: str
    url: str
    hosts: tuple[str, ...]
    entries: Mapping[str, Mapping[str, Entry]]
    recorded: Sequence[Recorded[Entry]] | None
    connections: int
    mapping: PriorityMapping | None


def prepare_offer(site: str, scheme: str, mapping: str | None, origins: str | None = None) -> Offer:
    """Read site, scheme and mapping as people name them. Raises the errors of each.

    origins: of the site's hosts, keep or merge; None for what the site says.
    """
    read = aside(lambda: _read(site, scheme, mapping, origins))
    configured = configure(scheme, SCHEMES, lambda _name, _switches: _given(read.mapping), mapping)
    files = SiteFiles(read.entries, read.hosts[0], recorded=read.recorded)
    return Offer(read.name, read.url, read.hosts, files, configured, read.connections)


def _read(site: str, scheme: str, mapping: str | None, origins: str | None) -> _Read:
    from mixedsched.cli._sites import open_site, site_entries, site_recording
    from mixedsched.sites import Origins, expected_connections
    from mixedsched.world import catalog

    loaded = configure(scheme, SCHEMES, catalog.load_mapping, mapping).mapping
    opened = open_site(site, None if origins is None else Origins(origins))
    if loaded is not None:  # its read-only views cannot be pickled
        cells = dict(loaded.cells) if loaded.cells is not None else None
        loaded = replace(loaded, cells=cells, chosen=dict(loaded.chosen))
    connections = expected_connections(opened).count
    entries, recorded = site_entries(opened), site_recording(opened)
    return _Read(opened.name, opened.url, tuple(opened.hosts), entries, recorded, connections, loaded)


def _given(mapping: PriorityMapping | None) -> PriorityMapping:
    assert mapping is not None, "a scheme that wants a mapping had one when it was read"
    return mapping
