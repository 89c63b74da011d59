"""Page loads by Lighthouse in real Chromium, one at a time."""

import asyncio

from mixedsched.errors import InputError
from mixedsched.world.browser._worker import WorkerOnDemand
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob, Versions
from mixedsched.world.browser.profiles import make_profile_dir, remove_profile_dir

# Beyond the job's own limit: ending the browser, and sending the answer.
_GRACE_S = 15.0
_VERSIONS_LIMIT_S = 30.0


class LighthouseRunner(WorkerOnDemand):
    """Scores page loads."""

    async def versions(self) -> Versions:
        """The versions of Lighthouse, Chromium and Node. Raises PageLoadFailed."""
        async with self._lock:
            answer = await self._ask({"op": "versions"}, _VERSIONS_LIMIT_S)
        return Versions(**answer["versions"])

    async def run(self, job: PageLoadJob) -> BrowserLoad:
        """Load a page once in a fresh browser. Raises PageLoadFailed; the runner is then ready for the next job.

        A failure that `needs_own_waits` is worth the same job with `own_waits`, over a network as fresh as the browser.
        """
        async with self._lock:
            if job.netlog is not None:
                job.netlog.parent.mkdir(parents=True, exist_ok=True)
            profile_dir = make_profile_dir(self._temp_dir)
            try:
                answer = await self._ask(job.to_message(profile_dir), job.limit_s + _GRACE_S)
            finally:
                await asyncio.to_thread(remove_profile_dir, profile_dir)
        try:
            return BrowserLoad.from_dict(answer)
        except InputError as error:
            raise PageLoadFailed("bad_answer", str(error)) from error
