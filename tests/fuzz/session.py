"""A hostile client against a live session: real QUIC on both sides, in virtual time, with loss."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from mixedsched.core.h3.response import BytesBody, RequestHead, Response
from tests.core.h3.pair import Pair, pattern
from tests.fuzz import mutation
from tests.fuzz.seeds import update
from tests.fuzz.trial import require

_CLOSE_CODES = {0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10A, 0x200, 0x201, 0x202}


class Anything:
    """A responder for paths that may be anything: those that are no number answer with 100 bytes."""

    def respond(self, head: RequestHead) -> Response:
        digits = head.path.strip("/")
        size_bytes = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 100
        return Response(200, [(b"content-length", b"%d" % size_bytes)], BytesBody(pattern(size_bytes)), "image/png")


def try_session(number: int, loss_ratio: float) -> int | None:
    """Play the connection that a number stands for; returns the code with which it was closed, None if it lived.

    Raises RuleBrokenError if it was closed with a code that cannot be right, or if anything of its streams is kept.
    """
    pair = hostile_session(number, loss_ratio)
    session = pair.session
    if pair.terminated is not None:
        require(pair.terminated.error_code in _CLOSE_CODES, f"closed with {pair.terminated.error_code:#x}")
        require(pair.terminated.frame_type is None, "closed by QUIC and not by HTTP/3")
    if session.quic.has_ended:  # told or not: the packet that says so may be lost
        pair.run(until_s=pair.now_s + 5.0)
        require(session.is_closed, "the session does not end")
        require(session._exchanges == {}, "exchanges stay")
        return pair.terminated.error_code if pair.terminated is not None else 0
    require(pair.terminated is None, "the session does not know that it was closed")
    require(session.http is not None and session.http._requests == {}, "requests stay")
    require(session._exchanges == {}, "exchanges stay")
    require(len(session._signals._early) <= session.quic.request_stream_limit, "too many early updates are kept")
    require(all(stream_id % 4 for stream_id in session.quic._streams), "streams stay")
    return None


def send_pieces(pair: Pair, stream_id: int, data: bytes, rng: Random) -> bool:
    """Send a request stream in pieces, with pauses; True if it is over: ended, or given up since the server refuses it."""
    for start, end in pairwise([*mutation.cuts(len(data), rng)[:6], len(data)]):
        pair.client.send_stream_data(stream_id, data[start:end])
        if rng.random() < 0.3:
            pair.run(until_s=pair.now_s + 0.01)
            stream = pair.client._streams.get(stream_id)
            if stream is None or stream.sender._reset_error_code is not None:
                return True
    ends = rng.random() < 0.8
    if ends:
        pair.client.send_stream_data(stream_id, b"", end_stream=True)
    return ends


def hostile_session(number: int, loss_ratio: float) -> Pair:
    """A client that opens streams with mutated contents, resets and stops them at odd moments; then ends them all."""
    rng = Random(number)
    wildness = rng.choice((0.05, 0.2, 1.0))
    pair = Pair(
        rng.choice(("eps", "mixed", "stock")), loss_ratio=loss_ratio, responder=Anything(), seed=number % 1000 + 1
    ).connect()
    client = pair.client
    sent_to: set[int] = set()
    over: set[int] = set()
    # aioquic's HTTP/3 layer would trip over its own streams being misused, and has nothing to say here.
    pair.h3.handle_event = lambda event: []  # type: ignore[method-assign]
    control, encoder = pair.h3._local_control_stream_id, pair.h3._local_encoder_stream_id
    assert control is not None
    assert encoder is not None
    for index in range(rng.randrange(1, 12)):
        match rng.randrange(8):
            case 0:
                data, _ = mutation.control_stream(rng, wildness)
                client.send_stream_data(control, data[2:])
            case 1:
                client.send_stream_data(encoder, mutation.encoder_stream(rng, wildness)[0])
            case 2:
                client.send_stream_data(
                    control, update(4 * rng.randrange(300), rng.choice((b"u=1", b"i", b"u=9"))).encode()
                )
            case 3 if sent_to - over:
                stream_id = rng.choice(sorted(sent_to - over))
                client.reset_stream(stream_id, 0x10C)
                over.add(stream_id)
            case 4 if sent_to & client._streams.keys():
                client.stop_stream(rng.choice(sorted(sent_to & client._streams.keys())), 0x10C)
            case _:
                stream_id = client.get_next_available_stream_id()
                data, _ = mutation.request_stream(index, rng, wildness)
                sent_to.add(stream_id)
                if send_pieces(pair, stream_id, data, rng):
                    over.add(stream_id)
        if rng.random() < 0.5:
            pair.run(until_s=pair.now_s + rng.choice((0.005, 0.05, 0.5)))
        if pair.terminated is not None:
            return pair
    for stream_id in sorted(sent_to - over):
        client.reset_stream(stream_id, 0x10C)
    for stream_id in sorted(sent_to & client._streams.keys()):  # it may wait for QPACK instructions that never come
        client.stop_stream(stream_id, 0x10C)
    pair.run(until_s=pair.now_s + 30.0)
    return pair
