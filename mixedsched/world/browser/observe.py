"""Watches page loads in Chromium: the requests, their order and reasons, the responses, and how they form the page."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mixedsched.errors import InputError
from mixedsched.world.browser._observed import LoadReport, observation_of
from mixedsched.world.browser.netlog import read_traffic
from mixedsched.world.browser.observation import Observation, ObservationJob
from mixedsched.world.browser.pageload import PageLoadFailed
from mixedsched.world.browser.profiles import make_profile_dir, remove_profile_dir
from mixedsched.world.browser.runner import WorkerOnDemand

# Beyond the page's own time: starting the browser, asking the page, ending the browser, sending the answer.
_GRACE_S = 75.0
_SCROLL_LIMIT_S = 30.0  # the worker's


class Observer(WorkerOnDemand):
    """Watches page loads; a load leaves nothing behind but its result."""

    _is_asking = False
    _is_stopped = False  # before the worker was asked

    async def observe(self, job: ObservationJob) -> Observation:
        """Load a page once in a fresh browser and watch it.

        Raises PageLoadFailed: navigation:CODE if there is no page (Chromium's code, such as ERR_NAME_NOT_RESOLVED or
        ERR_TOO_MANY_REDIRECTS), page_crashed, chrome_start, chrome_died, timeout, worker_died, worker_silent, bad_answer,
        bad_job. The observer is then ready for the next job. An answer with a bad status is a page like any other.
        Cancelling gives up the load and its browser; stop() keeps what has come so far.
        """
        async with self._lock, self._profile() as profile_dir:
            log_dir = make_profile_dir()  # swept like a profile by a later start, should this process be killed
            try:
                log = log_dir / "net.json"
                limit_s = job.limit_s + _GRACE_S + (_SCROLL_LIMIT_S if job.scroll else 0.0)
                report = _checked(await self._watched(job.to_message(profile_dir, log), limit_s))
                return await asyncio.to_thread(_assemble, job, report, log)
            finally:
                self._is_stopped = False
                await asyncio.to_thread(remove_profile_dir, log_dir)

    def stop(self) -> None:
        """End the load in progress, or else the next one: observe() returns soon, with what has come so far and `ended` as
        "interrupted". If it has not begun, or nothing came, it raises PageLoadFailed navigation:INTERRUPTED.
        """
        self._is_stopped = True
        if self._is_asking and self._worker is not None:
            self._worker.tell({"op": "stop"})

    async def _watched(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        await self._living()
        if self._is_stopped:
            raise PageLoadFailed("navigation:INTERRUPTED", "it was interrupted before it began")
        self._is_asking = True
        try:
            return await self._ask(message, limit_s)
        finally:
            self._is_asking = False


def _checked(answer: dict[str, Any]) -> LoadReport:
    try:
        report = LoadReport.model_validate(answer)
    except ValidationError as error:
        raise PageLoadFailed("bad_answer", str(error)) from error
    if not report.requests:
        raise PageLoadFailed("bad_answer", "the browser reported no request")
    return report


def _assemble(job: ObservationJob, report: LoadReport, log: Path) -> Observation:
    if job.bodies_dir is not None:
        job.bodies_dir.mkdir(parents=True, exist_ok=True)
    try:
        logged = read_traffic(log, job.bodies_dir)
    except InputError as error:
        observed = observation_of(job, report, ())
        return replace(observed, notes=(*observed.notes, f"no body could be kept: {error}"))
    return observation_of(job, report, logged)
