"""The vocabulary of an experiment: arms, blocks, the plan, and what one run left behind. Plain values only."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self, cast, get_args

from pydantic import TypeAdapter

from mixedsched.core.metrics import PAGE_METRICS, Metric
from mixedsched.core.stats import Looks
from mixedsched.errors import InputError, UsageError
from mixedsched.model.congestion import CongestionControl
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.pageload import Throttling

PLAN_SCHEMA = 1
MAX_CPU_SLOWDOWN = 100


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the things compared."""

    label: str  # unique in the plan
    scheme: str  # with parameters, as the registry parses it
    mapping: str | None = None  # name of another table than the scheme's own
    table_digest: str | None = None  # fingerprint of the table in force, so that an edited one is another experiment


@dataclass(frozen=True, slots=True)
class Block:
    """One link seed, one repeat: every arm once."""

    index: int
    link_seed: int
    order: tuple[str, ...]  # labels of the arms
    warm_up: bool = False  # such blocks are never analysed


@dataclass(frozen=True, slots=True)
class Conditions:
    """Circumstances of loads that all arms share, beside page, network and screen. Raises UsageError for impossible ones."""

    congestion_control: CongestionControl = CongestionControl.CUBIC  # of the servers
    cpu_slowdown: float = 1.0  # how many times as long the page's own work takes, by DevTools
    # `simulate`: metrics are what Lighthouse's model of a slow device and network makes of a load, to repeat studies with it.
    throttling: Throttling = "provided"
    browser: Browser = Browser.CHROMIUM

    @classmethod
    def of(cls, congestion_control: str, cpu_slowdown: float, throttling: str, browser: str = Browser.CHROMIUM) -> Self:
        """From names. Raises UsageError also for unknown ones."""
        for what, name, known in (
            ("congestion control", congestion_control, tuple(CongestionControl)),
            ("throttling", throttling, get_args(Throttling)),
            ("browser", browser, tuple(Browser)),
        ):
            if name not in known:
                raise UsageError(f"there is no {what} '{name}'", fix=f"choose one of {', '.join(known)}")
        method = cast("Throttling", throttling)
        return cls(CongestionControl(congestion_control), float(cpu_slowdown), method, Browser(browser))

    def __post_init__(self) -> None:
        if not 1 <= self.cpu_slowdown <= MAX_CPU_SLOWDOWN:  # which NaN is not, either
            raise UsageError(
                f"a page's work cannot be slowed down {self.cpu_slowdown:g} times",
                fix=f"choose a number from 1, as it is, to {MAX_CPU_SLOWDOWN}",
            )
        if self.throttling == "simulate" and self.cpu_slowdown != 1:
            raise UsageError(
                "the work of a page cannot be slowed down twice",
                why="Lighthouse's model has its own slow-down (mobile 4, desktop 1)",
                fix="leave out --cpu-slowdown or --throttling simulate",
            )
        if self.browser is Browser.FIREFOX and (self.cpu_slowdown != 1 or self.throttling == "simulate"):
            raise UsageError(
                "Firefox can neither slow down a page's work nor be scored by Lighthouse's model",
                fix="leave out --cpu-slowdown and --throttling, or use --browser chromium",
            )

    def to_dict(self) -> dict[str, Any]:
        """For storage, and for fingerprints: without the browser where that is Chromium, as before there was a choice."""
        facts = asdict(self)
        return facts if self.browser is not Browser.CHROMIUM else {key: facts[key] for key in facts if key != "browser"}

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is unusual, in words."""
        words = []
        if self.congestion_control != CongestionControl.CUBIC:
            words.append(f"congestion control {self.congestion_control}")
        if self.browser is not Browser.CHROMIUM:
            words.append(f"browser {self.browser.brand}")
        if self.cpu_slowdown != 1:
            words.append(f"CPU slowed down {self.cpu_slowdown:g} times")
        if self.throttling == "simulate":
            words.append("metrics by Lighthouse's model, not observed")
        return tuple(words)


AS_USUAL = Conditions()


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided before the first run."""

    site: str
    site_digest: str  # fingerprint of the site's contents
    link: str  # name of the network profile
    link_facts: Mapping[str, Any]  # its numbers, so that an edited profile is another experiment
    form_factor: str
    arms: tuple[Arm, ...]
    baseline: str  # label of the arm that the others are compared with
    primary: tuple[str, ...]  # keys of the metrics of the declared family
    seed: int  # what orders and link seeds were drawn from
    blocks: tuple[Block, ...]  # a warm-up block, if there is one, then those that are analysed
    schema: int = PLAN_SCHEMA
    backend: str = "relay"  # which emulated network
    across_connections: bool = False  # whether the server schedules across a client's connections
    metrics: tuple[str, ...] = PAGE_METRICS  # keys of the page's metrics that are asked for
    conditions: Conditions = AS_USUAL
    looks: Looks | None = None  # after which blocks the experiment may stop; None if all are made, and looked at then

    def to_dict(self) -> dict[str, Any]:
        facts = {**asdict(self), "conditions": self.conditions.to_dict()}
        return {key: value for key, value in facts.items() if key not in _LATER or value != _LATER[key]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """The reverse of to_dict. Raises InputError for a plan of a newer version."""
        if data["schema"] > PLAN_SCHEMA:
            raise InputError("the plan was stored by a newer version of mixedsched", fix="upgrade mixedsched")
        return TypeAdapter(cls).validate_python(data)

    def asks_for(self, metric: Metric) -> bool:
        """Whether it is to be analysed; those of a run's connections always are."""
        return metric.source == "run" or metric.key in self.metrics

    @property
    def counted_blocks(self) -> int:
        """How many blocks are analysed once they are complete."""
        return sum(not block.warm_up for block in self.blocks)

    @property
    def digest(self) -> str:
        """Names the experiment: equal for equal plans but for the number of blocks, so that a longer one continues it."""
        facts = {key: value for key, value in self.to_dict().items() if key != "blocks"}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


# Facts that plans of earlier versions do not have. Their defaults are not stored, so that a plan's digest stays what it was.
_LATER: Mapping[str, Any] = {"metrics": PAGE_METRICS, "conditions": AS_USUAL.to_dict(), "looks": None}


class RunStatus(StrEnum):
    """ok: counts. failed: no result (reason says why). invalid: a result that must not be trusted (reason says why)."""

    OK = "ok"
    FAILED = "failed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A run of consecutive STREAM frames of one response, in order of arrival at the browser."""

    path: str
    from_ms: float  # since the first QUIC event of the page
    to_ms: float
    frames: int
    size_bytes: int
    blocked_bytes: int = 0  # of these, bytes that had to wait for an earlier, lost packet of the response
    authority: str = ""  # whom it was asked of; "" where the log has no request, and in runs stored before it was kept


@dataclass(frozen=True, slots=True)
class Connection:
    """A QUIC connection of a page load, as the browser's own log shows it. None: the log cannot tell."""

    host: str
    reason: str  # what it was opened for, a browser.OpenReason
    why: str  # the same in words
    hol_bytes: int | None  # see metrics.hol
    connection_hol_bytes: int | None
    packets_seen: int | None  # from the server
    packets_lost: int | None
    losses: tuple[tuple[float, int], ...] = ()  # (ms since the first QUIC event until it showed, packets lost)


@dataclass(frozen=True, slots=True)
class Run:
    """One page load: where it belongs in the plan, how it ended, and what was seen."""

    block: int
    attempt: int  # 1 for the first try of the block, one more for each redo: a failed run voids its whole block
    arm: str
    position: int  # in the order of the block
    status: RunStatus
    reason: str = ""  # why it does not count
    started_at: str = ""  # ISO 8601, UTC
    cost_s: float = 0.0  # all of its time, from fresh link and browser to the end of Lighthouse
    page_load: Mapping[str, Any] = field(default_factory=dict)  # browser.BrowserLoad.to_dict(); {} when failed
    arrivals: tuple[Arrival, ...] = ()
    connections: int = 0  # that carried the page
    lost_packets: int | None = None  # on their way to the browser; None if the log cannot tell
    placements: tuple[Mapping[str, Any], ...] = ()  # the server's log, one mapping a request
    relay: Mapping[str, Any] = field(default_factory=dict)  # counters of the link
    quic: tuple[Connection, ...] = ()  # the connections; empty for runs stored before they were kept
    heroes: tuple[str, ...] = ()  # URLs of images that the site's manifest flags as the largest paint
    # How long "server" and "worker" (the browser's) were ready to run without being let; None if the system does not tell.
    waited_ms: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def overhead_s(self) -> float:
        """Cost of the run beyond the page's own load time."""
        return self.cost_s - float(self.page_load.get("observed", {}).get("load_ms") or 0) / 1000

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

    @property
    def score(self) -> float | None:
        """Lighthouse's overall performance score, 0 to 100; None for runs without it, and those stored before it was kept."""
        found = self.page_load.get("score")
        return None if found is None else float(found)

    def value(self, metric: Metric) -> float | None:
        """A metric of the browser or of the connections; None where it is missing."""
        measured = self.page_load.get("metrics", {})
        found = measured.get(metric.key) if metric.source == "page" else getattr(self, metric.key)
        return float(found) if found is not None else None

    def observed_ms(self, name: str) -> float | None:
        """When a paint was seen ("fcp_ms", "lcp_ms"), also where the metric is a model's; None where that is not known."""
        for moments in (self.page_load.get("observed") or {}, self.page_load.get("metrics") or {}):
            value = moments.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                return float(value)
        return None

    def metric(self, name: str) -> float:
        """A metric of a run that is ok, by its key (for instance "lcp_ms")."""
        return float(self.page_load["metrics"][name])
