"""Work that is done in a child process, so that what it loads is not kept in memory."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import NoReturn, TypeVar

from mixedsched.errors import ExitCode, MixedschedError

T = TypeVar("T")


def aside(work: Callable[[], T]) -> T:
    """What `work` returns, which must be picklable, worked out in a forked child; modules that it imports stay there.

    To be called before there are threads. Raises the MixedschedError that it raises, and KeyboardInterrupt if it is
    interrupted.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work(work, writer)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
    finally:
        _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if not answer:
        raise MixedschedError("a child process died", why=f"its status is {os.waitstatus_to_exitcode(status)}")
    result = pickle.loads(answer)  # noqa: S301 - from our own child
    if isinstance(result, BaseException):
        raise result
    return result  # type: ignore[no-any-return]


def _work(work: Callable[[], object], writer: int) -> NoReturn:
    """The child's life. It ends without the parent's clean-up: nothing of what is open here is its own."""
    code = ExitCode.FAILED
    try:
        try:
            answer = pickle.dumps(work())
        except MixedschedError as error:
            answer = pickle.dumps(error)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        code = ExitCode.DONE
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)
