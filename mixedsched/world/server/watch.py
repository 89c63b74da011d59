"""Listens to the connections of an endpoint for people who want to see: qlog traces, and who gets the packets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from aioquic.quic.configuration import QuicConfiguration

from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.qlog import QlogTrace, traced
from mixedsched.world.server.explain import Stretch, StretchRecorder
from mixedsched.world.server.qlog_files import SUFFIX, QlogFile
from mixedsched.world.server.settings import WatchSettings

TICK_S = 0.1
MAX_STRETCHES_PER_TICK = 20  # more than people can read; other connections wait for the next one


@dataclass(slots=True)
class _Watched:
    """What is kept of one connection."""

    trace: QlogTrace | None = None
    file: QlogFile | None = None
    recorder: StretchRecorder | None = None

    def flush(self) -> None:
        if self.trace is not None and self.file is not None:
            self.trace.flush()
            self.file.flush()


class Watch:
    """Makes what a connection's session reports to, and ten times a second brings what has come together where it belongs.

    label: of the scheme, for the titles of traces. explained: told of stretches.
    """

    def __init__(self, settings: WatchSettings, label: str, explained: Callable[[Stretch], None]) -> None:
        self._settings = settings
        self._label = label
        self._explained = explained
        self._loop = asyncio.get_running_loop()
        self._watched: dict[int, _Watched] = {}
        self._changed: dict[int, None] = {}  # connections, in the order of their first change since they were looked at
        self._timer: asyncio.TimerHandle | None = None

    def open(
        self, number: int, original_id: bytes, now_s: float, configuration: QuicConfiguration, events: SessionEvents
    ) -> tuple[QuicConfiguration, SessionEvents]:
        """What the session of a new connection is to be made with, so that it is seen here.

        original_id: the destination connection ID of the client's first packet. now_s: of the monotonic clock.
        """
        if not self._settings.is_wanted:
            return configuration, events
        watched = self._watched[number] = _Watched()
        if self._settings.explain:
            watched.recorder = StretchRecorder(number, now_s, lambda: self._note(number))
            events = replace(events, decisions=(*events.decisions, watched.recorder))
        if self._settings.qlog_folder is not None:
            trace = self._open_trace(watched, self._settings.qlog_folder, number, original_id, now_s)
            configuration, events = traced(trace, configuration, events)
        return configuration, events

    def close(self, number: int) -> None:
        """The connection is gone."""
        watched = self._watched.get(number)
        if watched is None:
            return
        watched.flush()
        self._explain(watched)
        del self._watched[number]
        self._changed.pop(number, None)

    def stop(self) -> None:
        """Nothing more will happen."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for number in tuple(self._watched):
            self.close(number)

    def _open_trace(self, watched: _Watched, folder: Path, number: int, original_id: bytes, now_s: float) -> QlogTrace:
        file = watched.file = QlogFile(folder / f"{number:06d}-{original_id.hex()}{SUFFIX}")

        def write(record: bytes) -> None:
            file.write(record)
            self._note(number)

        watched.trace = QlogTrace(
            original_id=original_id,
            clock_s=lambda: time.monotonic() - now_s,
            write=write,
            title=f"connection {number}, {self._label}",
            reference_ms=round(time.time() * 1000, 3),
            limit_bytes=self._settings.qlog_bytes,
        )
        return watched.trace

    def _note(self, number: int) -> None:
        """Something has happened on a connection."""
        self._changed[number] = None
        if self._timer is None:
            self._timer = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._timer = None
        changed, self._changed = self._changed, {}
        told = 0
        for number in changed:
            watched = self._watched[number]
            watched.flush()
            if told < MAX_STRETCHES_PER_TICK:
                told += self._explain(watched)
            elif watched.recorder is not None:
                self._note(number)

    def _explain(self, watched: _Watched) -> bool:
        """Tell of a connection's stretch, if there is one."""
        stretch = watched.recorder.take() if watched.recorder is not None else None
        if stretch is not None:
            self._explained(stretch)
        return stretch is not None
