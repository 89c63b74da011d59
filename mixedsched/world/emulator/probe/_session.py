"""Two probe processes on an emulated network, and what they send each other over a fresh link."""

import asyncio
import base64
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator.backend import Address, Backend
from mixedsched.world.emulator.probe.end import ROW, Sending
from mixedsched.world.emulator.probe.findings import ProbeArrivals
from mixedsched.world.system.children import Child, child

_ANSWER_S = 30.0
_HELLOS = 8
_HELLO_WAIT_S = 1.5  # beyond the round trip; a machine must be slow to miss that


@dataclass(frozen=True, slots=True)
class ProbeExchange:
    """The arrivals over one link, by direction ("down", "up"), and the counters of the back end."""

    arrivals: Mapping[str, ProbeArrivals]
    counters: Mapping[str, Any]

    def overflowed(self, direction: str) -> int:
        """Packets that met a full queue, or never reached the link, according to the back end."""
        counted = self.counters.get(direction, {})
        return sum(int(counted.get(fate, 0)) for fate in ("overflowed", "missed", "dropped_at_port"))


class ProbedNetwork:
    """A back end with a probe where the server is and one where the client is."""

    def __init__(self, backend: Backend, server: Child, client: Child) -> None:
        self._backend = backend
        self._server, self._client = server, client
        self._token = 0

    async def exchange(
        self, seed: int, sendings: Mapping[str, Sending], settled_s: float, delay_s: float = 0.0
    ) -> ProbeExchange:
        """Send over a fresh link with this seed, both directions at once, and wait for all arrivals.

        sendings: by direction. settled_s: how long to wait after the last packet. delay_s: of a round trip. Raises
        MixedschedError if nothing passes.
        """
        host, port = self._server.first["listening"]
        server: Address = host, port
        ends = {"down": (self._server, self._client), "up": (self._client, self._server)}
        async with self._backend.link(server, seed) as link:
            self._client.tell({"op": "peer", "address": list(link.address)})
            await self._greet(delay_s)
            for side, sending in sendings.items():
                ends[side][0].tell({"op": "send", **asdict(sending)})
            for side, sending in sendings.items():
                await _answer(ends[side][0], ["sent"], 2 * sending.duration_ns / 1e9 + _ANSWER_S)
            await asyncio.sleep(settled_s)
            arrivals = {side: await _arrivals(ends[side][1], sending) for side, sending in sendings.items()}
        return ProbeExchange(arrivals, link.counters)

    async def _greet(self, delay_s: float) -> None:
        """Let the server learn where the client is: back ends may show it another address than the client's own."""
        for _ in range(_HELLOS):
            self._token += 1
            self._client.tell({"op": "hello", "token": self._token})
            heard = await self._server.next_line(delay_s + _HELLO_WAIT_S)
            while heard is not None and heard.get("heard") != self._token:
                heard = await self._server.next_line(delay_s + _HELLO_WAIT_S)  # an earlier one, doubled or late
            if heard is not None:
                return
        raise MixedschedError("nothing passes the link", why=f"of {_HELLOS} packets from client to server none arrived")


@asynccontextmanager
async def probed(backend: Backend) -> AsyncIterator[ProbedNetwork]:
    """Start a probe at either side; they stop with the `async with`."""
    async with AsyncExitStack() as stack:

        async def end(host: str, prefix: tuple[str, ...]) -> Child:
            module = "mixedsched.world.emulator.probe.end"
            running = child(module, failure="a probe did not start", settings={"host": host}, prefix=prefix)
            return await stack.enter_async_context(running)

        server = await end(backend.server_host, backend.server_prefix)
        anywhere = "::" if ":" in backend.server_host else "0.0.0.0"  # noqa: S104 - whichever leads to the link
        client = await end(anywhere, backend.client_prefix)
        yield ProbedNetwork(backend, server, client)


async def _arrivals(receiver: Child, sending: Sending) -> ProbeArrivals:
    receiver.tell({"op": "arrivals"})
    data = b""
    while "arrived" not in (line := await _answer(receiver, ("rows", "arrived"), _ANSWER_S)):
        data += base64.b64decode(line["rows"])
    rows = np.frombuffer(data, dtype=np.int64).reshape(-1, len(ROW))
    rows = rows[rows[:, ROW.index("stream")] == sending.stream]
    _, numbers, sent_ns, received_ns = rows.T
    return ProbeArrivals(sending, numbers, sent_ns, received_ns)


async def _answer(end: Child, keys: Collection[str], limit_s: float) -> dict[str, Any]:
    """The next line with one of these keys; others (a doubled hello) are passed over. Raises MixedschedError if none comes."""
    while (line := await end.next_line(limit_s)) is not None:
        if not line.keys().isdisjoint(keys):
            return line
    raise MixedschedError("a probe gave no answer", why=f"waited {limit_s:.0f} s for '{' or '.join(keys)}'")
