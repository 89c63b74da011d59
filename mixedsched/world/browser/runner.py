"""Page loads by Lighthouse in real Chromium, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from mixedsched.errors import InputError
from mixedsched.world.browser.pageload import PageLoad, PageLoadFailed, PageLoadJob, Versions
from mixedsched.world.browser.profiles import make_profile_dir, remove_profile_dir
from mixedsched.world.browser.worker import WorkerOnDemand
from mixedsched.world.system.precedence import Courtesy

# Beyond the job's own limit: ending the browser, and sending the answer.
_GRACE_S = 15.0
_VERSIONS_LIMIT_S = 30.0


class LighthouseRunner:
    """Async context manager around a lighthouse-runner worker; its arguments are those of WorkerOnDemand.

    Calls may overlap; loads are done one after the other. A worker that dies or falls silent fails only the load
    in progress: the next one gets a new worker. Entering raises MissingPartError if Chromium, Node or the package is missing.
    """

    def __init__(
        self,
        package_dir: Path | None = None,
        *,
        temp_dir: Path | None = None,
        prefix: Sequence[str] = (),
        courtesy: Courtesy = Courtesy.NONE,
    ) -> None:
        self._temp_dir = temp_dir
        self._worker = WorkerOnDemand(package_dir, temp_dir, prefix, courtesy)
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._worker.open()
        await self._worker.living()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._worker.close()

    @property
    def worker_pid(self) -> int | None:
        """Process id of the present worker; None while there is none."""
        return self._worker.worker.pid if self._worker.worker is not None else None

    async def versions(self) -> Versions:
        """The versions of Lighthouse, Chromium and Node. Raises PageLoadFailed."""
        async with self._lock:
            answer = await self._worker.ask({"op": "versions"}, _VERSIONS_LIMIT_S)
        return Versions(**answer["versions"])

    async def run(self, job: PageLoadJob) -> PageLoad:
        """Load a page once in a fresh browser. Raises PageLoadFailed; the runner is then ready for the next job.

        A failure that `needs_own_waits` is worth the same job with `own_waits`, over a network as fresh as the browser.
        """
        async with self._lock:
            if job.netlog is not None:
                job.netlog.parent.mkdir(parents=True, exist_ok=True)
            profile_dir = make_profile_dir(self._temp_dir)
            try:
                answer = await self._worker.ask(job.to_message(profile_dir), job.limit_s + _GRACE_S)
            finally:
                await asyncio.to_thread(remove_profile_dir, profile_dir)
        try:
            return PageLoad.from_dict(answer)
        except InputError as error:
            raise PageLoadFailed("bad_answer", str(error)) from error
