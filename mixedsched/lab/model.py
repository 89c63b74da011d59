"""The vocabulary of an experiment: arms, blocks, the plan, and what one run left behind. Plain values only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from mixedsched.core.metrics import Metric
from mixedsched.errors import InputError

PLAN_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the things compared.

    label: unique in the plan. scheme: as the registry parses it. mapping: name of another table than the scheme's own, or
    None. table_digest: fingerprint of the table in force, so that an edited one is another experiment.
    """

    label: str
    scheme: str
    mapping: str | None = None
    table_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One site, one link seed, one repeat: every arm once, in `order` (labels). Warm-up blocks are never analysed."""

    index: int
    link_seed: int
    order: tuple[str, ...]
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided before the first run.

    site_digest: fingerprint of the site's contents; link: profile name; link_facts: its numbers, so that an edited profile
    is another experiment. baseline: label of the arm the others are compared with. primary: metrics of the declared family.
    blocks: the warm-up block, then those that are analysed. seed: what orders and link seeds were drawn from.
    backend: which emulated network. across_connections: whether the server schedules across a client's connections.
    """

    site: str
    site_digest: str
    link: str
    link_facts: Mapping[str, Any]
    form_factor: str
    arms: tuple[Arm, ...]
    baseline: str
    primary: tuple[str, ...]
    seed: int
    blocks: tuple[Block, ...]
    schema: int = PLAN_SCHEMA
    backend: str = "relay"
    across_connections: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """The reverse of to_dict. Raises InputError for a plan of a newer version."""
        if data["schema"] > PLAN_SCHEMA:
            raise InputError("the plan was stored by a newer version of mixedsched", fix="upgrade mixedsched")
        return cls(
            **{
                **data,
                "arms": tuple(Arm(**arm) for arm in data["arms"]),
                "blocks": tuple(Block(**{**block, "order": tuple(block["order"])}) for block in data["blocks"]),
                "primary": tuple(data["primary"]),
            }
        )

    @property
    def digest(self) -> str:
        """Names the experiment: equal for equal plans but for the number of blocks, so that a longer one continues it."""
        facts = {key: value for key, value in self.to_dict().items() if key != "blocks"}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


class RunStatus(StrEnum):
    """ok: counts. failed: no result (reason says why). invalid: a result that must not be trusted (reason says why)."""

    OK = "ok"
    FAILED = "failed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A run of consecutive STREAM frames of one response, in order of arrival at the browser.

    from_ms, to_ms: since the first QUIC event of the page; frames and size_bytes: what came in between. blocked_bytes: of
    these, bytes that could not be used yet, because an earlier packet of the response was lost.
    """

    path: str
    from_ms: float
    to_ms: float
    frames: int
    size_bytes: int
    blocked_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Connection:
    """A QUIC connection of a page load, as the browser's own log shows it. None: the log cannot tell.

    reason, why: what it was opened for, as a word (browser.OpenReason) and in words. hol_bytes, connection_hol_bytes: see
    metrics.hol. packets_seen, packets_lost: from the server. losses: (when the packet after them came, in ms since the first
    QUIC event of the page; how many were lost).
    """

    host: str
    reason: str
    why: str
    hol_bytes: int | None
    connection_hol_bytes: int | None
    packets_seen: int | None
    packets_lost: int | None
    losses: tuple[tuple[float, int], ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Connection:
        """Read what dataclasses.asdict made, be it by way of JSON."""
        return cls(**{**data, "losses": tuple((float(at_ms), int(packets)) for at_ms, packets in data["losses"])})


@dataclass(frozen=True, slots=True)
class Run:
    """One page load: which block, attempt and arm; how it ended; what was seen.

    attempt: 1 for the first try of the block, one more for each redo (a failed run voids its whole block).
    page_load: the browser's view (metrics, requests, frames ...) as browser.PageLoad.to_dict gives it; {} when failed.
    connections: how many carried the page; quic: these, empty for runs stored before they were kept.
    lost_packets: on their way to the browser, None if the log cannot tell. placements: the server's log, one mapping per
    request. relay: the link's counters. waited_ms: how long "server" and "worker" (the browser's) were ready to run during the
    load without being let, None if the system does not tell (experiment.held_up).
    """

    block: int
    attempt: int
    arm: str
    position: int
    status: RunStatus
    reason: str = ""
    started_at: str = ""
    cost_s: float = 0.0
    page_load: Mapping[str, Any] = field(default_factory=dict)
    arrivals: tuple[Arrival, ...] = ()
    connections: int = 0
    lost_packets: int | None = None
    placements: tuple[Mapping[str, Any], ...] = ()
    relay: Mapping[str, Any] = field(default_factory=dict)
    quic: tuple[Connection, ...] = ()
    waited_ms: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def misses(self) -> tuple[str, ...]:
        """Requests for which the server had nothing, as "GET https://shop.test/a.css", in order of the log."""
        return tuple(
            f"{item['method']} https://{item['authority']}{item['path']}"
            for item in self.placements
            if item.get("missed")
        )

    @property
    def hol_bytes(self) -> int | None:
        """Blocked within their streams, over all connections; None if that is not known."""
        known = [item.hol_bytes for item in self.quic if item.hol_bytes is not None]
        return sum(known) if known and len(known) == len(self.quic) else None

    def value(self, metric: Metric) -> float | None:
        """A metric, whoever measured it; None where it is missing."""
        measured = {"hol_bytes": self.hol_bytes} if metric.source == "run" else self.page_load.get("metrics", {})
        found = measured.get(metric.key)
        return float(found) if found is not None else None

    def metric(self, name: str) -> float:
        """A metric of a run that is ok, by its key (for instance "lcp_ms")."""
        return float(self.page_load["metrics"][name])
