"""One network as a picture: a column for each direction with rate, times under way, delays and losses."""

import re
import textwrap
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.model.profile import FULL_PACKET_BYTES, Direction, Profile, direction_text
from mixedsched.report.networks._views import LongestTime, drawn_delays_ms, longest_time, loss_view, rate_view
from mixedsched.report.svg import Scale, element, line, rectangle, text, y_grid
from mixedsched.units import counted, format_ms, format_rate

COLUMN_WIDTH = 540.0
_CHARACTERS = 80  # that fit into a column
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_LEFT, _RIGHT = 62.0, 526.0  # of the scales, within a column
_RATE_HEIGHT, _DELAYS_HEIGHT = 110.0, 80.0
_LETTER_WIDTH = 6.3
_STEPS = 240
_DELAY_PACKETS, _DELAY_BINS, _USUAL_RATIO = 2000, 60, 0.95
_LOSS_PACKETS, _LOSS_COLUMNS, _CELL = 2320, 116, 4.0


@dataclass(frozen=True, slots=True)
class DirectionColumn:
    """One direction, COLUMN_WIDTH pixels wide."""

    shapes: tuple[Markup, ...]
    spoken: str  # its contents, for those who cannot see it


@dataclass(frozen=True, slots=True)
class Picture:
    """A network's columns, down and up, all of one height, in pixels."""

    height: float
    columns: tuple[DirectionColumn, DirectionColumn]


Drawn = tuple[list[Markup], float]  # shapes from the origin on, and the height that they take


def picture_of(profile: Profile, seed: int) -> Picture:
    """Rate, time under way, delays where they vary, and losses where there are any; the same rows in both columns."""
    sides = (("down", profile.down), ("up", profile.up))
    most_bps = max((max(rate_view(direction, _STEPS).rates_bps, default=0) for _, direction in sides), default=0)
    longest_ms = max(longest_time(direction).whole_ms for _, direction in sides) or 1.0
    rows: list[Callable[[str, Direction], Drawn]] = [
        lambda side, direction: _heading(side, direction),
        lambda _, direction: _rate(direction, most_bps),
        lambda _, direction: _under_way(direction, longest_ms),
    ]
    if any(direction.jitter_us or direction.reorder_ratio for _, direction in sides):
        rows.append(lambda side, direction: _delays(direction, seed, side))
    if any(direction.loss.mean_ratio for _, direction in sides):
        rows.append(lambda side, direction: _losses(direction, seed, side))
    down: list[Markup] = []
    up: list[Markup] = []
    y = 0.0
    for row in rows:
        blocks = [row(side, direction) for side, direction in sides]
        for column, (drawn, _) in zip((down, up), blocks, strict=True):
            column.append(element("g", *drawn, transform=f"translate(0 {y:g})"))
        y += max(height for _, height in blocks) + 18
    return Picture(y, (_column("down", down, profile.down), _column("up", up, profile.up)))


def _column(side: str, shapes: list[Markup], direction: Direction) -> DirectionColumn:
    return DirectionColumn(tuple(shapes), f"{side}: {direction_text(direction)}")


def _heading(side: str, direction: Direction) -> Drawn:
    arrow = "↓ down, to the client" if side == "down" else "↑ up, to the server"
    lines = _lines(direction_text(direction))
    shapes = [text(0, 12, arrow, class_="heading")]
    shapes += [text(0, 28 + 14 * place, said, class_="faint") for place, said in enumerate(lines)]
    return shapes, 18.0 + 14 * len(lines)


def _lines(words: str) -> list[str]:
    """Words in lines of a column's width, a number always beside its unit."""
    held_together = re.sub(r"(?<=\d) ", _NO_BREAK_SPACE, words)
    return [said.replace(_NO_BREAK_SPACE, " ") for said in textwrap.wrap(held_together, _CHARACTERS)]


def _rate(direction: Direction, most_bps: int) -> Drawn:
    """Rate over time as an area, on the same scale in both directions."""
    top, bottom = 20.0, 20.0 + _RATE_HEIGHT
    shapes = [text(0, 10, "Rate over time", class_="row")]
    view = rate_view(direction, _STEPS)
    if not view.rates_bps:
        return [*shapes, text(_LEFT, 36, "no limit", class_="faint")], 44.0
    across = Scale(0, view.duration_ms, _LEFT, _RIGHT)
    up = Scale(0, most_bps * 1.08, bottom, top)
    shapes += y_grid(up, _LEFT, _RIGHT, lambda tick: format_rate(tick) if tick else "0", about=3, label_look="small")
    shapes += [text(across(tick), bottom + 13, f"{tick / 1000:g} s", "middle", "small") for tick in across.ticks(6)]
    points = [f"M{_LEFT:g} {bottom:g}"]
    for place, rate_bps in enumerate(view.rates_bps):
        points.append(f"V{up(rate_bps):.1f}H{across((place + 1) * view.step_ms):.1f}")
    shapes.append(element("path", d=f"{''.join(points)}V{bottom:g}Z", class_="rate"))
    shapes.append(line(_LEFT, bottom, _RIGHT, bottom, "axis"))
    return shapes, bottom + 16


def _under_way(direction: Direction, longest_ms: float) -> Drawn:
    """A bar of the times that add up to how long a packet is under way at most, on the same scale in both directions."""
    scale = Scale(0, longest_ms, _LEFT, _RIGHT)
    shapes = [text(0, 10, "Longest time of a packet under way", class_="row")]
    longest = longest_time(direction)
    at_ms, said = 0.0, []
    for class_, words, duration_ms in _parts(direction, longest):
        if duration_ms:
            width = scale(at_ms + duration_ms) - scale(at_ms)
            shapes.append(rectangle(scale(at_ms), 18, width, 16, class_, f"{words}: {duration_ms:.3g} ms"))
            said.append((class_, f"{words} {format_ms(duration_ms) if duration_ms >= 10 else f'{duration_ms:.2g} ms'}"))
        at_ms += duration_ms
    if longest.behind_others_ms is None:
        said.append(("", "nothing ever waits" if direction.mean_rate_bps is None else "the queue has no limit"))
    key, height = _key(said)
    return [*shapes, *key], height


def _parts(direction: Direction, longest: LongestTime) -> list[tuple[str, str, float]]:
    """(class, words, ms) of each part."""
    return [
        ("way", "on the way, at most" if direction.jitter_us else "on the way", longest.on_the_way_ms),
        ("leaving", f"{FULL_PACKET_BYTES} bytes leaving", longest.leaving_ms),
        ("in-queue", "in a full queue", longest.behind_others_ms or 0.0),
    ]


def _key(said: Sequence[tuple[str, str]]) -> Drawn:
    """Words with the colour of their class, side by side below a bar, on as many lines as they need."""
    shapes, x, y = [], _LEFT, 42.0
    for class_, words in said:
        width = 24 + _LETTER_WIDTH * len(words)
        if x > _LEFT and x + width > COLUMN_WIDTH:
            x, y = _LEFT, y + 15
        if class_:
            shapes.append(rectangle(x, y, 9, 9, class_))
        shapes.append(text(x + (13 if class_ else 0), y + 8, words, class_="small"))
        x += width
    return shapes, y + 14


def _delays(direction: Direction, seed: int, side: str) -> Drawn:
    """A histogram of delays that the seed draws on an idle link."""
    shapes = [text(0, 10, f"Delays of {_DELAY_PACKETS} packets that meet no other", class_="row")]
    delays_ms = sorted(drawn_delays_ms(direction, seed, side, _DELAY_PACKETS))
    low, high = 0.0, 1.05 * max(_most_shown_ms(delays_ms), 0.1)
    counts = [0] * _DELAY_BINS
    beyond = delays_ms[bisect_left(delays_ms, high) :]
    for delay_ms in delays_ms[: len(delays_ms) - len(beyond)]:
        counts[int((delay_ms - low) / (high - low) * _DELAY_BINS)] += 1
    if beyond:
        words = f"{len(beyond)} more come later, after {format_ms(beyond[-1])} at most"
        shapes.append(text(_RIGHT, 10, words, "end", "small"))
    top, bottom = 18.0, 18.0 + _DELAYS_HEIGHT
    across, up = Scale(low, high, _LEFT, _RIGHT), Scale(0, max(*counts, 1), bottom, top)
    width = (_RIGHT - _LEFT) / _DELAY_BINS
    for place, count in enumerate(counts):
        if count:
            x = _LEFT + place * width
            shapes.append(rectangle(x, up(count), width - 0.5, bottom - up(count), "way", counted(count, "packet")))
    shapes.append(line(_LEFT, bottom, _RIGHT, bottom, "axis"))
    shapes += [text(across(tick), bottom + 13, f"{tick:g} ms", "middle", "small") for tick in across.ticks(6)]
    return shapes, bottom + 16


def _most_shown_ms(delays_ms: Sequence[float]) -> float:
    """The longest of these rising delays, or, where a few are far longer than all others, of those others."""
    if not delays_ms:
        return 0.0
    usual_ms = delays_ms[int(_USUAL_RATIO * len(delays_ms))]
    return usual_ms if delays_ms[-1] > 2 * usual_ms else delays_ms[-1]


def _losses(direction: Direction, seed: int, side: str) -> Drawn:
    """A cell for every packet, row after row; what is lost is dark."""
    if not direction.loss.mean_ratio:
        return [text(0, 10, "Losses", class_="row"), text(_LEFT, 26, "none", class_="faint")], 30.0
    view = loss_view(direction, seed, side, _LOSS_PACKETS)
    rows = -(-len(view.lost) // _LOSS_COLUMNS)
    words = f"Losses of seed {seed}: {sum(view.lost)} of packets {view.first} to {view.last}, row after row"
    shapes = [text(0, 10, words, class_="row")]
    size = _LOSS_COLUMNS * _CELL, rows * _CELL
    shapes.append(element("rect", x=_LEFT, y=18, width=size[0], height=size[1], class_="packets"))
    shapes.append(element("path", d=_cells(view.lost), class_="lost", transform=f"translate({_LEFT:g} 18)"))
    return shapes, 18 + size[1]


def _cells(lost: Sequence[bool]) -> str:
    """A dash for each run of losses within a row; one path is much shorter than a rectangle for each."""
    drawn, number = [], 0
    while number < len(lost):
        row_end = min(len(lost), (number // _LOSS_COLUMNS + 1) * _LOSS_COLUMNS)
        run = next((end for end in range(number, row_end) if not lost[end]), row_end) - number
        if run:
            row, column = divmod(number, _LOSS_COLUMNS)
            drawn.append(f"M{column * _CELL:g} {(row + 0.5) * _CELL:g}h{run * _CELL:g}")
        number += run or 1
    return "".join(drawn)
