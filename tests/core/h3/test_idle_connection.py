"""What a connection holds when its handshake is confirmed and its responses are over, and what late packets find there."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import pytest
from aioquic import tls
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted
from aioquic.quic.packet import QuicErrorCode
from aioquic.quic.recovery import QuicPacketNumberWindow
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.h3.seam._number_window import NumberWindow
from mixedsched.core.sim._wire import CLIENT, SERVER
from tests.core.h3.pair import Pair, pattern
from tests.core.h3.stock_pair import pair_of
from tests.examples import examples

SIZE = 3000
_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)


def answered(responses: int = 1) -> Pair:
    """A pair whose client has got so many responses, and asks for nothing now."""
    pair = Pair("eps").connect()
    ask(pair, responses)
    pair.run(until_s=pair.now_s + 5)
    return pair


def ask(pair: Pair, responses: int = 1) -> None:
    ids = [pair.request(f"/{SIZE}", f"u={index % 8}") for index in range(responses)]
    pair.finish()
    assert all(bytes(pair.bodies[stream_id]) == pattern(SIZE) for stream_id in ids)


def reached(root: object) -> dict[int, object]:
    found: dict[int, object] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) not in found and not isinstance(thing, _SHARED):
            found[id(thing)] = thing
            waiting += gc.get_referents(thing)
    return found


def held(pair: Pair) -> list[object]:
    """The objects of the server's session that no other session has."""
    shared = reached(answered().session)
    return [thing for number, thing in reached(pair.session).items() if number not in shared]


def kinds(pair: Pair) -> Counter[str]:
    return Counter(type(thing).__name__ for thing in held(pair))


@pytest.mark.parametrize(
    ("kind", "count", "why"),
    [
        ("Buffer", 0, "for messages of TLS that are to be sent"),
        ("KeySchedule", 0, "for keys that are derived already"),
        ("Hash", 0, "of the handshake's messages"),
        ("X25519PrivateKey", 0, "whose secret is agreed"),
        ("Context", 0, "TLS with all of these"),
        ("HelloReader", 0, "of a message that comes once"),
        ("CryptoPair", 1, "the keys of the application's packets"),
        ("AESGCM", 2, "both ways"),
        ("QuicPacketSpace", 1, "the application's"),
        ("QuicStream", 7, "TLS messages of the application's packets; control, encoder and decoder, both ways"),
        ("ServerExchange", 0, "all requests are over"),
    ],
)
def test_an_idle_connection_holds_no_more_of_a_kind_than_it_needs(kind: str, count: int, why: str) -> None:
    assert kinds(answered())[kind] == count, why


def test_an_idle_connection_holds_handlers_of_the_frames_that_came_only() -> None:
    quic = answered().session.quic
    table = quic._QuicConnection__frame_handlers  # type: ignore[attr-defined]
    assert 0 < len(table) < 16


def test_frames_are_handled_as_by_aioquic_whichever_comes() -> None:
    _, stock = pair_of("aioquic")
    _, ours = pair_of("stock")
    table = ours._QuicConnection__frame_handlers  # type: ignore[attr-defined]
    for frame_type, (handler, epochs) in stock._QuicConnection__frame_handlers.items():  # type: ignore[attr-defined]
        assert table[frame_type] == (getattr(ours, handler.__name__), epochs)
    with pytest.raises(KeyError):
        table[0x21]


def test_attributes_of_a_connection_fit_the_smaller_table() -> None:
    """An 86th would double its size: a reason to keep the seam's own in slots, not to forbid it."""
    assert sys.getsizeof(vars(answered().session.quic)) < 2500


def test_an_idle_connection_is_small_however_many_responses_it_has_sent() -> None:
    few, many = (sum(map(sys.getsizeof, held(answered(responses)))) for responses in (1, 100))
    assert few < 40_000
    assert many < 1.2 * few


class Recorded(Pair):
    """Keeps what the client sends."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        super().__init__("eps")
        send = self.client.datagrams_to_send

        def recorded(now: float) -> list[tuple[bytes, Any]]:
            datagrams = send(now=now)
            self.sent += [data for data, _ in datagrams]
            return datagrams

        self.client.datagrams_to_send = recorded  # type: ignore[method-assign]


def test_late_packets_of_the_handshake_change_nothing() -> None:
    pair = Recorded()
    pair.connect()
    assert any(data[0] & 0x80 for data in pair.sent), "there are some with long headers"
    ask(pair)
    for data in tuple(pair.sent):
        pair.session.receive(data, CLIENT, pair.now_s)
    assert [data for data, _ in pair.session.send(pair.now_s) if data[0] & 0x80] == []
    ask(pair)
    assert pair.terminated is None


@pytest.mark.parametrize("epoch", [tls.Epoch.INITIAL, tls.Epoch.HANDSHAKE, tls.Epoch.ZERO_RTT])
def test_keys_of_the_handshake_are_gone(epoch: tls.Epoch) -> None:
    keys = answered().session.quic._cryptos[epoch]
    assert not keys.recv.is_valid()
    assert not keys.send.is_valid()


def test_a_lost_flight_of_the_handshake_is_repeated_and_then_dropped() -> None:
    for seed in range(1, 6):
        pair = Pair("eps", loss_ratio=0.2, seed=seed)
        ask_after_handshake(pair)
        assert kinds(pair)["Buffer"] == 0


def ask_after_handshake(pair: Pair) -> None:
    pair.run(until_s=20)
    ask(pair)
    pair.run(until_s=pair.now_s + 5)


@pytest.mark.parametrize("updates", ["client", "server"])
def test_an_idle_connection_follows_a_key_update(updates: str) -> None:
    pair = answered()
    (pair.client if updates == "client" else pair.session.quic).request_key_update()
    ask(pair, 3)
    assert pair.session.quic._cryptos[tls.Epoch.ONE_RTT].key_phase == 1
    ask(pair)


def test_an_idle_connection_follows_a_client_that_moves() -> None:
    pair = answered()
    moved = ("192.0.2.9", 4000)
    receive = pair.session.receive
    pair.session.receive = lambda data, _, now_s: receive(data, moved, now_s)  # type: ignore[method-assign]
    ask(pair, 3)
    path = pair.session.quic._network_paths[0]
    assert (path.addr, path.is_validated) == (moved, True)


def test_a_message_of_tls_behind_the_handshake_is_refused_as_by_aioquic() -> None:
    pair = answered()
    finished = b"\x14\x00\x00\x04abcd"
    pair.client._crypto_streams[tls.Epoch.ONE_RTT].sender.write(finished[:3])
    pair.run(until_s=pair.now_s + 1)
    assert pair.terminated is None, "it is not complete"
    pair.client._crypto_streams[tls.Epoch.ONE_RTT].sender.write(finished[3:])
    pair.run(until_s=pair.now_s + 1)
    assert pair.terminated is not None
    assert pair.terminated.error_code == QuicErrorCode.CRYPTO_ERROR + tls.AlertDescription.unexpected_message


def test_a_closing_connection_says_so_and_ends() -> None:
    pair = answered()
    pair.session.close()
    pair.run(until_s=pair.now_s + 5)
    assert pair.terminated is not None
    assert pair.session.is_closed


def exchange(client: QuicConnection, server: QuicConnection) -> list[HandshakeCompleted]:
    """Both in turns for a second; what the server says of its handshake."""
    told = []
    for step in range(100):
        now = 0.01 * step
        for data, _ in client.datagrams_to_send(now=now):
            server.receive_datagram(data, CLIENT, now=now)
        for data, _ in server.datagrams_to_send(now=now):
            client.receive_datagram(data, SERVER, now=now)
        while (event := server.next_event()) is not None:
            told += [event] if isinstance(event, HandshakeCompleted) else []
        for end in (client, server):
            if (timer := end.get_timer()) is not None and timer <= now:
                end.handle_timer(now=now)
    return told


def test_sessions_can_be_resumed_with_early_data() -> None:
    tickets: dict[bytes, tls.SessionTicket] = {}
    kept: list[tls.SessionTicket] = []

    def run(ticket: tls.SessionTicket | None) -> tuple[HandshakeCompleted, ScheduledConnection]:
        client, server = pair_of("stock")
        assert isinstance(server, ScheduledConnection)
        client._configuration.session_ticket = ticket
        client._session_ticket_handler = kept.append
        server._session_ticket_fetcher = lambda label: tickets.pop(label, None)
        server._session_ticket_handler = lambda made: tickets.update({made.ticket: made})
        client.connect(SERVER, now=0.0)
        if ticket is not None:
            client.send_stream_data(0, b"early", end_stream=True)
        (told,) = exchange(client, server)
        return told, server

    first, _ = run(None)
    assert not first.session_resumed
    second, server = run(kept[0])
    assert second.session_resumed
    assert second.early_data_accepted
    assert server.tls.session_resumed
    assert not server._cryptos[tls.Epoch.ZERO_RTT].recv.is_valid()


@examples(200)
@given(st.lists(st.one_of(st.integers(0, 400), st.integers(0, 2**62 - 1)), max_size=200), st.integers(0, 400))
def test_numbers_are_remembered_as_by_aioquic(numbers: list[int], asked: int) -> None:
    ours, stock = NumberWindow(), QuicPacketNumberWindow()
    for number in numbers:
        assert (number in ours) == (number in stock)
        ours.add(number)
        stock.add(number)
        assert (asked in ours) == (asked in stock)


def test_numbers_take_as_much_room_after_a_long_transfer_as_after_a_short_one() -> None:
    window = NumberWindow()
    for number in range(0, 10_000, 3):
        window.add(number)
    assert sum(map(sys.getsizeof, reached(window).values())) < 500
