"""Frames that h3i sends, legal or not, and what must come of each: the frame rules of docs/conformance.md, and RFC 9114's own.

h3i is a Rust crate of Cloudflare's, made for this; tests/interop/h3i plays the scripts.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.interop.clients import BUILD, HERE, NotRun, find_program, run
from tests.interop.target import HOST_NAME, InteropSite, served

H3I = "0.5.0"
_BUILD_LIMIT_S = 1800
_PLAY_LIMIT_S = 300

Step = dict[str, Any]

CONTROL, ENCODER, DECODER, FOURTH = 2, 6, 10, 14
REQUEST_UPDATE, PUSH_UPDATE = "800f0700", "800f0701"
SETTINGS = "0400"


@dataclass(frozen=True, slots=True)
class Script:
    """rule: number in docs/conformance.md, or a section of an RFC. close_code: None if the connection must live.

    signals: by stream, what the server must have understood. resets: by stream, the codes of those that must be cut off.
    Streams that are asked for and not cut off must be answered with 200 if the connection lives.
    """

    rule: str
    what: str
    steps: tuple[Step, ...]
    close_code: int | None = None
    signals: dict[int, str] = field(default_factory=dict)
    resets: dict[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.rule}: {self.what}"

    @property
    def asked(self) -> list[int]:
        return [step["stream"] for step in self.steps if step["do"] == "get"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """got: what the server did, in words; is_right: whether it had to."""

    script: Script
    got: str
    is_right: bool


def start(settings: str = SETTINGS) -> tuple[Step, ...]:
    """The control stream and its SETTINGS."""
    return {"do": "open", "stream": CONTROL, "kind": 0}, raw(CONTROL, settings)


def raw(stream: int, digits: str, *, end: bool = False) -> Step:
    return {"do": "bytes", "stream": stream, "hex": digits.replace(" ", ""), "end": end}


def update(element: int, value: str, *, stream: int = CONTROL, push: bool = False) -> Step:
    return {"do": "update", "stream": stream, "element": element, "value": value, "push": push}


def get(stream: int, priority: str | None = None) -> Step:
    return {"do": "get", "stream": stream, "path": "/f10.bin", "priority": priority}


def wait_for(stream: int) -> Step:
    return {"do": "wait_for", "stream": stream}


def wait(ms: int = 100) -> Step:
    return {"do": "wait_ms", "ms": ms}


FLUSH: Step = {"do": "flush"}


def _byte_by_byte(stream: int, digits: str) -> tuple[Step, ...]:
    digits = digits.replace(" ", "")
    pieces = (digits[at : at + 2] for at in range(0, len(digits), 2))
    return tuple(step for piece in pieces for step in (raw(stream, piece), FLUSH, wait(2)))


def _section(fields: Iterable[tuple[str, str]]) -> str:
    """A HEADERS frame in literals without Huffman, as hexadecimal digits (RFC 9204 section 4.5.6)."""
    section = bytes(2)
    for name, value in fields:
        section += _integer(0x20, 3, len(name)) + name.encode() + _integer(0, 7, len(value)) + value.encode()
    return (b"\x01" + (0x4000 | len(section)).to_bytes(2, "big") + section).hex()


def _integer(first: int, prefix_bits: int, value: int) -> bytes:
    largest = (1 << prefix_bits) - 1
    if value < largest:
        return bytes([first | value])
    assert value - largest < 128
    return bytes([first | largest, value - largest])


_PSEUDO = [(":method", "POST"), (":scheme", "https"), (":authority", HOST_NAME), (":path", "/f10.bin")]

_UNEXPECTED, _FRAME, _LOAD, _ID, _SETTINGS, _MISSING = 0x105, 0x106, 0x107, 0x108, 0x109, 0x10A
_CREATION, _CLOSED = 0x103, 0x104

SCRIPTS: tuple[Script, ...] = (
    Script(
        "15",
        "update, then request",
        (*start(), update(0, "u=1, i"), wait(), get(0), wait_for(0)),
        signals={0: "u=1, i"},
    ),
    Script("16", "empty payload", (*start(), raw(CONTROL, REQUEST_UPDATE + "00"), wait()), _FRAME),
    Script("16", "cut-off element ID", (*start(), raw(CONTROL, REQUEST_UPDATE + "0140"), wait()), _FRAME),
    Script(
        "17",
        "empty value resets",
        (*start(), update(0, "u=1"), update(0, ""), wait(), get(0), wait_for(0)),
        signals={0: "u=3"},
    ),
    Script(
        "18",
        "what is left out has its default",
        (*start(), update(0, "u=1, i"), update(0, "u=2"), wait(), get(0), wait_for(0)),
        signals={0: "u=2"},
    ),
    Script(
        "19", "value is no dictionary", (*start(), update(0, "u=1,"), wait(), get(0), wait_for(0)), signals={0: "u=3"}
    ),
    Script("20", "u out of range", (*start(), update(0, "u=9, i"), wait(), get(0), wait_for(0)), signals={0: "u=3, i"}),
    Script(
        "20", "u of wrong type", (*start(), update(0, 'u="1", i'), wait(), get(0), wait_for(0)), signals={0: "u=3, i"}
    ),
    Script("21", "on a request stream", (*start(), update(0, "u=1", stream=0), wait()), _UNEXPECTED),
    Script(
        "21", "for a push, on a request stream", (*start(), update(0, "u=1", stream=0, push=True), wait()), _UNEXPECTED
    ),
    *(
        Script("22", f"for stream {element}", (*start(), update(element, "u=1"), wait()), _ID)
        for element in (1, 2, 3, 6)
    ),
    Script("23", "beyond the stream limit", (*start(), update(4_000_000, "u=1"), wait()), _ID),
    Script("24", "for push 0", (*start(), update(0, "u=1", push=True), wait()), _ID),
    Script(
        "24", "for push 4 below MAX_PUSH_ID", (*start(SETTINGS + "0d0108"), update(4, "u=1", push=True), wait()), _ID
    ),
    Script("26", "before SETTINGS", ({"do": "open", "stream": CONTROL, "kind": 0}, update(0, "u=1"), wait()), _MISSING),
    Script(
        "27",
        "byte by byte",
        (
            *_byte_by_byte(
                CONTROL, "00" + SETTINGS + REQUEST_UPDATE + "0400753d31" + REQUEST_UPDATE + "05 04 753d322c"
            ),
            *_byte_by_byte(CONTROL, REQUEST_UPDATE + "04 08 753d35"),
            *(step for stream in (0, 4, 8) for step in (get(stream), wait_for(stream))),
        ),
        signals={0: "u=1", 4: "u=3", 8: "u=5"},
    ),
    Script(
        "27",
        "many in one piece",
        (*start(SETTINGS + (REQUEST_UPDATE + "0400753d31") * 200), wait(), get(0), wait_for(0)),
        signals={0: "u=1"},
    ),
    Script(
        "28",
        "for a closed stream",
        (*start(), get(0), wait_for(0), wait(), update(0, "u=1"), wait(), get(4), wait_for(4)),
        signals={0: "u=3", 4: "u=3"},
    ),
    Script(
        "30",
        "two early updates, then their requests",
        (*start(), *(update(stream, f"u={stream}") for stream in (0, 4)), wait(), get(4), get(0), wait(500)),
        signals={0: "u=0", 4: "u=4"},
    ),
    Script(
        "31",
        "the last early update counts",
        (*start(), *(update(0, f"u={urgency}") for urgency in (6, 2, 5)), wait(), get(0), wait_for(0)),
        signals={0: "u=5"},
    ),
    Script(
        "32",
        "the frame wins over the field",
        (*start(), update(0, "u=6, i"), wait(), get(0, "u=1"), wait_for(0)),
        signals={0: "u=6, i"},
    ),
    Script(
        "35",
        "value of 500 bytes",
        (*start(), update(0, f'u=1, x="{"y" * 490}"'), wait(), get(0), wait_for(0)),
        signals={0: "u=1"},
    ),
    Script("35", "value of 2000 bytes", (*start(), update(0, f'u=1, x="{"y" * 1990}"'), wait()), _LOAD),
    Script("36", "1500 updates at once", (*start(SETTINGS + (REQUEST_UPDATE + "0400753d31") * 1500), wait(300)), _LOAD),
    Script("41", "SETTINGS_NO_RFC7540_PRIORITIES", (*start("04020901"), get(0), wait_for(0)), signals={0: "u=3"}),
    Script("9114 4.1", "DATA before HEADERS", (*start(), raw(0, "000141"), wait()), _UNEXPECTED),
    Script(
        "9114 4.1.2",
        "body shorter than content-length",
        (
            *start(),
            raw(0, _section([*_PSEUDO, ("content-length", "5")]) + "000141", end=True),
            wait(),
            get(4),
            wait_for(4),
        ),
        resets={0: 0x10E},
    ),
    Script(
        "9114 4.1",
        "no request on a stream",
        (*start(), raw(0, "2100", end=True), wait(), get(4), wait_for(4)),
        resets={0: 0x10D},
    ),
    Script(
        "9114 4.2",
        "field name in capitals",
        (*start(), raw(0, _section([*_PSEUDO, ("Upper", "x")]), end=True), wait(), get(4), wait_for(4)),
        resets={0: 0x10E},
    ),
    Script(
        "9114 4.4",
        "request reset by the client",
        (*start(), raw(0, "0105"), FLUSH, wait(), {"do": "reset", "stream": 0}, wait(), get(4), wait_for(4)),
        resets={0: 0x10D},
    ),
    Script(
        "9114 6.2",
        "stream of unknown type",
        (*start(), {"do": "open", "stream": ENCODER, "kind": 0x21}, get(0), wait_for(0)),
    ),
    Script(
        "9114 6.2.1",
        "second control stream",
        (*start(), {"do": "open", "stream": ENCODER, "kind": 0}, wait()),
        _CREATION,
    ),
    Script("9114 6.2.1", "control stream ends", (*start(), raw(CONTROL, "2100", end=True), wait()), _CLOSED),
    Script(
        "9114 6.2.2",
        "push stream of a client",
        (*start(), {"do": "open", "stream": ENCODER, "kind": 1}, wait()),
        _CREATION,
    ),
    Script("9114 7.1", "request ends within a frame", (*start(), raw(0, "010500", end=True), wait()), _FRAME),
    Script("9114 7.2.1", "DATA on the control stream", (*start(), raw(CONTROL, "000141"), wait()), _UNEXPECTED),
    Script("9114 7.2.2", "HEADERS on the control stream", (*start(), raw(CONTROL, "01020000"), wait()), _UNEXPECTED),
    Script("9114 7.2.3", "CANCEL_PUSH of nothing", (*start(), raw(CONTROL, "030100"), wait()), _ID),
    Script("9114 7.2.4", "second SETTINGS", (*start(), raw(CONTROL, SETTINGS), wait()), _UNEXPECTED),
    Script("9114 7.2.4", "a setting twice", (*start("040401000100"), wait()), _SETTINGS),
    Script("9114 7.2.4", "a setting cut off", (*start("040101"), wait()), _FRAME),
    Script("9114 7.2.4.1", "a setting of HTTP/2", (*start("04020201"), wait()), _SETTINGS),
    Script("9114 7.2.5", "PUSH_PROMISE of a client", (*start(), raw(0, "05020000"), wait()), _UNEXPECTED),
    Script("9114 7.2.6", "GOAWAY raises its ID", (*start(), raw(CONTROL, "070100 070104"), wait()), _ID),
    Script("9114 7.2.7", "MAX_PUSH_ID falls", (*start(), raw(CONTROL, "0d0108 0d0104"), wait()), _ID),
    Script("9114 7.2.8", "frame types of HTTP/2", (*start(), raw(CONTROL, "0600"), wait()), _UNEXPECTED),
    Script(
        "9114 9",
        "unknown frames everywhere",
        (
            *start(SETTINGS + "2103616263" + "400a00"),
            raw(0, "2100" + "80000021" + "0461626364" + _section(_PSEUDO), end=True),
            wait(),
            get(4),
            wait_for(4),
        ),
    ),
    Script(
        "9204 2.2", "field section that cannot be decoded", (*start(), raw(0, "0103ffffff", end=True), wait()), 0x200
    ),
    Script("9204 4.3", "bad encoder instruction", (*start(), raw(ENCODER, "02 3fe2ff03"), wait()), 0x201),
    Script("9204 4.4", "insert count rises by 0", (*start(), raw(ENCODER, "03 00"), wait()), 0x202),
    Script("9204 4.2", "encoder stream ends", (*start(), raw(ENCODER, "02", end=True), wait()), _CLOSED),
)


def prepare() -> str:
    """Build the player. Raises NotRun."""
    cargo = find_program("cargo", "Rust 1.80 or later, with cmake and a C++ compiler")
    find_program("cmake", "h3i builds BoringSSL with it")
    command = (cargo, "build", "--release", "--quiet", "--manifest-path", HERE / "h3i" / "Cargo.toml")
    try:
        run(*command, limit_s=_BUILD_LIMIT_S, CARGO_TARGET_DIR=str(BUILD / "h3i"))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        raise NotRun(f"it cannot be built: {error}") from error
    return H3I


def judge(site: InteropSite) -> list[Verdict]:
    """Play all scripts against a server, each on a connection of its own."""
    lines = "".join(json.dumps({"name": script.name, "steps": script.steps}) + "\n" for script in SCRIPTS)
    with served(site) as (target, log):
        ended = subprocess.run(
            [BUILD / "h3i" / "release" / "frame-rules", target.host, str(target.port), HOST_NAME],
            input=lines,
            env={**os.environ, "RUST_LOG": "off"},
            capture_output=True,
            text=True,
            timeout=_PLAY_LIMIT_S,
            check=True,
        )
    outcomes = [json.loads(line) for line in ended.stdout.splitlines()]
    understood: dict[tuple[int, int], str] = {}
    for request in log.requests():
        understood[request["connection"], request["stream_id"]] = request["signal"]
    first = min((connection for connection, _ in understood), default=0)
    return [
        _judge(
            script, outcome, {stream: said for (number, stream), said in understood.items() if number == first + index}
        )
        for index, (script, outcome) in enumerate(zip(SCRIPTS, outcomes, strict=True))
    ]


def _judge(script: Script, outcome: dict[str, Any], signals: dict[int, str]) -> Verdict:
    if outcome["problem"] is not None:
        return Verdict(script, outcome["problem"], is_right=False)
    if outcome["close_code"] is not None:
        is_right = outcome["close_code"] == script.close_code and outcome["is_application_close"]
        return Verdict(script, f"closed with {outcome['close_code']:#x}", is_right)
    resets = {int(stream): code for stream, code in outcome["resets"].items()}
    statuses = {int(stream): status for stream, status in outcome["statuses"].items()}
    is_right = (
        script.close_code is None
        and resets == script.resets
        and all(statuses.get(stream) == "200" for stream in script.asked)
        and all(signals.get(stream) == signal for stream, signal in script.signals.items())
    )
    words = [f"stream {stream}: reset with {code:#x}" for stream, code in resets.items()]
    words += [f"stream {stream}: {status}" for stream, status in sorted(statuses.items())]
    words += [f"stream {stream} counts as {signals.get(stream)}" for stream in script.signals]
    return Verdict(script, "; ".join(words) or "nothing", is_right)
