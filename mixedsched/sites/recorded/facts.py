"""What goes with a recording: facts for the manifest, and the summary of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

UNKNOWN_LICENCE = "unknown: the contents belong to their owners"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that the site does without, and why."""

    url: str
    why: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What the recorder knows beyond the exchanges.

    name: of the site. url: of the page. licence: of its contents, "" if nobody said. record: facts for people, JSON values,
    such as date and browser. notes: sentences about the load, for the summary. left_out: what never became an exchange.
    """

    name: str
    url: str
    title: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class KindTotal:
    """How many resources of a kind there are, and their bytes on the wire."""

    count: int
    body_bytes: int


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """What a recording has become.

    url: what a browser opens of the copy. hosts: of each site host the origins that were recorded. kinds: totals of the page's
    resources. above_fold: addresses of what counts for the first screen as flagged; hero: of the largest paint, if it is an
    image. rewritten: addresses of bodies in which names of hosts were changed. dropped_headers: how often each field was left
    out that mattered. also_served: what the server has beyond the page. doubled: requests for what was asked before.
    """

    folder: Path
    name: str
    url: str
    hosts: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, KindTotal]
    resources: int
    body_bytes: int
    above_fold: tuple[str, ...] = ()
    hero: str | None = None
    rewritten: tuple[str, ...] = ()
    dropped_headers: Mapping[str, int] = field(default_factory=dict)
    also_served: int = 0
    doubled: int = 0
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "folder": str(self.folder),
            "name": self.name,
            "url": self.url,
            "hosts": {host: list(origins) for host, origins in self.hosts.items()},
            "kinds": {kind: asdict(total) for kind, total in self.kinds.items()},
            "resources": self.resources,
            "body_bytes": self.body_bytes,
            "above_fold": list(self.above_fold),
            "hero": self.hero,
            "rewritten": list(self.rewritten),
            "dropped_headers": dict(self.dropped_headers),
            "also_served": self.also_served,
            "doubled": self.doubled,
            "left_out": [asdict(item) for item in self.left_out],
            "notes": list(self.notes),
        }
