"""Observes the connections of an endpoint: qlog traces, and which responses get the packets."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from aioquic.quic.configuration import QuicConfiguration

from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.qlog import QlogTrace, traced
from mixedsched.core.h3.session import Session
from mixedsched.core.learning.steering import Steering
from mixedsched.core.learning.visit import SeenNetwork
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server._first_packets import NewClient
from mixedsched.world.server._learning import Learning
from mixedsched.world.server.qlog_files import SUFFIX, QlogFile
from mixedsched.world.server.schedule import ScheduleInterval, ScheduleRecorder
from mixedsched.world.server.settings import LogSettings

TICK_S = 0.1
MAX_INTERVALS_PER_TICK = 20  # more than people can read; other connections wait for the next one


@dataclass(slots=True)
class _Observed:
    """The observers of one connection."""

    trace: QlogTrace | None = None
    file: QlogFile | None = None
    recorder: ScheduleRecorder | None = None
    steering: Steering | None = None

    def flush(self) -> None:
        if self.trace is not None and self.file is not None:
            self.trace.flush()
            self.file.flush()


class ConnectionObservers:
    """Makes the observers of a connection's session, and ten times a second writes what they have recorded.

    report: called with each interval. learning: what a scheme learns from visits, and decides by that.
    """

    def __init__(
        self,
        settings: LogSettings,
        scheme: ConfiguredScheme,
        report: Callable[[ScheduleInterval], None],
        learning: Learning | None = None,
    ) -> None:
        self._settings = settings
        self._scheme = scheme
        self._learning = learning
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._observed: dict[int, _Observed] = {}
        self._changed: dict[int, None] = {}  # connections, in the order of their first change since they were looked at
        self._timer: asyncio.TimerHandle | None = None

    def open(
        self, number: int, new: NewClient, now_s: float, configuration: QuicConfiguration, events: SessionEvents
    ) -> tuple[QuicConfiguration, SessionEvents, ConfiguredScheme]:
        """Returns configuration, events and scheme for the session of a new connection, with its observers.

        now_s: of the monotonic clock.
        """
        if not self._settings.has_observers and self._learning is None:
            return configuration, events, self._scheme
        observed = self._observed[number] = _Observed()
        scheme, original_id = self._scheme, new.first_id
        if self._learning is not None:
            observed.steering = self._learning.join(new.client, scheme)
            scheme = observed.steering.scheme
            events = replace(events, decisions=(*events.decisions, observed.steering.recorder))
        if self._settings.schedule:
            observed.recorder = ScheduleRecorder(number, now_s, lambda: self._note(number))
            events = replace(events, decisions=(*events.decisions, observed.recorder))
        if self._settings.qlog_folder is not None:
            trace = self._open_trace(observed, self._settings.qlog_folder, number, original_id, now_s)
            configuration, events = traced(trace, configuration, events)
        return configuration, events, scheme

    def use_scheme(self, scheme: ConfiguredScheme) -> bool:
        """For connections to come. Whether it is for those that are open, too: one that learns goes by what it has learned."""
        self._scheme = scheme
        return self._learning is None

    def attach(self, number: int, session: Session) -> None:
        """There is a session now."""
        observed = self._observed.get(number)
        if observed is not None and observed.steering is not None:
            observed.steering.connection = lambda: SeenNetwork.of(session.quic.round_trips_ms)

    def close(self, number: int) -> None:
        """The connection is gone."""
        observed = self._observed.get(number)
        if observed is None:
            return
        observed.flush()
        self._report_interval(observed)
        if observed.steering is not None:
            observed.steering.recorder.finish()
        del self._observed[number]
        self._changed.pop(number, None)

    def stop(self) -> None:
        """All connections are gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for number in tuple(self._observed):
            self.close(number)

    def _open_trace(
        self, observed: _Observed, folder: Path, number: int, original_id: bytes, now_s: float
    ) -> QlogTrace:
        file = observed.file = QlogFile(folder / f"{number:06d}-{original_id.hex()}{SUFFIX}")

        def write(record: bytes) -> None:
            file.write(record)
            self._note(number)

        observed.trace = QlogTrace(
            original_id=original_id,
            clock_s=lambda: time.monotonic() - now_s,
            write=write,
            title=f"connection {number}, {self._scheme.label}",
            reference_ms=round(time.time() * 1000, 3),
            limit_bytes=self._settings.qlog_bytes,
        )
        return observed.trace

    def _note(self, number: int) -> None:
        """Something has happened on a connection."""
        self._changed[number] = None
        if self._timer is None:
            self._timer = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._timer = None
        changed, self._changed = self._changed, {}
        reported = 0
        for number in changed:
            observed = self._observed[number]
            observed.flush()
            if reported < MAX_INTERVALS_PER_TICK:
                reported += self._report_interval(observed)
            elif observed.recorder is not None:
                self._note(number)

    def _report_interval(self, observed: _Observed) -> bool:
        """Report a connection's interval; False if there is none."""
        interval = observed.recorder.take() if observed.recorder is not None else None
        if interval is not None:
            self._report(interval)
        return interval is not None
