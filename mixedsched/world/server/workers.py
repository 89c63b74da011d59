"""Several server processes on one port, and the parent that starts them, gathers their logs, and ends them.

None is replaced: a worker that ends by itself ends the server with an error, so that no measurement goes on with less.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.errors import MixedschedError
from mixedsched.world.server.facts import ConnectionRecord, ServerFacts
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import INPUT, ServerInput, WorkerInput
from mixedsched.world.server.schedule import ScheduleInterval
from mixedsched.world.server.stopping import StopRequest, first_of
from mixedsched.world.system.children import Child

_STOP_SLACK_S = 3.0  # that a worker may take to stop, beyond its clients' grace, before it is killed


async def run_workers(
    given: ServerInput, certificate: Certificate, sockets: Sequence[socket.socket], stop: StopRequest, log: ServerLog
) -> None:
    """Serve with a process for each of the sockets, which are closed here. Raises MixedschedError if one ends by itself."""
    workers: list[Child] = []
    handovers = Handover.among(len(sockets))
    try:
        for sock, handover in zip(sockets, handovers, strict=True):
            workers.append(await _start(given, certificate, sock, handover))
        for sock, handover in zip(sockets, handovers, strict=True):
            sock.close()
            handover.close()
        await asyncio.gather(*(worker.until_ready("a worker of the server did not start") for worker in workers))
        facts = [ServerFacts.from_dict(worker.first) for worker in workers]
        with log:
            log.listening(replace(facts[0], gso=all(item.gso for item in facts)))
            await _until_stopped(workers, stop, given.settings.grace_s, log)
    finally:
        for worker in workers:
            worker.kill()
        await asyncio.gather(*(worker.stop() for worker in workers))


async def _start(given: ServerInput, certificate: Certificate, sock: socket.socket, handover: Handover) -> Child:
    inbox, *inboxes = (end.fileno() for end in handover.sockets)
    own = WorkerInput(handover.worker, certificate.to_pem(), sock.fileno(), inbox, tuple(inboxes))
    return await Child.start(
        *(sys.executable, "-m", "mixedsched.world.server"),
        settings=INPUT.dump_python(replace(given, worker=own), mode="json"),
        pass_fds=(own.socket, own.inbox, *own.inboxes),
        own_stderr=False,
    )


async def _until_stopped(workers: Sequence[Child], stop: StopRequest, grace_s: float, log: ServerLog) -> None:
    relays = [asyncio.create_task(_relay(number, worker, log)) for number, worker in enumerate(workers)]
    await first_of(stop.asked.wait(), *(asyncio.shield(relay) for relay in relays))
    ended = [number for number, relay in enumerate(relays) if relay.done()]
    asked = stop.asked.is_set()
    for worker in workers:
        worker.end_input()
    over = asyncio.gather(*relays)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_s + _STOP_SLACK_S):
            await first_of(asyncio.shield(over), stop.at_once.wait())
    if not over.done():
        for worker in workers:
            worker.terminate()  # which asks a second time
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over, _STOP_SLACK_S)
    if ended and not asked:
        raise MixedschedError(
            f"worker {ended[0]} of the server has ended by itself", why="see above, or the system's log"
        )


async def _relay(number: int, worker: Child, log: ServerLog) -> None:
    """Pass on a worker's log until the worker has ended."""
    async for line in worker.lines():
        if "request" in line:
            log.request(ServedRequest(**line["request"]), number)
        elif "connection" in line:
            log.connection(ConnectionRecord(**line["connection"]), number)
        elif "schedule" in line:
            log.schedule(ScheduleInterval.from_dict(line["schedule"]), number)
