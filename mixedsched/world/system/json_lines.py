"""The child's side of a child process of ours: lines of JSON from its parent, and to it. children.py is the parent's side."""

import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from mixedsched.errors import ExitCode, InputError, MissingPartError, MixedschedError, UsageError

_STDIN, _STDOUT = 0, 1
_PIECE_BYTES = 65_536
_ERRORS: Mapping[int, type[MixedschedError]] = {
    ExitCode.USAGE: UsageError,
    ExitCode.BAD_INPUT: InputError,
    ExitCode.MISSING_PART: MissingPartError,
}


class _Ended(Exception):  # noqa: N818 - it is not an error
    pass


class Orders:
    """Messages from the parent, one a line, until standard input ends or SIGTERM comes. The first ones are the settings.

    Iterating waits for the next message. A program that waits for other files too watches `fd` and calls `read`. Both raise
    ValueError for a line that is not JSON.

    SIGTERM interrupts nothing but this waiting: work that has begun is finished. Ctrl-C is for the parent, which then ends
    our standard input. Make one, in the main thread, before anything that must be cleaned up.
    """

    fd = _STDIN

    def __init__(self) -> None:
        self.has_ended = False
        self._is_waiting = False
        self._lines: deque[bytes] = deque()
        self._rest = b""
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        with contextlib.suppress(_Ended):
            self._is_waiting = True
            while not self._lines and not self.has_ended:
                self._read_more()
            self._is_waiting = False
        lines = self._lines
        if not lines:
            raise StopIteration
        message: dict[str, Any] = json.loads(lines.popleft())
        return message

    def read(self) -> list[dict[str, Any]]:
        """The messages that have arrived; waits if nothing has."""
        self._read_more()
        lines, self._lines = self._lines, deque()
        return [json.loads(line) for line in lines]

    def _read_more(self) -> None:
        # Unbuffered, so that select() sees all that is left.
        piece = os.read(self.fd, _PIECE_BYTES)
        self.has_ended |= not piece
        *lines, self._rest = (self._rest + piece).split(b"\n")  # an unfinished message at the end is dropped
        self._lines += lines

    def _end(self, *_: object) -> None:
        self.has_ended = True
        self._lines = deque()  # another one: that may be in use, wherever we are now
        if self._is_waiting:
            self._is_waiting = False
            raise _Ended


def say(message: Mapping[str, Any]) -> None:
    """Tell the parent. If it is gone, nothing happens here: our input ends next."""
    try:
        rest = memoryview(json.dumps(message).encode() + b"\n")
        while rest:
            rest = rest[os.write(_STDOUT, rest) :]
    except BrokenPipeError:
        return


def say_error(error: MixedschedError) -> int:
    """Tell the parent of an error, as {"error": {"what", "why", "fix", "exit_code"}}; returns its exit code."""
    say({"error": {"what": error.what, "why": error.why, "fix": error.fix, "exit_code": int(error.exit_code)}})
    return error.exit_code


def raise_error_in(message: Mapping[str, Any]) -> None:
    """For the parent: raise the error of which a message tells; do nothing if it tells of none."""
    facts = message.get("error")
    if isinstance(facts, Mapping):
        raise _ERRORS.get(facts["exit_code"], MixedschedError)(facts["what"], why=facts["why"], fix=facts["fix"])
