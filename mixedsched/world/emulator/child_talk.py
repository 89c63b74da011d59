"""How a child process of a back end talks with its parent: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from mixedsched.errors import ExitCode, MissingPartError, MixedschedError, ProfileError, UsageError

_STDOUT = 1
_ERRORS: Mapping[int, type[MixedschedError]] = {
    ExitCode.USAGE: UsageError,
    ExitCode.BAD_INPUT: ProfileError,
    ExitCode.MISSING_PART: MissingPartError,
}


class _Ended(Exception):  # noqa: N818 - it is no error
    pass


class Orders:
    """What the parent says, message by message, until standard input ends or SIGTERM comes.

    SIGTERM only ever interrupts the waiting: work that has begun comes to its end. Ctrl-C is for the parent, which then
    ends our standard input. Make one, in the main thread, before anything that must be cleaned up.
    """

    def __init__(self) -> None:
        self._is_waiting = False
        self._has_ended = False
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        try:
            self._is_waiting = True
            if self._has_ended:
                raise StopIteration
            line = sys.stdin.buffer.readline()
            self._is_waiting = False
        except _Ended:
            raise StopIteration from None
        if not line.endswith(b"\n"):  # the end, maybe in the middle of a message
            raise StopIteration
        message: dict[str, Any] = json.loads(line)
        return message

    def _end(self, *_: object) -> None:
        self._has_ended = True
        if self._is_waiting:
            self._is_waiting = False
            raise _Ended


def say(message: Mapping[str, Any]) -> None:
    """Answer the parent. One that is gone hears nothing; the end of our input tells us so next."""
    try:
        os.write(_STDOUT, json.dumps(message).encode() + b"\n")
    except BrokenPipeError:
        return


def error_facts(error: MixedschedError) -> dict[str, Any]:
    """An error as an answer."""
    return {
        "error": {"what": error.what, "why": error.why, "fix": error.fix, "exit_code": int(error.exit_code)},
    }


class Testbed(Protocol):
    """What a child process of a kernel back end owns."""

    def renew(self, seed: int) -> object:
        """Make the link fresh."""
        ...

    def counters(self) -> Mapping[str, Any]:
        """Since then."""
        ...


def obey(orders: Orders, testbed: Testbed) -> None:
    """Answer every order until there are no more; what cannot be done is answered by an error."""
    for order in orders:
        try:
            say(_answer(order, testbed))
        except MixedschedError as error:
            say(error_facts(error))


def _answer(order: Mapping[str, Any], testbed: Testbed) -> dict[str, Any]:
    match order.get("op"):
        case "link":
            testbed.renew(int(order.get("seed", 0)))
            return {"link": {}}
        case "counters":
            return {"counters": testbed.counters()}
        case unknown:
            raise UsageError(f"there is no op '{unknown}'", fix="known: link, counters")


def raise_told_error(answer: Mapping[str, Any]) -> None:
    """The reverse, for the parent. Does nothing if the answer tells of no error."""
    facts = answer.get("error")
    if facts is not None:
        raise _ERRORS.get(facts["exit_code"], MixedschedError)(facts["what"], why=facts["why"], fix=facts["fix"])
