"""What loads of a live page have in common, and what the page does not repeat: then arms were not given quite the same."""

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mixedsched.lab.engine import stored_runs
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.results import open_store

_NETWORK = ("http:", "https:", "ws:", "wss:")
_CHANGEABLE = re.compile(r"[0-9a-f]{6,}|[0-9]+")  # in a segment of a path: what an application makes up


class Changing(StrEnum):
    """What a live page does not repeat."""

    ADDRESS = "address"
    SIZE = "size"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Unrepeated:
    """Something that differs between loads."""

    what: Changing
    address: str  # path with query; `*` for what differs in it
    loads: int  # that asked for it
    values: int  # how many different ones there were
    least: float | None = None  # of sizes in bytes, or statuses
    most: float | None = None


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """What the page asked for at another origin, and did not get: only the application is there."""

    origin: str
    requests: int  # over all loads
    loads: int  # that asked for any
    example: str


@dataclass(frozen=True, slots=True)
class LiveView:
    """The loads that have a result and may be trusted, warm-up included."""

    loads: int
    requests: tuple[int, int]  # to the application: least and most in a load
    size_bytes: tuple[int, int]  # of its responses, decoded, together: likewise
    application_ms: Mapping[str, float | None]  # by arm: until the document's response began at the edge, the median
    changing: tuple[Unrepeated, ...]
    elsewhere: tuple[NotLoaded, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Load:
    """The application's part of a load: sizes and statuses by address."""

    sizes: Mapping[str, tuple[int, ...]]
    statuses: Mapping[str, tuple[int, ...]]
    elsewhere: tuple[str, ...]  # URLs


def live_view_of(folder: Path, url: str) -> LiveView:
    """Of all loads that are stored in a folder of results."""
    with open_store(folder) as store:
        runs = [run for experiment in store.experiments() for run in stored_runs(store, experiment.digest)]
    return live_view(runs, url)


def live_view(runs: Iterable[Run], url: str) -> LiveView:
    """url: of the page, as the browser opened it."""
    good = [run for run in runs if run.status is RunStatus.OK]
    home = _origin(url)
    loads = [_load(run, home) for run in good]
    counts = [sum(map(len, load.statuses.values())) for load in loads] or [0]
    totals = [sum(map(sum, load.sizes.values())) for load in loads] or [0]
    path = url.removeprefix(home)
    times = {
        arm: [ms for run in good if run.arm == arm and (ms := _document_ms(run, path)) is not None]
        for arm in dict.fromkeys(run.arm for run in good)
    }
    return LiveView(
        loads=len(loads),
        requests=(min(counts), max(counts)),
        size_bytes=(min(totals), max(totals)),
        application_ms={arm: round(statistics.median(found), 1) if found else None for arm, found in times.items()},
        changing=(*_addresses(loads), *_values(loads)),
        elsewhere=_elsewhere(loads),
    )


def _load(run: Run, home: str) -> _Load:
    sizes: dict[str, list[int]] = defaultdict(list)
    statuses: dict[str, list[int]] = defaultdict(list)
    elsewhere = []
    for item in run.page_load.get("requests", ()):
        url = str(item["url"]).partition("#")[0]
        if not url.startswith(_NETWORK):
            continue
        if _origin(url) != home:
            elsewhere.append(url)
            continue
        address = url.removeprefix(home)
        # A stream of events has no size: it has what came until the browser left.
        sizes[address] += [int(item["resource_bytes"])] if item["finished"] else []
        statuses[address].append(int(item["status"]))
    return _Load(_sorted(sizes), _sorted(statuses), tuple(elsewhere))


def _sorted(values: Mapping[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {address: tuple(sorted(found)) for address, found in values.items()}


def _document_ms(run: Run, path: str) -> float | None:
    """How long the application took to begin the page's document."""
    found = next((item for item in run.placements if item.get("path") == path), {}).get("origin_ms")
    return None if found is None else float(found)


def _addresses(loads: Sequence[_Load]) -> list[Unrepeated]:
    """Addresses that not all loads asked for; those that look alike count as one that changes."""
    kinds: dict[str, set[str]] = defaultdict(set)
    askers: dict[str, set[int]] = defaultdict(set)
    for number, load in enumerate(loads):
        for address in load.sizes:
            if any(address not in other.sizes for other in loads):
                kind = _kind(address)
                kinds[kind].add(address)
                askers[kind].add(number)
    return [
        Unrepeated(Changing.ADDRESS, kind if len(found) > 1 else next(iter(found)), len(askers[kind]), len(found))
        for kind, found in sorted(kinds.items())
    ]


def _kind(address: str) -> str:
    """The address with `*` for what applications make up."""
    path, mark, query = address.partition("?")
    path = "/".join(_CHANGEABLE.sub("*", segment) for segment in path.split("/"))
    pairs = "&".join(f"{pair.partition('=')[0]}=*" if "=" in pair else "*" for pair in query.split("&"))
    return path + (mark + pairs if mark else "")


def _values(loads: Sequence[_Load]) -> list[Unrepeated]:
    """Sizes and statuses of one address that differ."""
    found = []
    for address in sorted({address for load in loads for address in load.sizes}):
        askers = [load for load in loads if address in load.sizes]
        for what, seen in (
            (Changing.SIZE, {load.sizes[address] for load in askers}),
            (Changing.STATUS, {load.statuses[address] for load in askers}),
        ):
            flat = [value for values in seen for value in values]
            if len(seen) > 1 and len(set(flat)) > 1:
                found.append(Unrepeated(what, address, len(askers), len(seen), min(flat), max(flat)))
    return found


def _elsewhere(loads: Sequence[_Load]) -> tuple[NotLoaded, ...]:
    urls: dict[str, list[str]] = defaultdict(list)
    askers: dict[str, set[int]] = defaultdict(set)
    for number, load in enumerate(loads):
        for url in load.elsewhere:
            urls[_origin(url)].append(url)
            askers[_origin(url)].add(number)
    return tuple(NotLoaded(origin, len(found), len(askers[origin]), found[0]) for origin, found in sorted(urls.items()))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
