"""Asynchronous work from code that is not, wherever that runs."""

import asyncio
import contextlib
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
_START_S = 5.0  # more than any thread needs to start
_LOOK_S = 1.0  # how long Ctrl-C may go unseen


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; where a loop is running already, as in a notebook, in a thread of its own.

    Ctrl-C ends it in order, there too: what it has begun is cancelled and waited for.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def noted() -> T:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    result: Future[T] | None = None
    with ThreadPoolExecutor(max_workers=1) as executor:
        try:
            result = executor.submit(asyncio.run, noted())
            # A signal that comes just before a thread begins to wait does not end the wait, but is seen after it.
            while not wait([result], _LOOK_S).done:
                pass
            return result.result()
        except BaseException:
            if result is None or not result.done():  # None: Ctrl-C came while the thread was starting
                with contextlib.suppress(RuntimeError, TimeoutError):  # it has just ended, or never began
                    loop, task = begun.result(_START_S)
                    assert task is not None
                    loop.call_soon_threadsafe(task.cancel)
            raise
