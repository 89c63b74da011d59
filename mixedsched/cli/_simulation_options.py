"""Reads and checks the options of `simulate`. Whatever is wrong is refused before anything is played."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar, cast

from mixedsched.cli._simulation import Pipe, Stack, trace_name
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.jitter import Jitter
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND, Rung
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.errors import UsageError, nearest_hint
from mixedsched.model.page import Page
from mixedsched.model.scheme import configure, split_specs
from mixedsched.world import catalog
from mixedsched.world.server.qlog_files import prepare_folder

ALL_SCHEMES = "all"
DEFAULT_LINK = "4g"
PLOT_SUFFIXES = (".svg", ".html")
MAX_PACKET_BYTES = 65_535  # of a UDP datagram
MAX_MS = 3_600_000.0  # an hour
MAX_LATE_PACKETS = 1000

_NUMBER = re.compile(r"[0-9]{1,15}")
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")

T = TypeVar("T")


def read_schemes(text: str, mapping: str | None) -> tuple[str, ...]:
    """The specs of a list of schemes, each checked with the mapping. "all" stands for every scheme by its name.

    Raises UsageError, MappingError.
    """
    specs: list[str] = []
    for spec in split_specs(text):
        specs += SCHEMES if spec == ALL_SCHEMES else [spec]
    for spec in specs:
        configure(spec, SCHEMES, catalog.load_mapping, mapping)
    _refuse_doubles(specs, "scheme")
    return tuple(specs)


def choose_rung(rung: str | None, pipe: Mapping[str, object], stack: Mapping[str, object]) -> Rung:
    """The rung that is asked for. pipe, stack: the options that belong to one of them, None where not given.

    Without --rung, --link means rung `stack`. Raises UsageError for an option of the other rung.
    """
    by_link = rung is None and stack["--link"] is not None
    chosen = cast(Rung, one_of("--rung", rung or ("stack" if by_link else "pipe"), ("pipe", "stack")))
    other: Rung = "stack" if chosen == "pipe" else "pipe"
    for option, value in (pipe if chosen == "stack" else stack).items():
        if value is not None:
            raise UsageError(
                f"{option} belongs to rung {other}",
                why=f"this is rung {chosen}" + (", as --link says" if by_link else ""),
                fix=f"leave it out, or choose --rung {other}",
            )
    return chosen


def read_pipe(
    packet_bytes: int | None, pace_ms: float | None, request_slot_ms: float | None, jitter: Jitter | None
) -> Pipe:
    """Rung `pipe`; what is None is as in the study. Raises UsageError."""
    usual = PipeOptions()
    if packet_bytes is not None and not 1 <= packet_bytes <= MAX_PACKET_BYTES:
        fix = f"write a number of bytes from 1 to {MAX_PACKET_BYTES}"
        raise UsageError(f"--packet-bytes {packet_bytes} is not possible", why="no packet has this size", fix=fix)
    pace_us = usual.pace_us if pace_ms is None else _microseconds("--pace-ms", pace_ms, least_us=1)
    slot_us = usual.request_slot_us if request_slot_ms is None else _microseconds("--request-slot-ms", request_slot_ms)
    return Pipe(
        PipeOptions(
            packet_bytes=usual.packet_bytes if packet_bytes is None else packet_bytes,
            pace_us=pace_us,
            request_slot_us=slot_us,
            jitter=jitter,
        )
    )


def read_jitter(pattern: str | None, packets: str | None, in_order: bool, seed: int) -> Jitter | None:
    """The jitter, None for none. packets: "LOW-HIGH" or one number. Raises UsageError."""
    chosen = one_of("--jitter", pattern or "none", ("none", "fourth", "random"))
    if chosen == "none":
        for option, given in (("--jitter-packets", packets is not None), ("--hol-blocking", in_order)):
            if given:
                raise UsageError(
                    f"{option} goes with jitter", why="no packet is late", fix="add --jitter fourth or --jitter random"
                )
        return None
    match = _RANGE.fullmatch(packets or "1-3")
    low = int(match[1]) if match else 0
    high = int(match[2] or match[1]) if match else 0
    if not 1 <= low <= high <= MAX_LATE_PACKETS:
        raise UsageError(
            f"--jitter-packets {packets} is not possible",
            why="it says by how many packets a late one is overtaken",
            fix=f"write 1-3, or one number, from 1 to {MAX_LATE_PACKETS}",
        )
    return Jitter(cast(Literal["fourth", "random"], chosen), low, high, seed, in_order)


def read_send_buffers(text: str | None) -> tuple[int, ...]:
    """Sizes of send buffers in bytes, from "0,14000". Raises UsageError."""
    parts = [part.strip() for part in (text if text is not None else "0").split(",")]
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise UsageError(
                f"--send-buffer-bytes '{part}' is not possible",
                why="no buffer has this size",
                fix="write a number of bytes from 0 on, or several with commas",
            )
    sizes = [int(part) for part in parts]
    _refuse_doubles(sizes, "send buffer")
    return tuple(sizes)


def read_stack(link: str | None, seed: int, congestion_control: str | None, qlog: Path | None) -> Stack:
    """Rung `stack`. Raises UsageError, ProfileError."""
    chosen = one_of("--congestion-control", congestion_control or "cubic", ("cubic", "reno"))
    return Stack(catalog.load_profile(link if link is not None else DEFAULT_LINK), seed, chosen, qlog)


def check_traces(folder: Path, pages: Sequence[Page], schemes: Sequence[str]) -> None:
    """Raise UsageError unless each load can have a trace of its own in the folder, which is made if there is none."""
    taken: dict[str, str] = {}
    for page, scheme in itertools.product(pages, schemes):
        name, load = trace_name(page.name, scheme), f"'{page.name}' under {scheme}"
        if name in taken:
            raise UsageError(
                f"{taken[name]} and {load} would share a trace",
                why=f"it would be named {name}",
                fix="play them one after the other, each with a --qlog of its own",
            )
        taken[name] = load
    prepare_folder(folder)


def read_sample_ms(sample_ms: float | None) -> float | None:
    """The interval between samples. Raises UsageError."""
    if sample_ms is not None:
        _microseconds("--sample-ms", sample_ms, least_us=1)
    return sample_ms


def one_of(option: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices. Raises UsageError."""
    if value not in choices:
        raise UsageError(
            f"{option} {value} is not possible", why="there is no such choice", fix=nearest_hint(value, choices)
        )
    return value


def check_plot(path: Path) -> None:
    """Raise UsageError unless a picture can be written there."""
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise UsageError(
            f"--plot {path} is not possible",
            why=f"'{path.suffix}' is no format of pictures here",
            fix=f"end the name with {' or '.join(PLOT_SUFFIXES)}",
        )
    try:
        existed = path.exists()
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write the picture {path}", why=error.strerror or "", fix="name a file in a folder you may write to"
        ) from error


def _microseconds(option: str, value_ms: float, least_us: int = 0) -> int:
    least_ms = least_us / MICROSECONDS_PER_MILLISECOND
    if not (math.isfinite(value_ms) and least_ms <= value_ms <= MAX_MS):
        raise UsageError(
            f"{option} {value_ms:g} is not possible",
            why="time in the simulator runs in whole microseconds, and an hour is much",
            fix=f"write milliseconds from {least_ms:g} to {MAX_MS:.0f}",
        )
    return round(value_ms * MICROSECONDS_PER_MILLISECOND)


def _refuse_doubles(items: Sequence[T], what: str) -> None:
    seen: set[T] = set()
    for item in items:
        if item in seen:
            raise UsageError(f"{what} {item} is named twice", why="both would play the same", fix="name it once")
        seen.add(item)
