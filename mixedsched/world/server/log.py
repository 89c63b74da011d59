"""The log of a server, and JSON lines as its form for machines."""

import contextlib
import datetime as dt
import json
import os
import queue
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Self, TextIO

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.errors import UsageError
from mixedsched.world.server.running import ConnectionRecord, ServerFacts
from mixedsched.world.server.schedule import ScheduleInterval

LoggedEvent = ServedRequest | ConnectionRecord | ScheduleInterval
EVENT_NAMES: Mapping[type, str] = {
    ServedRequest: "request",
    ConnectionRecord: "connection",
    ScheduleInterval: "schedule",
}


class ServerLog(ABC):
    """Writes a line for each event to standard output. Its methods are called on the server's event loop, and never block.

    kept: file that gets every request as JSON, too, with the time at which it was over. worker: number of the process that
    reports, where there are several; else None.
    """

    def __init__(self, kept: TextIO | None = None) -> None:
        self._lines = LineWriter()
        self._kept = LineWriter(kept) if kept is not None else None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._lines)
        if self._kept is not None:
            self._stack.enter_context(self._kept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def request(self, request: ServedRequest, worker: int | None = None) -> None:
        """A request is over."""
        self._lines.write(self._line(request, worker))
        if self._kept is not None:
            time = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
            self._kept.write(json_line(request, worker, time=time))

    def connection(self, connection: ConnectionRecord, worker: int | None = None) -> None:
        """A handshake is over; reported only if LogSettings ask for it."""
        self._lines.write(self._line(connection, worker))

    def schedule(self, interval: ScheduleInterval, worker: int | None = None) -> None:
        """Which responses got the packets of a connection; reported only if LogSettings ask for it."""
        self._lines.write_minor(lambda: self._line(interval, worker))

    def paused(self) -> None:
        """A worker reads no packets any more: its parent waits for that."""
        self._lines.write(json.dumps({"paused": True}))

    @abstractmethod
    def listening(self, facts: ServerFacts) -> None:
        """The server is ready for its first client."""

    @abstractmethod
    def _line(self, event: LoggedEvent, worker: int | None) -> str: ...


class JsonLog(ServerLog):
    """JSON objects: the server's facts, then {"request": ...}, {"connection": ...} and {"schedule": ...} as they come."""

    def listening(self, facts: ServerFacts) -> None:
        self._lines.write(json.dumps(asdict(facts)))

    def _line(self, event: LoggedEvent, worker: int | None) -> str:
        return json_line(event, worker)


def json_line(event: LoggedEvent, worker: int | None, **beside: str) -> str:
    """One event as JSON. beside: further members of the object, which come first."""
    facts = asdict(event) if worker is None else {**asdict(event), "worker": worker}
    return json.dumps({**beside, EVENT_NAMES[type(event)]: facts})


@contextmanager
def appending(path: Path) -> Iterator[TextIO]:
    """A log file to append to. Raises UsageError if it cannot be opened."""
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write the log {path}", why=error.strerror or str(error), fix="name a file that you may write to"
        ) from error
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # a full disk was reported when it was met
            file.close()


class LineWriter:
    """Writes lines to standard output, or a file, from a thread of its own, so that a slow reader does not delay the server.

    While the reader does not read, lines beyond MAX_WAITING or MAX_WAITING_CHARACTERS are dropped (clients choose how long
    their paths are), minor ones beyond MAX_MINOR_WAITING; stderr says how many at the end. If the reader has gone, this process
    is asked to end. A file that can no longer be written is given up, with a message on stderr.
    """

    MAX_WAITING = 100_000
    MAX_WAITING_CHARACTERS = 50_000_000
    MAX_MINOR_WAITING = 200

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._lines: queue.Queue[str | Callable[[], str] | None] = queue.Queue(self.MAX_WAITING)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.dropped = 0
        self._put_characters = 0  # counted where lines are put, and where they are taken, each in its own thread
        self._taken_characters = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(timeout=2)  # not for ever: the reader may have stopped reading
        if self.dropped:
            sys.stderr.write(f"{self.dropped} lines were dropped: they were not read fast enough\n")

    def write(self, line: str) -> None:
        if self._put_characters - self._taken_characters > self.MAX_WAITING_CHARACTERS:
            self.dropped += 1
            return
        try:
            self._lines.put_nowait(line)
            self._put_characters += len(line)
        except queue.Full:
            self.dropped += 1

    def write_minor(self, line: Callable[[], str]) -> None:
        """Write a line that may be dropped early. It is made in the thread, and only if it is written."""
        if self._lines.qsize() < self.MAX_MINOR_WAITING:
            self._lines.put_nowait(line)
        else:
            self.dropped += 1

    def _run(self) -> None:
        file = self._file or sys.stdout
        try:
            while (line := self._lines.get()) is not None:
                if isinstance(line, str):
                    self._taken_characters += len(line)
                    file.write(f"{line}\n")
                else:
                    file.write(f"{line()}\n")
                if self._lines.empty():
                    file.flush()
            file.flush()
        except BrokenPipeError:
            # What is left is written once more when Python ends, which would then count as a failure.
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), file.fileno())
            os.kill(os.getpid(), signal.SIGTERM)
        except OSError as error:
            if self._file is None:
                raise
            sys.stderr.write(f"the log ends here: {error.strerror}\n")
