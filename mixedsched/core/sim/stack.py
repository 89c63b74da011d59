"""Rung `stack`: a page over two real QUIC connections, joined in memory by an emulated link, in virtual time.

The server is `h3.session.Session`, the class that `serve` puts behind UDP, with the scheduler under test; the client is aioquic
with Chromium's signals and receive windows. Congestion control, pacing, loss detection, flow control, header compression and
handshake are the real ones. Navigation (t = 0) is the moment when the client begins its handshake. All hosts of
the page share the one connection. Keys and connection IDs are random, but none of that changes a size or a time: the same
arguments give the same load, to the microsecond.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from aioquic.quic.configuration import QuicConfiguration

from mixedsched.core.h3.certificate import Certificate, make_repeatable_certificate
from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.qlog import QlogTrace, traced
from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.h3.session import Session
from mixedsched.core.learning.recorder import VisitRecorder
from mixedsched.core.learning.visit import SeenNetwork, Visit
from mixedsched.core.link import Link
from mixedsched.core.metrics.paint import work_ms
from mixedsched.core.sim._client import CIPHER_SUITES, Exchange, PageClient
from mixedsched.core.sim._ordered import OrderedReceiver
from mixedsched.core.sim._responder import CERTIFICATE_HOSTS, PageResponder, addresses_of
from mixedsched.core.sim._wire import MICROSECONDS_PER_SECOND, VirtualNetwork
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND, PlayedLoad, ResourceTimes
from mixedsched.core.sim.playback import Discoveries
from mixedsched.errors import PageLoadError, UsageError
from mixedsched.model.congestion import CongestionControl
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import ConfiguredScheme

IDLE_TIMEOUT_S = 30.0  # Chromium's, and that of `serve`
MAX_LOAD_US = 6 * 3600 * 1_000_000  # room for 1 GB over the slowest everyday link


class PacketOrder:
    """Listens to a server's connection and notes which responses each packet carried, run by run.

    A packet that carries several responses counts once for each. Repeats of lost data count like the rest. sent_bytes: stream
    data of responses, repeats included.
    """

    def __init__(self, connection: ScheduledConnection) -> None:
        self.sent_bytes = 0
        self._connection = connection
        self._told = connection.sent
        self._packet = -1
        self._in_packet: list[int] = []
        self._streams: list[int] = []
        self._packets: list[int] = []
        connection.sent = self._note

    def runs(self) -> Iterator[tuple[int, int]]:
        """(stream ID, packets), in order."""
        return zip(self._streams, self._packets, strict=True)

    def _note(self, stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
        self.sent_bytes += size_bytes
        self._told(stream_id, size_bytes, again_bytes, fin)
        if self._packet != self._connection.packet:
            self._packet = self._connection.packet
            self._in_packet.clear()
        if stream_id in self._in_packet:
            return
        self._in_packet.append(stream_id)
        if self._streams and self._streams[-1] == stream_id:
            self._packets[-1] += 1
        else:
            self._streams.append(stream_id)
            self._packets.append(1)


def play_stack(
    discoveries: Discoveries,
    scheme: ConfiguredScheme,
    network: Profile,
    *,
    seed: int,
    congestion_control: str = CongestionControl.CUBIC,
    in_order: bool = False,
    served: Callable[[ServedRequest], None] = lambda _: None,
    qlog: Callable[[bytes], None] | None = None,
    visited: Callable[[Visit], None] | None = None,
    raises: bool = False,
) -> PlayedLoad:
    """Play a page under a scheme over a network. seed: decides which packets the link loses. congestion_control: of both ends.

    in_order: keep responses in one line at the receiver, as over TCP, instead of each for itself.
    served: told what the server made of each request, as the log of `serve` would be. qlog: takes the records of a trace of the
    server's connection, see h3.qlog; t = 0 is when the client begins. visited: takes the load as a server can know it; the
    client then also says where requests come from, and raises. raises: images that layout finds in view, after they were asked
    for, become more urgent by a PRIORITY_UPDATE, as in Chromium, where the browser model has that layout.
    The load's facts: packets_seen, packets_lost: numbers that the client could read, and lower ones that it never did.
    loss_runs: how often so many of these in a row. retransmitted_bytes: response data sent again, needed or not.
    connection_hol_bytes: see metrics.hol. link_down, link_up: LinkCounters, in packets, and in bytes with the headers that the
    profile adds. With in_order also hol_blocking, and inter_stream_held_bytes: OrderedReceiver.held_bytes.

    Raises UsageError for an unknown congestion control, PageLoadError where the network does not let the load come to an end.
    """
    _refuse_unknown(congestion_control)
    addresses, idle_s = addresses_of(discoveries.page), _idle_timeout_s(discoveries)
    late, tells = network.down.may_reorder, visited is not None
    client = PageClient(discoveries, addresses, congestion_control, idle_s, reordered=late, tells=tells, raises=raises)
    configuration = _configuration(discoveries, congestion_control)
    recorders = _recorders(visited, lambda: SeenNetwork.of(session.quic.round_trips_ms))
    events = SessionEvents(lambda _: None, lambda _: None, served, decisions=recorders)
    trace: QlogTrace | None = None
    if qlog is not None:
        trace = QlogTrace(
            original_id=client.quic.original_destination_connection_id,
            clock_s=lambda: wire.now_us / MICROSECONDS_PER_SECOND,
            write=qlog,
            title=f"{discoveries.page.name}, {scheme.label}, {network.name}, seed {seed}",
        )
        configuration, events = traced(trace, configuration, events)
    responder, first_id = PageResponder(discoveries.page, addresses), client.quic.original_destination_connection_id
    session = _session(configuration, scheme, responder, events, first_id)
    order = PacketOrder(session.quic)
    if in_order:
        client.ordered = OrderedReceiver(session.quic)
    wire = VirtualNetwork(client, session, network, seed, client.quic.may_wait)
    try:
        _run(client, wire, network, len(discoveries.page.resources))
    finally:
        if trace is not None:
            trace.flush()
    client.finish()
    for recorder in recorders:
        recorder.finish()
    facts = {"link": network.name, "seed": seed, "congestion_control": congestion_control, **_seen(client, wire, order)}
    return _played(discoveries.page, scheme.label, client, order, facts)


def _recorders(
    visited: Callable[[Visit], None] | None, connection: Callable[[], SeenNetwork]
) -> tuple[VisitRecorder, ...]:
    return () if visited is None else (VisitRecorder(visited, connection=connection),)


def _refuse_unknown(congestion_control: str) -> None:
    if congestion_control not in tuple(CongestionControl):
        known = ", ".join(CongestionControl)
        raise UsageError(f"there is no congestion control '{congestion_control}'", fix=f"choose one of {known}")


def _session(
    configuration: QuicConfiguration,
    scheme: ConfiguredScheme,
    responder: PageResponder,
    events: SessionEvents,
    client_id: bytes,
) -> Session:
    return Session(
        configuration=configuration,
        scheme=scheme,
        responder=responder,
        events=events,
        number=1,
        now_s=0.0,
        original_destination_connection_id=client_id,
    )


def _played(page: Page, scheme: str, client: PageClient, order: PacketOrder, facts: Mapping[str, Any]) -> PlayedLoad:
    exchanges, resources = client.exchanges, page.resources
    return PlayedLoad(
        page=page,
        scheme=scheme,
        rung="stack",
        send_buffer_bytes=0,
        resources=tuple(_times(resources[item.index].id, item) for item in exchanges if item.complete_us is not None),
        order=tuple((resources[exchanges[stream_id // 4].index].id, packets) for stream_id, packets in order.runs()),
        hol_bytes=client.hol.stream_hol_bytes,
        facts=facts,
    )


def _seen(client: PageClient, wire: VirtualNetwork, order: PacketOrder) -> dict[str, Any]:
    """Facts of the connection and of the link, see play_stack."""
    return {
        "http_version": "h3",
        "connections": 1,
        "connected_ms": _ms(client.connected_us),
        "packets_seen": client.hol.packets_seen,
        "packets_lost": client.hol.packets_lost,
        "loss_runs": dict(sorted(client.hol.loss_runs.items())),
        "retransmitted_bytes": order.sent_bytes - client.stream_bytes,
        "connection_hol_bytes": client.hol.connection_hol_bytes,
        "link_down": _counts(wire.down),
        "link_up": _counts(wire.up),
        **({"hol_blocking": True, "inter_stream_held_bytes": client.ordered.held_bytes} if client.ordered else {}),
    }


def _configuration(discoveries: Discoveries, congestion_control: str) -> QuicConfiguration:
    """The server's, as `serve` sets it up."""
    return QuicConfiguration(
        is_client=False,
        alpn_protocols=["h3"],
        certificate=_certificate().certificate,
        private_key=_certificate().private_key,
        cipher_suites=CIPHER_SUITES,
        congestion_control_algorithm=congestion_control,
        idle_timeout=_idle_timeout_s(discoveries),
    )


def _idle_timeout_s(discoveries: Discoveries) -> float:
    """Chromium's, and the longest pause that page and browser make themselves: a browser would connect anew after that."""
    delay_ms = max(item.delay_ms for item in discoveries.page.resources)
    return (
        IDLE_TIMEOUT_S
        + (delay_ms + sum(work_ms(item, discoveries.model) for item in discoveries.page.resources)) / 1000
    )


def _run(client: PageClient, wire: VirtualNetwork, network: Profile, resources: int) -> None:
    """Let time pass until the page is complete."""
    wire.flush()
    while not client.is_finished:
        events = (wire.next_us(), client.next_request_us())
        due_us = min((at_us for at_us in events if at_us is not None), default=None)
        if client.terminated is not None or due_us is None or due_us > MAX_LOAD_US:
            raise _given_up(client, wire, network, resources)
        wire.advance(max(due_us, wire.now_us))
        request_us = client.next_request_us()
        if request_us is not None and request_us <= wire.now_us:
            client.send_requests(wire.now_us)
            wire.wake_client()
        wire.flush()


def _given_up(client: PageClient, wire: VirtualNetwork, network: Profile, resources: int) -> PageLoadError:
    complete = sum(item.complete_us is not None for item in client.exchanges)
    reason = client.terminated.reason_phrase.lower() if client.terminated else "it goes on and on"
    return PageLoadError(
        f"the page cannot be loaded over '{network.name}'",
        why=f"{reason} after {wire.now_us / 1_000_000:.0f} s, with {complete} of {resources} responses complete",
        fix="choose a network that loses less, or a faster one",
    )


@cache
def _certificate() -> Certificate:
    """Made once: it costs more than a handshake."""
    return make_repeatable_certificate(CERTIFICATE_HOSTS)


def _times(name: str, exchange: Exchange) -> ResourceTimes:
    return ResourceTimes(name, _ms(exchange.requested_us), _ms(exchange.first_byte_us), _ms(exchange.complete_us))


def _ms(time_us: int | None) -> float:
    assert time_us is not None, "asked for when the load is complete"
    return time_us / MICROSECONDS_PER_MILLISECOND


def _counts(link: Link[bytes]) -> dict[str, Any]:
    """Counters of what the link carried, dropped and lost, in packets and in bytes on the link."""
    counts = asdict(link.counters)
    counts["bytes"] = counts.pop("size_bytes")
    return counts
