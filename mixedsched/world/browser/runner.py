"""The lighthouse-runner, a Node process that answers one question at a time and is replaced when it fails; and page loads with
it, one at a time: in Chromium, scored by Lighthouse, or in Firefox.
"""

import asyncio
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

from mixedsched.errors import InputError
from mixedsched.world.browser.find import find_chromium, find_firefox, find_node, find_package
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob, Versions
from mixedsched.world.browser.profiles import (
    make_profile_dir,
    place_of_profiles,
    remove_profile_dir,
    sweep_profile_dirs,
)
from mixedsched.world.browser.sandbox import no_sandbox
from mixedsched.world.system.children import Child
from mixedsched.world.system.precedence import Courtesy, words_before

_COMPLAINT_LINES = 20
# Variables that tell the worker where the browser is.
_PLACES = {Browser.CHROMIUM: "CHROME_PATH", Browser.FIREFOX: "FIREFOX_PATH"}
# Beyond the job's own limit: ending the browser, and sending the answer.
_GRACE_S = 15.0
_VERSIONS_LIMIT_S = 30.0


class Worker:
    """A running lighthouse-runner. It leaves, with its browser, when its input ends."""

    def __init__(self, process: Child) -> None:
        self._process = process
        self._ids = itertools.count(1)

    @classmethod
    async def start(
        cls,
        node: Path,
        package_dir: Path,
        program: Path,
        prefix: Sequence[str] = (),
        courtesy: Courtesy = Courtesy.NONE,
        browser: Browser = Browser.CHROMIUM,
    ) -> Self:
        """program: of the browser."""
        browser_words = words_before()  # the browser inherits the courtesy
        command = (*prefix, *words_before(courtesy), node, package_dir / "worker.mjs", *browser_words)
        return cls(await Child.start(*command, environment={**os.environ, _PLACES[browser]: str(program)}))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive

    async def ask(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        """Send a message, return the answer's fields.

        Raises PageLoadFailed: with the worker's own reason, or worker_died, or worker_silent after limit_s. Raises
        MissingPartError if Chromium needs a sandbox and cannot build one here: no further load would do better.
        """
        number = next(self._ids)
        self._process.tell({"id": number, **message})
        while (answer := await self._process.next_line(limit_s)) is not None:
            if answer.get("id") != number:
                continue
            if not answer.get("ok"):
                reason, detail = str(answer.get("reason", "internal")), str(answer.get("detail", ""))
                raise no_sandbox() if reason == "no_sandbox" else PageLoadFailed(reason, detail)
            return answer
        if not self._process.has_ended:
            raise PageLoadFailed("worker_silent", f"the worker gave no answer within {limit_s:.0f} s")
        lines = (await self._process.complaint()).splitlines()[-_COMPLAINT_LINES:]
        raise PageLoadFailed("worker_died", "the worker ended; it said: " + (" | ".join(lines) or "nothing"))

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message and do not wait for the answer; possible while another one is being answered."""
        self._process.tell({"id": next(self._ids), **message})

    async def close(self) -> None:
        """End it, with its browser; if it hangs it is killed, and the kernel ends the browser. May be called again."""
        await self._process.stop()


class WorkerOnDemand:
    """Async context manager around at most one worker, started when it is needed and replaced after a failure.

    temp_dir: where profiles go (default: place_of_profiles). prefix: words before the worker's command, such as those that
    enter a network namespace. courtesy: how worker and browser give way to other programs. Entering raises MissingPartError
    if the browser, Node or the lighthouse-runner is missing.

    Calls of its subclasses may overlap; loads are done one after the other. A worker that dies or falls silent fails only the
    load in progress.
    """

    def __init__(
        self,
        *,
        temp_dir: Path | None = None,
        prefix: Sequence[str] = (),
        courtesy: Courtesy = Courtesy.NONE,
        browser: Browser = Browser.CHROMIUM,
    ) -> None:
        self._temp_dir = temp_dir or place_of_profiles()
        self._prefix = tuple(prefix)
        self._courtesy = courtesy
        self._browser = browser
        self._lock = asyncio.Lock()
        self._parts: tuple[Path, Path, Path] | None = None
        self._worker: Worker | None = None
        self._failed_profiles: list[Path] = []

    async def __aenter__(self) -> Self:
        self._parts = (
            find_node(),
            find_package(),
            find_firefox() if self._browser is Browser.FIREFOX else find_chromium(),
        )
        sweep_profile_dirs(self._temp_dir, Path(tempfile.gettempdir()))
        await self._living()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._discard()
        self._parts = None
        # Once more: processes of a killed browser outlive it, and may have written there.
        for profile_dir in self._failed_profiles:
            await asyncio.to_thread(remove_profile_dir, profile_dir)

    @asynccontextmanager
    async def _profile(self) -> AsyncIterator[Path]:
        """A new directory for the profile of one load; afterwards it is removed."""
        profile_dir = make_profile_dir(self._temp_dir)
        try:
            yield profile_dir
        except BaseException:
            self._failed_profiles.append(profile_dir)
            raise
        finally:
            await asyncio.to_thread(remove_profile_dir, profile_dir)

    @property
    def worker_pid(self) -> int | None:
        """Process ID of the present worker; None while none lives."""
        return self._worker.pid if self._worker is not None and self._worker.is_alive else None

    async def _living(self) -> Worker:
        """The present worker, or a new one."""
        assert self._parts is not None, "it is used outside its `async with` block"
        if self._worker is not None and not self._worker.is_alive:
            await self._discard()
        if self._worker is None:
            self._worker = await Worker.start(*self._parts, self._prefix, self._courtesy, self._browser)
        return self._worker

    async def _ask(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        """As Worker.ask. After a failure, or if it is cancelled, the next question goes to a new worker.

        Failures are rare and a new worker costs a second, so nothing of a failed load reaches the next one. A page that did not
        become quiet, or that could not be reached, says nothing against the worker, though.
        """
        worker = await self._living()
        try:
            return await worker.ask(message, limit_s)
        except BaseException as error:
            if not (isinstance(error, PageLoadFailed) and error.spares_worker):
                await self._discard()
            raise

    async def _discard(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()


class LighthouseRunner(WorkerOnDemand):
    """Loads pages and scores them, in the browser that it was made for."""

    async def versions(self) -> Versions:
        """The versions of the browser, Node, and Lighthouse where it takes part. Raises PageLoadFailed."""
        async with self._lock:
            answer = await self._ask({"op": "versions", "browser": self._browser}, _VERSIONS_LIMIT_S)
        return Versions(**answer["versions"])

    async def run(self, job: PageLoadJob) -> BrowserLoad:
        """Load a page once in a fresh browser. Raises PageLoadFailed; the runner is then ready for the next job."""
        async with self._lock:
            if job.netlog is not None:
                job.netlog.parent.mkdir(parents=True, exist_ok=True)
            async with self._profile() as profile_dir:
                answer = await self._ask(job.to_message(profile_dir), job.limit_s + _GRACE_S)
        try:
            return BrowserLoad.from_dict(answer)
        except InputError as error:
            raise PageLoadFailed("bad_answer", str(error)) from error
