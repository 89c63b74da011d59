"""The relay's log of each packet's fate. Records go through a pipe to a process that writes, so no disk delays a packet.

That process is `python -m mixedsched.world.emulator.relay.log DOWN UP`, both numbers of open files. It reads records from
standard input until that ends, which also a killed relay brings about, and then says what it has written as a line of JSON. A
full disk does not stop it reading, or the relay would have to wait. (It is no child of the common kind, children.py: records
are binary, and the relay, which has no event loop, must never wait for it.)
"""

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from mixedsched.core.link import Fate, PacketRecord
from mixedsched.errors import MixedschedError
from mixedsched.world.system.json_lines import say

SIDES = ("down", "up")
FATES = tuple(Fate)
RECORD = struct.Struct("<BBIQQq")  # side, fate, size, number, in, out; NEVER for a packet that did not arrive
NEVER = -1

_SET_PIPE_SIZE = 1031  # fcntl's F_SETPIPE_SZ, which other systems than Linux lack
_PIPE_BYTES = 1 << 20
_PIECE_BYTES = 1 << 15  # handed to the pipe at once, which takes some ten microseconds
_MOST_HELD_BYTES = 1 << 26  # two million packets: the writer has been stuck for minutes
_READ_BYTES = RECORD.size * 4096
_WRITER_NICENESS = 10
_END_LIMIT_S = 3.0  # for the writer to finish; the relay's parent waits a little longer than that


class PacketLog:
    """Collects records and hands them to the writer when there is time. folder: gets down.jsonl and up.jsonl.

    A line: {"packet": number from 1, "size_bytes": on the link, "in_us": handed to the link, "out_us": due to leave it or null,
    "fate": delivered, lost, overflowed, ...}, times since the first datagram, lines in order of packet number. How late the
    relay was after out_us is part of its punctuality, not of the log.

    Raises MixedschedError if the files cannot be made. What fails later only shows in the summary of close().
    """

    def __init__(self, folder: Path) -> None:
        self._records = 0
        self._missing = 0
        self._held = bytearray()
        self._writer = _start_writer(folder)
        assert self._writer.stdin is not None
        self._pipe = self._writer.stdin.fileno()
        os.set_blocking(self._pipe, False)
        with contextlib.suppress(OSError):  # the default size will do
            fcntl.fcntl(self._pipe, _SET_PIPE_SIZE, _PIPE_BYTES)

    def observer(self, side: str) -> Callable[[PacketRecord], None]:
        """A link's callback for its packets. side: down or up."""
        index = SIDES.index(side)
        held, pack, fates = self._held, RECORD.pack, {fate: number for number, fate in enumerate(FATES)}

        def note(record: PacketRecord) -> None:
            self._records += 1
            if len(held) > _MOST_HELD_BYTES:
                self._missing += 1
                return
            out_us = NEVER if record.out_us is None else record.out_us
            held.extend(pack(index, fates[record.fate], record.size_bytes, record.number, record.in_us, out_us))

        return note

    def pump(self, *, is_idle: bool) -> None:
        """Hand on what has accumulated, if it is enough or there is nothing else to do. Never waits."""
        if self._held and (is_idle or len(self._held) >= _PIECE_BYTES):
            self._hand_on()

    def close(self) -> dict[str, Any]:
        """Hand on the rest and wait for the writer, for some seconds at most.

        Returns records: packets whose fate is known; written: those in the files; error: why others are not, or empty.
        """
        give_up_s = time.monotonic() + _END_LIMIT_S
        while self._held and time.monotonic() < give_up_s:
            if not self._hand_on():
                time.sleep(0.005)
        try:
            said, _ = self._writer.communicate(timeout=max(0.1, give_up_s - time.monotonic()))
            told = json.loads(said)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            self._writer.kill()
            self._writer.wait()
            told = {"written": 0, "error": "the writer did not finish"}
        error = told["error"] or (f"the writer fell behind by {self._missing} packets" if self._missing else "")
        return {"records": self._records, "written": told["written"], "error": error}

    def _hand_on(self) -> bool:
        """Whether the pipe took anything."""
        try:
            taken = os.write(self._pipe, self._held[:_PIECE_BYTES])
        except BlockingIOError:
            return False
        except OSError:  # the writer has died; close() tells
            taken = len(self._held)
        del self._held[:taken]
        return True


def _start_writer(folder: Path) -> subprocess.Popen[bytes]:
    """The writer, with its files open: an unusable folder is an error before the first packet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as files:
            opened = [files.enter_context((folder / f"{side}.jsonl").open("wb")).fileno() for side in SIDES]
            return subprocess.Popen(
                [sys.executable, "-m", "mixedsched.world.emulator.relay.log", *map(str, opened)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=opened,
            )
    except OSError as error:
        raise MixedschedError(
            "the packet log cannot be written", why=str(error), fix="name a folder that this account may write to"
        ) from error


class LogFiles:
    """The two files. written: lines in them. error: why there are no more; empty if all went well."""

    def __init__(self, files: list[BinaryIO]) -> None:
        self.written = 0
        self.error = ""
        self._files = files

    def write(self, records: bytes) -> None:
        """Whole records, as RECORD packs them. After an error nothing more is written: a log with a gap would mislead."""
        if self.error:
            return
        lines: list[list[str]] = [[] for _ in SIDES]
        for side, fate, size_bytes, number, in_us, out_us in RECORD.iter_unpack(records):
            lines[side].append(_line(number, size_bytes, in_us, None if out_us == NEVER else out_us, FATES[fate]))
        try:
            for file, some in zip(self._files, lines, strict=True):
                _write_all(file, "".join(some).encode())
                self.written += len(some)
        except OSError as error:
            self.error = error.strerror or str(error)


def _line(number: int, size_bytes: int, in_us: int, out_us: int | None, fate: str) -> str:
    out = "null" if out_us is None else out_us
    return f'{{"packet": {number}, "size_bytes": {size_bytes}, "in_us": {in_us}, "out_us": {out}, "fate": "{fate}"}}\n'


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write all of it; a file without a buffer may take a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def main(numbers: list[str]) -> None:
    """Entry point of the writer's process: write all records that come."""
    for meant_for_relay in (signal.SIGINT, signal.SIGTERM):
        signal.signal(meant_for_relay, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(_WRITER_NICENESS)
    files = LogFiles([os.fdopen(int(number), "wb", buffering=0) for number in numbers])
    part = b""
    with os.fdopen(0, "rb", buffering=0) as source:
        while piece := source.read(_READ_BYTES):
            part += piece
            whole = len(part) - len(part) % RECORD.size
            files.write(part[:whole])
            part = part[whole:]
    say({"written": files.written, "error": files.error})


if __name__ == "__main__":
    main(sys.argv[1:])
