"""The player: loads as films side by side on one time line, and below each the bytes of its responses as they arrive.

A document holds every picture once (`frame_store`) and the rest as JSON; `templates/player.js` plays it. Without scripts the
player stays hidden, and the filmstrip below it says the same in steps.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from markupsafe import Markup

from mixedsched.lab.model import Run
from mixedsched.lab.page_view import SeenResponse, losses_of, responses_of
from mixedsched.model.request import Kind
from mixedsched.report._filmstrip import FilmFrame, Filmstrip, filmstrip, frame_store, frames_of, thinned
from mixedsched.report._scripts import script_json
from mixedsched.report._waterfall import marks_of, row_order

_STEPS = 240  # of the time line: 60 a second in a load of four seconds
_ROWS_MOST = 60
# Pictures are nearly all of a report's size, and a third longer there; this leaves a report with two loads below 2.5 MB.
FRAMES_BYTES_MOST = 1_500_000
_AFTERWARDS = 1.03  # of the time line, so that the end can be seen


@dataclass(frozen=True, slots=True)
class ReelMark:
    """A moment of a load on the time line."""

    name: str  # FCP, LCP
    at_ms: float
    place: float  # 0 to 1 along the time line


@dataclass(frozen=True, slots=True)
class ReelRow:
    """A response of a load: one of the player's rows."""

    key: str  # the same for the same response of all loads
    name: str
    kind: Kind
    size_bytes: float
    asked_ms: float
    end_ms: float | None  # None if it never completed
    received: tuple[tuple[int, int], ...]  # (step of the time line, thousandths that have come by then), where it grows


@dataclass(frozen=True, slots=True)
class Reel:
    """One load."""

    label: str
    frames: tuple[FilmFrame, ...]
    marks: tuple[ReelMark, ...]
    losses: tuple[tuple[float, int], ...]  # (place along the time line, packets)
    rows: tuple[ReelRow | None, ...]  # None where this load did not ask for it
    steps: int = _STEPS  # of the time line, in which rows count


@dataclass(frozen=True, slots=True)
class Film:
    """Several loads to be watched together: as a player, and as a strip for those who do not play it."""

    end_ms: float
    reels: tuple[Reel, ...]
    left_out: int  # responses for which there was no row: the smallest
    strip: Filmstrip

    @property
    def frames(self) -> tuple[FilmFrame, ...]:
        """All pictures that are shown, each once."""
        shown = [frame for reel in self.reels for frame in reel.frames] + list(self.strip.frames)
        return tuple({frame.name: frame for frame in shown}.values())

    @property
    def size_bytes(self) -> int:
        return sum(len(frame.jpeg) for frame in self.frames)

    @property
    def data(self) -> Markup:
        """What `player.js` reads, as JSON that can stand in an HTML document."""
        reels = [
            {
                "label": reel.label,
                "frames": [[round(frame.at_ms, 1), frame.name] for frame in reel.frames],
                "moments": sorted({round(mark.at_ms, 1) for mark in reel.marks}),
                "rows": [_row_data(row) for row in reel.rows],
            }
            for reel in self.reels
        ]
        told = {"end_ms": round(self.end_ms, 1), "steps": _STEPS, "reels": reels}
        return script_json(told)


def film_of(runs: Mapping[str, Run], bytes_most: float = FRAMES_BYTES_MOST) -> Film | None:
    """The film of some loads by label; None if none has pictures. bytes_most: of all pictures together."""
    strip = filmstrip(runs, bytes_most)
    if strip is None:
        return None
    responses = {label: responses_of(run) for label, run in runs.items()}
    end_ms = _end_ms(runs, responses, strip)
    keys, left_out = _row_keys(responses)
    reels = []
    for label, run in runs.items():
        by_key = {_key(item): item for item in reversed(responses[label])}
        marks = tuple(ReelMark(name, at_ms, at_ms / end_ms) for name, at_ms in marks_of(run).items())
        rows = tuple(_row(key, by_key[key], end_ms) if key in by_key else None for key in keys)
        losses = tuple((at_ms / end_ms, packets) for at_ms, packets in losses_of(run) if 0 <= at_ms <= end_ms)
        reels.append(Reel(label, thinned(frames_of(run), bytes_most / len(runs)), marks, losses, rows))
    return Film(end_ms, tuple(reels), left_out, strip)


def film_store(films: Iterable[Film | None]) -> Markup:
    """An invisible drawing with all pictures of a document's films."""
    return frame_store(frame for film in films if film is not None for frame in film.frames)


def _key(response: SeenResponse) -> str:
    return response.url


def _end_ms(runs: Mapping[str, Run], responses: Mapping[str, Sequence[SeenResponse]], strip: Filmstrip) -> float:
    """When nothing more happens that belongs to loading: the strip's end, and the last byte of what was asked for by then."""
    seen_ms = max([strip.times_ms[-1], *(at_ms for run in runs.values() for at_ms in marks_of(run).values())])
    ends = [
        item.end_ms for items in responses.values() for item in items if item.finished and item.request_ms <= seen_ms
    ]
    return max([1.0, seen_ms, *ends]) * _AFTERWARDS


def _row_keys(responses: Mapping[str, Sequence[SeenResponse]]) -> tuple[list[str], int]:
    """Which responses have rows, in the order of requests, and how many have none."""
    order = row_order((_key(item) for item in items) for items in responses.values())
    sizes: dict[str, float] = {}
    for items in responses.values():
        for item in items:
            sizes[_key(item)] = max(sizes.get(_key(item), 0.0), item.size_bytes)
    largest = sorted(order, key=lambda key: (-sizes[key], order[key]))[:_ROWS_MOST]
    return sorted(largest, key=lambda key: order[key]), len(order) - len(largest)


def _row(key: str, response: SeenResponse, end_ms: float) -> ReelRow:
    finished_ms = response.end_ms if response.finished else None
    return ReelRow(
        key,
        response.name,
        response.kind,
        response.size_bytes,
        response.request_ms,
        finished_ms,
        _received(response, end_ms),
    )


def _received(response: SeenResponse, end_ms: float) -> tuple[tuple[int, int], ...]:
    """How much of a response had come at which step; evenly from its first byte to its end where no log tells of arrivals."""
    spans = [(item.from_ms, item.to_ms, item.size_bytes) for item in response.arrivals]
    if not spans and response.finished:
        spans = [(response.request_ms, response.end_ms, 1)]
    total = sum(size for *_, size in spans)
    if not total:
        return ()
    by_step: list[float] = [0.0] * (_STEPS + 1)
    for from_ms, to_ms, size in spans:
        first, last = (_step(at_ms, end_ms) for at_ms in (from_ms, max(from_ms, to_ms)))
        for step in range(first, last + 1):
            by_step[step] += size / (last - first + 1)
    told, points = 0, []
    for step, grown in enumerate(accumulate(by_step)):
        if (thousandths := round(1000 * grown / total)) > told:
            told = thousandths
            points.append((step, thousandths))
    return tuple(points)


def _step(at_ms: float, end_ms: float) -> int:
    return min(_STEPS, max(0, math.ceil(at_ms / end_ms * _STEPS)))


def _row_data(row: ReelRow | None) -> dict[str, Any] | None:
    """Received parts as one list: differences of steps and of thousandths in turn, which are short in text."""
    if row is None:
        return None
    steps: list[int] = []
    before = (0, 0)
    for point in row.received:
        steps += [point[0] - before[0], point[1] - before[1]]
        before = point
    end_ms = None if row.end_ms is None else round(row.end_ms, 1)
    return {"asked": round(row.asked_ms, 1), "end": end_ms, "bytes": round(row.size_bytes), "received": steps}
