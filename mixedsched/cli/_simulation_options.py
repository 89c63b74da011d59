"""Reads and checks the options of `simulate`. Whatever is wrong is refused before anything is played."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from mixedsched.core.sim.jitter import Jitter
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND, Rung
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.errors import UsageError
from mixedsched.lab.play.simulation import Simulation, trace_name
from mixedsched.world.server.qlog_files import prepare_folder

DEFAULT_LINK = "4g"
PLOT_SUFFIXES = (".svg", ".html")
MAX_PACKET_BYTES = 65_535  # of a UDP datagram
MAX_MS = 3_600_000.0  # an hour
MAX_LATE_PACKETS = 1000

_NUMBER = re.compile(r"[0-9]{1,15}")
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")

JitterName = Literal["none", "fourth", "random"]


def choose_rung(rung: Rung | None, pipe: Mapping[str, object], stack: Mapping[str, object]) -> Rung:
    """The rung that is asked for. pipe, stack: the options that belong to one of them, None where not given.

    Without --rung, --link means rung `stack`. Raises UsageError for an option of the other rung.
    """
    by_link = rung is None and stack["--link"] is not None
    chosen: Rung = rung or ("stack" if by_link else "pipe")
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
) -> PipeOptions:
    """The pipe; options that are None are as in the study. Raises UsageError."""
    usual = PipeOptions(jitter=jitter)
    return replace(
        usual,
        packet_bytes=usual.packet_bytes if packet_bytes is None else packet_bytes,
        pace_us=usual.pace_us if pace_ms is None else microseconds("--pace-ms", pace_ms, least_us=1),
        request_slot_us=0 if request_slot_ms is None else microseconds("--request-slot-ms", request_slot_ms),
    )


def read_jitter(pattern: JitterName | None, packets: str | None, in_order: bool, seed: int) -> Jitter | None:
    """The jitter, None for none. packets: "LOW-HIGH" or one number. Raises UsageError."""
    if pattern is None or pattern == "none":
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
    return Jitter(pattern, low, high, seed, in_order)


def read_send_buffers(text: str | None) -> tuple[int, ...]:
    """Sizes of send buffers in bytes, from "0,14000". Raises UsageError."""
    parts = [part.strip() for part in (text if text is not None else "0").split(",")]
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise UsageError(
                f"--send-buffer-bytes '{part}' is not possible",
                why="it is not a size in bytes",
                fix="write a number of bytes, 0 or more, or several with commas",
            )
    sizes = [int(part) for part in parts]
    refuse_doubles(sizes, "send buffer")
    return tuple(sizes)


def check_traces(folder: Path, simulation: Simulation) -> None:
    """Raise UsageError unless each load can have a trace of its own in the folder, which is made if there is none."""
    taken: dict[str, str] = {}
    for page, scheme in itertools.product(simulation.pages, simulation.schemes):
        name, load = trace_name(page.name, scheme.spec), f"'{page.name}' under {scheme.spec}"
        if name in taken:
            raise UsageError(
                f"{taken[name]} and {load} would share a trace",
                why=f"it would be named {name}",
                fix="play them one after the other, each with a --qlog of its own",
            )
        taken[name] = load
    prepare_folder(folder)


def check_plot(path: Path, *, is_sampled: bool = False) -> None:
    """Raise UsageError unless a picture can be written there. is_sampled: whether a sampled ByteIndex is asked for."""
    if is_sampled:
        raise UsageError("pictures show the ByteIndex unsampled", fix="leave out --sample-ms, or --plot")
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise UsageError(
            f"--plot {path} is not possible",
            why=f"pictures cannot be written as '{path.suffix}'",
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


def microseconds(option: str, value_ms: float, least_us: int = 0) -> int:
    """Raises UsageError for a time that cannot be simulated."""
    least_ms = least_us / MICROSECONDS_PER_MILLISECOND
    if not least_ms <= value_ms <= MAX_MS:  # which NaN is not, either
        raise UsageError(
            f"{option} {value_ms:g} is not possible",
            why="simulated time is whole microseconds, up to an hour",
            fix=f"write milliseconds from {least_ms:g} to {MAX_MS:.0f}",
        )
    return round(value_ms * MICROSECONDS_PER_MILLISECOND)


def refuse_doubles(items: Sequence[object], what: str) -> None:
    """Raises UsageError for the first item that is there twice."""
    for item, times in Counter(items).items():
        if times > 1:
            raise UsageError(f"{what} {item} is named twice", why="both would play the same", fix="name it once")
