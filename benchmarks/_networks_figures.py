"""Figures of `benchmarks.networks`: SVG that stands alone, in the style of the other pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources

from markupsafe import Markup

from benchmarks._networks_pooled import Network
from mixedsched.report.svg import Scale, element, line, text, tooltip

WIDTH = 960.0
_MARGIN = 20.0
_TOP, _STEP = 56.0, 12.0
BACKENDS = ("relay", "vm", "netns")
_NAMES = {"relay": "relay", "vm": "kernel netem in the router VM", "netns": "namespaces of this kernel"}


def deviations_figure(networks: Sequence[Network]) -> str:
    """Delay, rate and queue: a dot with its interval for each direction and round, and the tolerance as a band."""
    panels = (
        ("one-way delay", "one-way delay − nominal, ms", 0.5, 0.8),
        ("rate", "rate − nominal, %", 1.0, 1.6),
        ("queue", "full queue − nominal, packets", 1.0, 1.6),
    )
    links = list(dict.fromkeys(item.link for item in networks))
    backends = [name for name in BACKENDS if any(item.backend == name for item in networks)]
    left, gap = 118.0, 26.0
    width = (WIDTH - left - gap * (len(panels) - 1)) / len(panels)
    height = _row_height(backends) * len(links)
    shapes = [
        *_key(backends),
        *(text(left - 10, _row_y(place, backends) + 12, link, "end") for place, link in enumerate(links)),
    ]
    for place, (quantity, title, tolerance, reach) in enumerate(panels):
        start = left + place * (width + gap)
        across = Scale(-reach, reach, start, start + width)
        shapes += _deviation_panel(networks, links, backends, quantity, across, tolerance, height)
        shapes.append(text(start, _TOP - 18, title, class_="row"))
    return document(
        "Emulated networks against their profiles, with 95 % intervals; grey: the tolerance", _TOP + height + 24, shapes
    )


def _row_height(backends: Sequence[str]) -> float:
    return _STEP * len(backends) + 8


def _row_y(place: int, backends: Sequence[str]) -> float:
    return _TOP + place * _row_height(backends)


def _deviation_panel(
    networks: Sequence[Network],
    links: Sequence[str],
    backends: Sequence[str],
    quantity: str,
    across: Scale,
    tolerance: float,
    height: float,
) -> list[Markup]:
    band = across(tolerance) - across(-tolerance)
    shapes = [element("rect", x=across(-tolerance), y=_TOP - 6, width=band, height=height + 4, class_="packets")]
    shapes.append(line(across(0), _TOP - 6, across(0), _TOP + height - 2, "nominal"))
    shapes += [
        text(across(tick), _TOP + height + 12, f"{tick:+g}" if tick else "0", "middle", "small")
        for tick in across.ticks(4)
    ]
    for item in networks:
        found = item.deviations(quantity)
        if found is None:
            continue
        order = backends.index(item.backend)
        y = _row_y(links.index(item.link), backends) + 4 + order * _STEP
        for value, interval in zip(found.values, found.intervals, strict=True):
            x, low, high = (across(max(across.low, min(across.high, at))) for at in (value, *interval))
            hint = tooltip(
                f"{item.link}, {_NAMES[item.backend]}: {value:+.3g} ({interval[0]:+.3g} to {interval[1]:+.3g})"
            )
            if high - low > 1:
                shapes.append(element("path", d=f"M{low:.1f} {y:g}H{high:.1f}", class_=f"whisker thin end-{order}"))
            shapes.append(element("circle", hint, cx=x, cy=y, r=3.2, class_=f"point end-{order}", fill_opacity=0.7))
    return shapes


def losses_figure(networks: Sequence[Network]) -> str:
    """The share of lost packets with its interval, and the nominal one as a dashed line."""
    lossy = [item for item in networks if (loss := item.loss()) is not None and loss.nominal]
    links = list(dict.fromkeys(item.link for item in lossy))
    backends = [name for name in BACKENDS if any(item.backend == name for item in lossy)]
    left, height = 118.0, _row_height(backends) * len(links)
    pooled = {(item.link, item.backend): loss for item in lossy if (loss := item.loss()) is not None}
    most = max((loss.interval.high for loss in pooled.values()), default=0.01) * 1.05
    across = Scale(0, 100 * most, left, WIDTH - 8)
    shapes = [*_key(backends)]
    for tick in across.ticks(8):
        shapes.append(line(across(tick), _TOP - 6, across(tick), _TOP + height - 2, "grid"))
        shapes.append(text(across(tick), _TOP + height + 12, f"{tick:g} %", "middle", "small"))
    for place, link in enumerate(links):
        y = _row_y(place, backends)
        shapes.append(text(left - 10, y + 12, link, "end"))
        for order, backend in enumerate(backends):
            loss = pooled.get((link, backend))
            if loss is None:
                continue
            at = y + 4 + order * _STEP
            nominal = across(100 * loss.nominal)
            shapes.append(line(nominal, at - 6, nominal, at + 6, "nominal"))
            said = f"{link}, {_NAMES[backend]}: {100 * loss.measured:.3g} % of {loss.trials} packets"
            low, high = across(100 * loss.interval.low), across(100 * loss.interval.high)
            shapes.append(
                element("path", tooltip(said), d=f"M{low:.1f} {at:g}H{high:.1f}", class_=f"whisker end-{order}")
            )
            shapes.append(element("circle", cx=across(100 * loss.measured), cy=at, r=3.4, class_=f"point end-{order}"))
    return document("Lost packets, with 95 % intervals; dashed: nominal", _TOP + height + 24, shapes)


def bursts_figure(networks: Sequence[Network]) -> str:
    """How many bursts are at least so long, on a logarithmic scale, against the geometric distribution."""
    bursty = [item for item in networks if item.burst_lengths()]
    links = list(dict.fromkeys(item.link for item in bursty))
    backends = [name for name in BACKENDS if any(item.backend == name for item in bursty)]
    gap, left = 40.0, 44.0
    width, height = (WIDTH - left - gap * (len(links) - 1)) / max(1, len(links)), 200.0
    shapes = [*_key(backends)]
    up = Scale(-3, 0, _TOP + height, _TOP)
    for place, link in enumerate(links):
        start = left + place * (width + gap)
        of_link = [item for item in bursty if item.link == link]
        longest = max(max(item.burst_lengths()) for item in of_link)
        nominal = next(found.nominal for item in of_link if (found := item.bursts()) is not None)
        across = Scale(1, longest, start, start + width)
        shapes += _burst_axes(across, up, f"{link}: nominal mean {nominal:g}", is_first=place == 0)
        shapes.append(_geometric_line(across, up, nominal))
        for item in of_link:
            shapes += _burst_points(item, across, up, backends.index(item.backend))
    return document("Lengths of loss bursts: share that is at least so long", _TOP + height + 40, shapes)


def _burst_axes(across: Scale, up: Scale, title: str, *, is_first: bool) -> list[Markup]:
    shapes = [text(across.start, _TOP - 14, title, class_="row")]
    for power in (0, -1, -2, -3):
        shapes.append(line(across.start, up(power), across.end, up(power), "grid"))
        if is_first:
            shapes.append(text(across.start - 6, up(power) + 4, f"{100 * 10**power:g} %", "end", "small"))
    shapes += [text(across(tick), up.start + 14, f"{tick:g}", "middle", "small") for tick in across.ticks(4)]
    shapes.append(text((across.start + across.end) / 2, up.start + 30, "packets in a row", "middle", "small"))
    return shapes


def _geometric_line(across: Scale, up: Scale, mean: float) -> Markup:
    """P(length >= k) = (1 - r)^(k - 1): straight on this scale."""
    per_packet = math.log10(1 - 1 / mean)
    end = min(across.high, 1 + up.low / per_packet)
    path = f"M{across(1):.1f} {up(0):.1f}L{across(end):.1f} {up((end - 1) * per_packet):.1f}"
    return element("path", d=path, class_="nominal", fill="none")


def _burst_points(item: Network, across: Scale, up: Scale, order: int) -> list[Markup]:
    lengths = item.burst_lengths()
    total, longer, shapes = lengths.total(), lengths.total(), []
    for length in sorted(lengths):
        share = math.log10(longer / total)
        if share >= up.low:
            hint = tooltip(f"{_NAMES[item.backend]}: {longer} of {total} bursts have at least {length} packets")
            shapes.append(
                element(
                    "circle",
                    hint,
                    cx=across(length),
                    cy=up(share),
                    r=2.4,
                    class_=f"point end-{order}",
                    fill_opacity=0.75,
                )
            )
        longer -= lengths[length]
    return shapes


def _key(backends: Sequence[str]) -> list[Markup]:
    shapes: list[Markup] = []
    x = 0.0
    for order, backend in enumerate(backends):
        shapes.append(element("circle", cx=x + 5, cy=14, r=4, class_=f"point end-{order}"))
        shapes.append(text(x + 14, 18, _NAMES[backend]))
        x += 34 + 6.6 * len(_NAMES[backend])
    return shapes


def document(title: str, height: float, shapes: Sequence[Markup]) -> str:
    """A picture, WIDTH wide and so high, as a file that stands alone."""
    style = resources.files("mixedsched.report").joinpath("templates/networks.css").read_text(encoding="utf-8")
    width, height = WIDTH + 2 * _MARGIN, height + 2 * _MARGIN + 24
    picture = element(
        "svg",
        element("title", title),
        element("style", Markup("\n"), Markup(style)),  # noqa: S704  our own file
        element("rect", width=width, height=height, class_="paper"),
        element("g", text(0, 12, title, class_="heading"), transform=f"translate({_MARGIN:g} {_MARGIN:g})"),
        element("g", *shapes, transform=f"translate({_MARGIN:g} {_MARGIN + 24:g})"),
        xmlns="http://www.w3.org/2000/svg",
        class_="net",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{picture}\n'
