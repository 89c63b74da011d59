"""What a packet costs the server, without sockets: the scheduler seam against stock aioquic, same bodies, same run.

The client acknowledges every second packet, as most do. Its own time is not counted, and it is the same for both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from benchmarks._command import run_alone
from mixedsched.core.h3.certificate import make_repeatable_certificate
from mixedsched.core.h3.response import BytesBody
from mixedsched.core.h3.seam import ObservedConnection, ScheduledConnection
from mixedsched.core.schedulers import SCHEMES

CLIENT, SERVER = ("192.0.2.1", 1), ("192.0.2.2", 443)
TOTAL_BYTES = 4_000_000
WINDOW_BYTES = 64 * 1024 * 1024
STEP_S = 0.0011  # virtual time per two packets
IDLE = 512
ROUNDS = 5


def connections(scheduled: bool) -> tuple[QuicConnection, QuicConnection]:
    """A client and a server before their handshake."""
    certificate = make_repeatable_certificate(["bench.test"])
    client = ObservedConnection(
        configuration=QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            server_name="bench.test",
            verify_mode=0,
            max_data=WINDOW_BYTES,
            max_stream_data=WINDOW_BYTES,
        ),
        received=lambda *_: None,
    )
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=["h3"], certificate=certificate.certificate, private_key=certificate.private_key
    )
    destination = client.original_destination_connection_id
    if not scheduled:
        return client, QuicConnection(configuration=configuration, original_destination_connection_id=destination)
    server = ScheduledConnection(
        configuration=configuration,
        scheduler=SCHEMES["stock"].create({}),
        sent=lambda *_: None,
        original_destination_connection_id=destination,
    )
    return client, server


class Transfer:
    """One connection, and what its server has cost so far: spent_s of `packets` packets."""

    def __init__(self, scheduled: bool) -> None:
        self.client, self.server = connections(scheduled)
        self.spent_s, self.packets = 0.0, 0
        self._now_s = 0.0
        self._under_way: list[bytes] = []
        self.client.connect(SERVER, now=0.0)
        while not self.client._handshake_confirmed:
            self._step(at_once=True)

    def open(self, streams: int) -> None:
        """Have the client open so many streams, and the server know of them."""
        for index in range(streams):
            self.client.send_stream_data(4 * index, b"?")
        while len(self.server._streams) < streams:
            self._step(at_once=True)

    def cost_us(self, streams: int) -> float:
        """Answer on the first so many streams, TOTAL_BYTES in all. The server's time per packet."""
        body = bytes(TOTAL_BYTES // streams)
        for index in range(streams):
            if isinstance(self.server, ScheduledConnection):
                self.server.open_response(4 * index, None, BytesBody(body))
                self.server.send_stream_data(4 * index, b"")
            else:
                self.server.send_stream_data(4 * index, body, end_stream=True)
        self.spent_s, self.packets = 0.0, 0
        received = 0
        while received < streams * len(body):
            received += self._step()
        return self.spent_s / self.packets * 1e6

    def _step(self, at_once: bool = False) -> int:
        """Two packets reach the client (all: at_once) and what it says the server. Returns how much data has arrived."""
        self._now_s += STEP_S
        for connection in (self.client, self.server):
            timer_s = connection.get_timer()
            if timer_s is not None and timer_s <= self._now_s:
                connection.handle_timer(now=self._now_s)
        answers = self.client.datagrams_to_send(now=self._now_s)
        started_s = time.thread_time()
        for data, _ in answers:
            self.server.receive_datagram(data, CLIENT, now=self._now_s)
        while self.server.next_event() is not None:
            pass
        datagrams = self.server.datagrams_to_send(now=self._now_s)
        self.spent_s += time.thread_time() - started_s
        self.packets += len(datagrams)
        self._under_way += [data for data, _ in datagrams]
        arriving = None if at_once else 2
        for data in self._under_way[:arriving]:
            self.client.receive_datagram(data, SERVER, now=self._now_s)
        del self._under_way[:arriving]
        received = 0
        while (event := self.client.next_event()) is not None:
            received += len(getattr(event, "data", b""))
        return received


def cost_us(scheduled: bool, streams: int, idle: int = 0) -> float:
    transfer = Transfer(scheduled)
    transfer.client._remote_max_streams_bidi = transfer.server._local_max_streams_bidi.value = 4 * IDLE
    transfer.open(streams + idle)
    return transfer.cost_us(streams)


def run() -> Iterator[str]:
    cases = {"  1 response": (1, 0), "100 responses": (100, 0), "  1 response, 512 idle streams": (1, IDLE)}
    rows: dict[str, list[tuple[float, float]]] = {label: [] for label in cases}
    for _ in range(ROUNDS):  # in turns: a busy moment of the machine then spoils one repeat of each, not all of one
        for label, case in cases.items():
            rows[label].append((cost_us(True, *case), cost_us(False, *case)))
    best = {label: [min(costs) for costs in zip(*row, strict=True)] for label, row in rows.items()}
    alone = best["  1 response"]
    for label, (ours_us, stock_us) in best.items():
        yield (
            f"{label:30} {ours_us:5.1f} us per packet with the seam, {stock_us:6.1f} without: x {stock_us / ours_us:.2f}"
            f" as fast; x {ours_us / alone[0]:.2f} and x {stock_us / alone[1]:.2f} of one response alone"
        )


if __name__ == "__main__":
    run_alone("transfer", __doc__, run)
