"""What is made of what a client has seen of a server."""

from __future__ import annotations

import pylsqpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.conform import wire
from mixedsched.core.h3.conform.frames import ASKED_STREAM, FRAME_PROBES, FrameProbe, judge_frames
from mixedsched.core.h3.conform.heads import HeadReader
from mixedsched.core.h3.conform.orders import ORDER_PROBES, OrderProbe, is_seen_enough
from mixedsched.core.h3.conform.seen import Closed, SeenConnection, shares_within
from mixedsched.core.h3.conform.verdict import RuleVerdict, over_tries

PACKET_BYTES = 1000
FILE_BYTES = 1_000_000


def seen_of(order: str) -> SeenConnection:
    """Packets of one frame each, by letter: A is stream 0, B 4, C 8."""
    offsets: dict[int, int] = {}
    seen = SeenConnection()
    for number, letter in enumerate(order):
        stream = 4 * (ord(letter) - ord("A"))
        seen.packets.append((number, ((stream, offsets.get(stream, 0), PACKET_BYTES),)))
        offsets[stream] = offsets.get(stream, 0) + PACKET_BYTES
    seen.received_bytes = len(order) * PACKET_BYTES
    return seen


def probe_of(rule: str, what: str = "") -> OrderProbe:
    return next(probe for probe in ORDER_PROBES if probe.rule == rule and what in probe.what)


def frame_probe(what: str) -> FrameProbe:
    return next(probe for probe in FRAME_PROBES if probe.what == what)


@given(st.text("ABC", max_size=40), st.randoms())
def test_the_order_is_that_of_packet_numbers_however_packets_arrive(order: str, rng: object) -> None:
    seen = seen_of(order)
    rng.shuffle(seen.packets)  # type: ignore[attr-defined]
    assert seen.order() == seen_of(order).order()


@given(st.text("ABC", min_size=1, max_size=40), st.data())
def test_what_is_sent_again_counts_once(order: str, data: st.DataObject) -> None:
    seen = seen_of(order)
    again = data.draw(st.sampled_from(seen.packets))
    seen.packets.append((len(order) + 5, again[1]))
    assert seen.order() == seen_of(order).order()


@given(st.text("ABC", min_size=20, max_size=60), st.integers(0, 10), st.integers(1, 20))
def test_shares_add_up_to_one_or_are_not_told(order: str, skip: int, look: int) -> None:
    shares = shares_within(seen_of(order).order(), (0, 4, 8), skip * PACKET_BYTES, look * PACKET_BYTES)
    assert not shares or sum(shares.values()) == pytest.approx(1)


def test_too_little_data_is_no_verdict() -> None:
    for probe in ORDER_PROBES:
        assert probe.judge(seen_of("AB" * 20)).word == "unclear", probe.what


@pytest.mark.parametrize(
    ("rule", "what", "order", "word"),
    [
        ("43", "at once", "ABC" * 20 + "C" * 400, "right"),
        ("43", "at once", "ABC" * 150, "wrong"),
        ("43", "while", "A" * 300 + "B" * 300, "right"),
        ("43", "while", "A" * 300 + "AB" * 200, "wrong"),
        ("43", "while", "A" * 1600, "wrong"),
        ("43", "while", "A" * 1000, "unclear"),
        ("44", "", "A" * 400, "right"),
        ("44", "", "ABC" * 150, "wrong"),
        ("45", "", "ABC" * 150, "right"),
        ("45", "", "AABC" * 100, "wrong"),
        ("46", "", "AB" * 200, "right"),
        ("46", "", "A" * 400, "wrong"),
        ("46", "", "B" * 400, "wrong"),
        ("37", "", "A" * 400 + "B" * 500, "right"),
        ("37", "", "AB" * 450, "wrong"),
    ],
)
def test_orders_are_judged_by_shares_behind_a_free_beginning(rule: str, what: str, order: str, word: str) -> None:
    assert probe_of(rule, what).judge(seen_of(order)).word == word


def test_a_late_response_behind_the_end_of_the_other_has_not_overtaken_it() -> None:
    probe = probe_of("43", "while")
    seen = seen_of("A" * 1000 + "B" * 256)
    seen.ended = {0}
    assert probe.judge(seen) == RuleVerdict("unclear", "the other response ended before")
    seen = seen_of("A" * 300 + "B" * 256 + "A")
    seen.ended = {0}
    assert probe.judge(seen).word == "right"


def test_a_late_request_has_been_seen_enough_a_window_after_its_first_byte() -> None:
    probe = probe_of("43", "while")
    assert not is_seen_enough(probe, seen_of("A" * 900 + "B" * 255))
    assert is_seen_enough(probe, seen_of("A" * 900 + "B" * 256))
    assert is_seen_enough(probe, seen_of("A" * 1600))


@pytest.mark.parametrize("probe", ORDER_PROBES, ids=lambda probe: probe.what)
def test_no_response_of_a_large_enough_file_ends_before_the_verdict(probe: OrderProbe) -> None:
    assert probe.most_bytes < 2 * FILE_BYTES
    assert sum(len(piece.data) for piece in probe.pieces_for("a.test", "/big")[1:]) < 1100, "requests share a packet"


def test_an_error_by_another_code_is_told_from_none_at_all() -> None:
    probe = frame_probe("second SETTINGS")
    right, other = SeenConnection(closed=Closed(0x105, True, "")), SeenConnection(closed=Closed(0x102, True, ""))
    quic, lives = SeenConnection(closed=Closed(0x105, False, "")), SeenConnection(statuses={ASKED_STREAM: 200})
    assert [judge_frames(probe, seen).word for seen in (right, other, quic, lives)] == [
        "right",
        "other code",
        "other code",
        "wrong",
    ]
    assert judge_frames(probe, SeenConnection()).word == "unclear", (
        "neither closed nor answered: nothing shows that it was read"
    )


def test_what_must_be_ignored_is_right_if_the_next_request_is_answered() -> None:
    probe = frame_probe("unknown frame and stream types")
    assert judge_frames(probe, SeenConnection(statuses={ASKED_STREAM: 200})).word == "right"
    assert judge_frames(probe, SeenConnection(resets={ASKED_STREAM: 0x10E})) == RuleVerdict(
        "wrong", "cuts stream 4 off with H3_MESSAGE_ERROR"
    )
    assert judge_frames(probe, SeenConnection(closed=Closed(0x103, True, ""))).word == "wrong"


def test_several_tries_agree_or_are_by_chance() -> None:
    right, wrong, unclear = RuleVerdict("right", "a"), RuleVerdict("wrong", "b"), RuleVerdict("unclear", "c")
    assert over_tries([right, unclear, right]) == right
    assert over_tries([wrong, wrong]) == wrong
    assert over_tries([right, wrong, right]) == RuleVerdict("by chance", "right in 2 of 3; else b")
    assert over_tries([unclear, unclear]) == unclear


@given(st.integers(1, 30))
def test_a_head_is_read_from_any_pieces_behind_interim_responses(size: int) -> None:
    def section(*fields: tuple[bytes, bytes]) -> bytes:
        return wire.frame(1, pylsqpack.Encoder().encode(0, list(fields))[1])

    final = ((b":status", b"200"), (b"server", b"x"), (b"content-length", b"12"))
    data = wire.frame(0x21, b"grease") + section((b":status", b"103")) + section(*final) + wire.frame(0, b"body")
    reader = HeadReader(pylsqpack.Decoder(0, 0), 0)
    found = [head for at in range(0, len(data), size) if (head := reader.feed(data[at : at + size])) is not None]
    assert [(head.status, head.server, head.body_bytes) for head in found] == [(200, "x", 12)]


def test_names_of_codes_are_those_of_the_standards() -> None:
    assert all(probe.code is None or probe.code in set(ErrorCode) for probe in FRAME_PROBES)
    assert frame_probe("control stream ends").wanted == "closes with H3_CLOSED_CRITICAL_STREAM"
