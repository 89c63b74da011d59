"""Filmstrips: what the screen showed at even steps of time, arm below arm."""

import base64
import binascii
import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup
from PIL import Image

from mixedsched.lab.model import Run
from mixedsched.report._waterfall import marks_of
from mixedsched.report.svg import element, round_step
from mixedsched.units import format_ms

_COLUMNS_MOST = 12
# What changes later than this after the page is there is an animation or a carousel, not loading.
AFTER_LOAD_MS = 500.0


@dataclass(frozen=True, slots=True)
class FilmFrame:
    """One presented picture."""

    at_ms: float
    name: str  # fingerprint of its content
    jpeg: bytes
    width: int  # in pixels
    height: int


@dataclass(frozen=True, slots=True)
class FilmCell:
    """One moment of one arm."""

    at_ms: float
    frame: FilmFrame | None  # None before the first picture
    is_new: bool  # it differs from the cell before
    marks: tuple[str, ...] = ()  # moments that passed since the cell before, such as "LCP 1.20 s"

    @property
    def picture(self) -> Markup:
        """A reference to the picture, which the page holds once however often it is shown."""
        assert self.frame is not None
        use = element("use", href=f"#frame-{self.frame.name}")
        return element(
            "svg", use, viewBox=f"0 0 {self.frame.width} {self.frame.height}", class_="frame", aria_hidden="true"
        )


@dataclass(frozen=True, slots=True)
class Filmstrip:
    """The screens of several loads, on the same times."""

    times_ms: tuple[float, ...]  # of the columns
    rows: Mapping[str, tuple[FilmCell, ...]]  # by arm label
    frames: tuple[FilmFrame, ...] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        return sum(len(frame.jpeg) for frame in self.frames)


def frames_of(run: Run) -> tuple[FilmFrame, ...]:
    """The frames of a run until AFTER_LOAD_MS after its load, FCP and LCP, in time order.

    What is not a JPEG picture is left out: the report must not carry anything else.
    """
    end_ms = _end_ms(run)
    found = []
    for item in run.page_load.get("frames") or ():
        try:
            jpeg = base64.b64decode(str(item["jpeg_base64"]), validate=True)
            at_ms = float(item["at_ms"])
        except (KeyError, TypeError, ValueError, binascii.Error):
            continue
        size = jpeg_size(jpeg)
        if size is not None and math.isfinite(at_ms) and at_ms <= end_ms:
            found.append(FilmFrame(at_ms, hashlib.sha256(jpeg).hexdigest()[:16], jpeg, *size))
    return tuple(sorted(found, key=lambda frame: frame.at_ms))


def _end_ms(run: Run) -> float:
    """When the film of a run ends; never, where the page was still loading when its measurement ended."""
    load_ms = (run.page_load.get("observed") or {}).get("load_ms")
    if not isinstance(load_ms, int | float):
        return math.inf
    return max([load_ms, *marks_of(run).values()]) + AFTER_LOAD_MS


def jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG picture; None if it is not one."""
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as picture:
            return picture.size
    except (OSError, Image.DecompressionBombError):
        return None


def thinned(frames: Sequence[FilmFrame], bytes_most: float) -> tuple[FilmFrame, ...]:
    """As many of the frames as fit: as long as they do not, the one goes whose neighbours are nearest to each other in time.

    The first and the last one stay.
    """
    kept = list(frames)
    size_bytes = sum(len(frame.jpeg) for frame in kept)
    while size_bytes > bytes_most and len(kept) > 2:
        least = min(range(1, len(kept) - 1), key=lambda index: kept[index + 1].at_ms - kept[index - 1].at_ms)
        size_bytes -= len(kept.pop(least).jpeg)
    return tuple(kept)


def filmstrip(runs: Mapping[str, Run], bytes_most: float = math.inf) -> Filmstrip | None:
    """Put the frames of several arms on one time axis of even steps; None if no arm has any frame.

    The axis ends when the last arm shows its final picture, and FCP and LCP of all have passed. bytes_most: of all pictures.
    """
    frames = {arm: thinned(frames_of(run), bytes_most / len(runs)) for arm, run in runs.items()}
    marks = {arm: marks_of(run) for arm, run in runs.items()}
    if not any(frames.values()):
        return None
    ends = [_final_change_ms(items) for items in frames.values()]
    ends += [at_ms for by_name in marks.values() for at_ms in by_name.values()]
    step_ms = round_step(max(1.0, max(ends)) / (_COLUMNS_MOST - 1))
    count = math.ceil(max(ends) / step_ms - 1e-9) + 1
    # Round steps come in leaps; five columns say too little, so halve the step where there is room.
    if 2 * (count - 1) + 1 <= _COLUMNS_MOST:
        step_ms, count = step_ms / 2, 2 * (count - 1) + 1
    times = tuple(index * step_ms for index in range(count))
    rows = {arm: _cells(items, times, marks[arm]) for arm, items in frames.items()}
    shown = {cell.frame.name: cell.frame for cells in rows.values() for cell in cells if cell.frame is not None}
    return Filmstrip(times, rows, tuple(shown.values()))


def _final_change_ms(frames: Sequence[FilmFrame]) -> float:
    """When the last picture was first shown without changing again."""
    at_ms = 0.0
    for before, after in zip((None, *frames), frames, strict=False):
        if before is None or before.name != after.name:
            at_ms = after.at_ms
    return at_ms


def _cells(frames: Sequence[FilmFrame], times: Sequence[float], marks: Mapping[str, float]) -> tuple[FilmCell, ...]:
    cells: list[FilmCell] = []
    for index, at_ms in enumerate(times):
        frame = next((item for item in reversed(frames) if item.at_ms <= at_ms), None)
        before = cells[-1].frame if cells else None
        since = times[index - 1] if index else -math.inf
        passed = sorted((when, name) for name, when in marks.items() if since < when <= at_ms)
        cells.append(
            FilmCell(
                at_ms,
                frame,
                is_new=index > 0 and frame is not None and (before is None or before.name != frame.name),
                marks=tuple(f"{name} {format_ms(when)}" for when, name in passed),
            )
        )
    return tuple(cells)


def frame_store(pictures: Iterable[FilmFrame]) -> Markup:
    """An invisible drawing that holds every picture once, for `FilmCell.picture` and the player to refer to; "" without any."""
    frames = {frame.name: frame for frame in pictures}
    images = [
        element(
            "image",
            id=f"frame-{frame.name}",
            href=f"data:image/jpeg;base64,{base64.b64encode(frame.jpeg).decode()}",
            width=frame.width,
            height=frame.height,
        )
        for frame in frames.values()
    ]
    if not images:
        return Markup("")
    return element("svg", element("defs", *images), width=0, height=0, class_="store", aria_hidden="true")
