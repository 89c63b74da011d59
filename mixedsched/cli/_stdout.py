"""Standard streams whose reader may end early, as `head` does: this is not a failure of the command that writes to them."""

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from mixedsched.errors import MixedschedError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(io.FileIO):
    """Drops what can no longer be read, so that a command that has measured something still ends with its exit code."""

    is_read = True

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self._drop_the_rest()
            return memoryview(data).nbytes
        except OSError as error:
            self._drop_the_rest()
            raise MixedschedError("results cannot be written to standard output", why=error.strerror or "") from error

    def _drop_the_rest(self) -> None:
        self.is_read = False
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


class _Remarks(_Output):
    """Progress and remarks: neither a terminal that is gone nor a full disk ends hours of measuring."""

    def write(self, data: "ReadableBuffer", /) -> int:
        with suppress(MixedschedError):
            return super().write(data)
        return memoryview(data).nbytes


def let_readers_end() -> None:
    """From here on, output without a reader is dropped, instead of ending the command with exit code 1."""
    _open_what_is_closed()
    for name, kind in (("stdout", _Output), ("stderr", _Remarks)):
        old = getattr(sys, name)
        if old is getattr(sys, f"__{name}__") and isinstance(
            old, io.TextIOWrapper
        ):  # else somebody catches what is written
            binary = io.BufferedWriter(kind(old.fileno(), "w", closefd=False))
            new = io.TextIOWrapper(binary, old.encoding, old.errors, None, bool(old.line_buffering), old.write_through)
            setattr(sys, name, new)


def _open_what_is_closed() -> None:
    """Open /dev/null for standard input, output and errors that are closed: else the first file or socket that the command
    opens would get their number, and what children say would be written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
        setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115 - for good


def end_with_reader() -> None:
    """From here on a write without a reader raises BrokenPipeError, as usual: a server ends when its reader does."""
    if _output() is not None:
        sys.stdout.flush()
        sys.stdout = sys.__stdout__


def is_read() -> bool:
    """Whether results still have a reader; a command may end early where they have none."""
    output = _output()
    return output is None or output.is_read


def _output() -> _Output | None:
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw if isinstance(raw, _Output) else None
