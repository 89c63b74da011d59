"""Asynchronous work: the first of several to be done, and running it from code that is not asynchronous, wherever that runs."""

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_START_S = 5.0  # more than any thread needs to start
_LOOK_S = 1.0  # how long Ctrl-C may go unseen


async def first_of(*works: Awaitable[Any]) -> list[Any]:
    """Wait until one of them is done, then cancel the others and wait until they have ended, too.

    Returns what each has brought, None for those that were cancelled. Raises what the first one raises.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return [task.result() if task.done() else None for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; where a loop is running already, as in a notebook, in a thread of its own.

    Ctrl-C ends it in order, there too: what it has begun is cancelled and waited for.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()
    ended: Future[T] = Future()

    async def noted() -> T:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    def run() -> None:
        try:
            ended.set_result(asyncio.run(noted()))
        except BaseException as error:
            ended.set_exception(error)

    thread = Thread(target=run)
    try:
        thread.start()
        _wait_for(thread, ended)
    except BaseException:
        # The thread may just be starting; where it does not begin, there is nothing to end.
        with contextlib.suppress(TimeoutError):
            loop, task = begun.result(_START_S)
            assert task is not None
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
            _wait_for(thread, ended)
        raise
    return ended.result()


def _wait_for(thread: Thread, ended: Future[Any]) -> None:
    """With pauses: a signal that comes just before a thread begins to wait does not end the wait, but is seen after it."""
    while not ended.done():
        thread.join(_LOOK_S)
