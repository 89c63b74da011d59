"""Writes the relay's packet log: `python -m mixedsched.world.emulator.relay.log_writer DOWN UP`, both numbers of open files.

It reads records from standard input until that ends, which also a killed relay brings about, and then says what it has
written as a line of JSON. A full disk does not stop it reading, or the relay would have to wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import BinaryIO

from mixedsched.world.emulator.relay.log import FATES, NEVER, RECORD, SIDES

_READ_BYTES = RECORD.size * 4096
_NICENESS = 10


class LogFiles:
    """The two files. written: lines that are in them. error: why there are no more; empty if all went well."""

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
    """All of it; a file without a buffer may take a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def copy(source: BinaryIO, files: LogFiles) -> None:
    """Write all records that come."""
    part = b""
    while piece := source.read(_READ_BYTES):
        part += piece
        whole = len(part) - len(part) % RECORD.size
        files.write(part[:whole])
        part = part[whole:]


def main(numbers: list[str]) -> None:
    """Entry point of the writer's process."""
    for meant_for_relay in (signal.SIGINT, signal.SIGTERM):
        signal.signal(meant_for_relay, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    files = LogFiles([os.fdopen(int(number), "wb", buffering=0) for number in numbers])
    copy(os.fdopen(0, "rb", buffering=0), files)
    with contextlib.suppress(BrokenPipeError):  # the relay was killed; the log is whole all the same
        os.write(1, json.dumps({"written": files.written, "error": files.error}).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
