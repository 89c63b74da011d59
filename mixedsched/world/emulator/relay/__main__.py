"""The userspace UDP relay: clients talk to it as if it were the server, through an emulated link.

It is a process of its own, `python -m mixedsched.world.emulator.relay`, so that neither the server's nor the browser's work
delays a packet. The first line of its standard input is JSON: {"profile": facts, "seed": n, "server": [host, port],
"listen": [host, port], "packet_log": folder or null}; hosts are IP addresses. It prints {"listening": [host, port],
"promptness": what lets it run ahead of others}, runs until its input ends or SIGTERM, and prints its counters as the last line.

`core` is the work itself, a plain loop; `waiting` says why it is not an event loop.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.realtime import RealTime, ask_for_real_time
from mixedsched.world.emulator.relay.clients import MAX_CLIENTS
from mixedsched.world.emulator.relay.core import Relay
from mixedsched.world.emulator.relay.log import PacketLog
from mixedsched.world.emulator.relay.waiting import ask_for_exact_timers
from mixedsched.world.emulator.slices import ask_for_short_slices
from mixedsched.world.system.precedence import Promptness

_STDIN = 0
_PIECE_BYTES = 65_536
_OTHER_FILES = 64  # open beside a socket for each client


def main() -> int:
    """Entry point of the relay's process. Returns its exit code."""
    try:
        settings = _read_settings()
        log = PacketLog(Path(settings["packet_log"])) if settings.get("packet_log") else None
        relay = _open_relay(settings, log)
    except MixedschedError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    promptness = _prepare_process()
    try:
        _run(relay, promptness)
        counters = relay.counters()
    finally:
        relay.close()
    if log is not None:
        relay.decide_all()
        counters["packet_log"] = log.close()
    _say(counters)
    return ExitCode.DONE


def _read_settings() -> dict[str, Any]:
    """The first line of standard input, which may be megabytes long. It is read past sys.stdin, which would hide the rest."""
    text = bytearray()
    while (piece := os.read(_STDIN, _PIECE_BYTES)) and b"\n" not in piece:
        text += piece
    text += piece.partition(b"\n")[0]
    try:
        settings: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise UsageError("the relay got no settings", why=str(error), fix="send a line of JSON") from error
    return settings


def _open_relay(settings: dict[str, Any], log: PacketLog | None) -> Relay:
    server, listen = tuple(settings["server"]), tuple(settings["listen"])
    try:
        return Relay(Profile.from_facts("", settings["profile"]), settings["seed"], server, listen, log=log)
    except OSError as error:
        why = error.strerror or str(error)
        raise MixedschedError(f"the relay cannot listen at {listen[0]} port {listen[1]}", why=why) from error


def _run(relay: Relay, promptness: Promptness) -> None:
    """Relay until standard input ends or SIGTERM comes."""
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    def read_stdin() -> None:
        if not os.read(_STDIN, _PIECE_BYTES):
            relay.selector.remove(_STDIN)
            end()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends our standard input
    relay.selector.add(_STDIN, read_stdin)
    _say({"listening": relay.address, "promptness": promptness})
    relay.run(lambda: ended)


def _prepare_process() -> Promptness:
    """Make it punctual, and let it open as many files as it may need."""
    promptness = _ask_for_promptness()
    ask_for_exact_timers()
    _ask_for_files(MAX_CLIENTS + _OTHER_FILES)
    # Nothing on a packet's way makes cycles (a test counts them), so the collector would only take time.
    gc.collect()
    gc.freeze()
    gc.disable()
    return promptness


def _ask_for_promptness() -> Promptness:
    """Run ahead of other programs as far as the system lets us; the relay sleeps nearly always, but must wake up in time."""
    if ask_for_real_time() is not RealTime.NONE:
        return Promptness.REAL_TIME
    return Promptness.SHORT_SLICES if ask_for_short_slices() else Promptness.ORDINARY


def _ask_for_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _say(message: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone
        os.write(1, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
