"""Responses that come with time, through a real session in virtual time."""

from __future__ import annotations

import pytest

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.live import LiveRequest, LiveResponder, Reply
from mixedsched.core.h3.response import GrowingBody, Headers, RequestHead, Response
from tests.core.h3.pair import Pair, pattern, pause

GET: Headers = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"pair.test"), (b":path", b"/")]
POST: Headers = [(b":method", b"POST"), *GET[1:]]


class Kept(LiveRequest):
    """A request that keeps what it is told."""

    def __init__(self, head: RequestHead, reply: Reply) -> None:
        self.head = head
        self.reply = reply
        self.received = b""
        self.trailers: Headers | None = None
        self.record: ServedRequest | None = None

    def receive(self, data: bytes) -> None:
        self.received += data

    def end(self, trailers: Headers) -> None:
        self.trailers = trailers

    def over(self, record: ServedRequest) -> None:
        assert self.record is None, "it is told once"
        self.record = record

    def begin(self, size_bytes: int = 0, fields: Headers | None = None) -> GrowingBody:
        body = GrowingBody(size_bytes)
        self.reply.answer(Response(200, fields or [], body))
        return body


class Keeping(LiveResponder):
    def __init__(self) -> None:
        self.requests: list[Kept] = []

    def begin(self, head: RequestHead, reply: Reply) -> Kept:
        self.requests.append(Kept(head, reply))
        return self.requests[-1]


def live_pair(scheme: str = "eps", **options: object) -> tuple[Pair, list[Kept]]:
    responder = Keeping()
    pair = Pair(scheme, responder=responder, **options)  # type: ignore[arg-type]
    return pair.connect(), responder.requests


@pytest.mark.parametrize("scheme", ["eps", "mixed", "bucket", "zeroweight", "sequential", "rr", "stock"])
@pytest.mark.parametrize("loss_ratio", [0.0, 0.05])
def test_a_body_that_comes_in_parts_arrives_whole_under_every_kind_of_scheme(scheme: str, loss_ratio: float) -> None:
    pair, requests = live_pair(scheme, loss_ratio=loss_ratio, seed=3)
    ids = [pair.request("/") for _ in range(3)]
    pause(pair)
    bodies = [request.begin() for request in requests]
    data = pattern(60_000)
    for start in range(0, 60_000, 20_000):
        for body in bodies:
            body.feed(data[start : start + 20_000])
        pause(pair, 0.5)
    for request in requests:
        request.reply.finish()
    pair.finish()
    assert [bytes(pair.bodies[stream_id]) for stream_id in ids] == [data] * 3
    assert all(request.record is not None and request.record.complete for request in requests)


def test_a_response_that_waits_for_more_leaves_the_line_to_less_urgent_ones() -> None:
    pair, requests = live_pair("eps", rate_bps=1_000_000)
    urgent, other = pair.request("/", "u=0"), pair.request("/", "u=5")
    pause(pair)
    first, second = (request.begin() for request in requests)
    first.feed(bytes(10_000))
    second.feed(bytes(30_000))
    pause(pair, 0.15)
    first.feed(bytes(10_000))
    pause(pair, 2.0)
    for request in requests:
        request.reply.finish()
    pair.finish()
    assert pair.blocks()[:4] == [urgent, other, urgent, other]


def test_trailers_follow_the_body() -> None:
    pair, requests = live_pair()
    stream_id = pair.request("/")
    pause(pair)
    requests[0].begin().feed(b"abc")
    requests[0].reply.finish([(b"x-sum", b"3")])
    pair.finish()
    assert (bytes(pair.bodies[stream_id]), pair.headers[stream_id]) == (b"abc", {b"x-sum": b"3"})


def test_interim_responses_come_before_the_response_and_never_after() -> None:
    pair, requests = live_pair()
    stream_id = pair.request("/")
    pause(pair)
    requests[0].reply.inform(103, [(b"link", b"</a>")])
    pause(pair)
    assert pair.headers[stream_id] == {b":status": b"103", b"link": b"</a>"}
    requests[0].begin()
    requests[0].reply.inform(103, [(b"link", b"</b>")])
    requests[0].reply.finish()
    pair.finish()
    assert pair.headers[stream_id] == {b":status": b"200"}


def test_the_responses_own_priority_overrides_the_clients_signal_parameter_by_parameter() -> None:
    """RFC 9218 section 8."""
    pair, requests = live_pair()
    pair.request("/", "u=5, i")
    pause(pair)
    requests[0].begin(fields=[(b"priority", b"u=1")])
    requests[0].reply.finish()
    pair.finish()
    assert (pair.log[0].signal, pair.log[0].effective_signal) == ("u=5, i", "u=1, i")


def test_an_update_that_comes_before_the_response_counts() -> None:
    pair, requests = live_pair()
    pair.update_priority(pair.request("/", "u=5"), "u=2")
    pause(pair)
    requests[0].begin()
    requests[0].reply.finish()
    pair.finish()
    assert pair.log[0].placement == "u=2"


def test_a_requests_body_and_trailers_are_passed_on() -> None:
    pair, requests = live_pair()
    stream_id = pair.send_request(POST, pattern(5_000), end_stream=False)
    pair.h3.send_headers(stream_id, [(b"x-sum", b"7")], end_stream=True)
    pause(pair)
    assert (requests[0].received, requests[0].trailers) == (pattern(5_000), [(b"x-sum", b"7")])


def test_a_client_may_send_a_window_ahead_of_what_is_taken_however_much_it_has_sent_before() -> None:
    pair, requests = live_pair(max_data=1 << 20, max_stream_data=1 << 20)
    window_bytes = 1 << 20  # aioquic's own, of which the pair's server makes no other
    body = pattern(5 << 20)
    pair.send_request(POST, body)
    taken = 0
    while len(requests) == 0 or len(requests[0].received) < len(body):
        pause(pair, 2.0)
        assert taken < len(requests[0].received) <= taken + window_bytes
        requests[0].reply.took(len(requests[0].received) - taken)
        taken = len(requests[0].received)
    assert requests[0].received == body


def test_a_body_that_is_longer_than_announced_is_not_passed_on() -> None:
    pair, requests = live_pair()
    stream_id = pair.send_request([*POST, (b"content-length", b"3")], end_stream=False)
    pause(pair)
    pair.h3.send_data(stream_id, b"abcd", end_stream=False)
    pause(pair)
    assert requests[0].received == b""
    assert (requests[0].record is not None, pair.resets[stream_id]) == (True, ErrorCode.H3_MESSAGE_ERROR)


def test_a_body_that_is_shorter_than_announced_never_ends() -> None:
    pair, requests = live_pair()
    stream_id = pair.send_request([*POST, (b"content-length", b"5")], b"abc", end_stream=False)
    pause(pair)
    pair.h3.send_data(stream_id, b"d", end_stream=True)
    pause(pair)
    assert (requests[0].trailers, requests[0].record is not None) == (None, True)


def test_a_client_that_gives_up_its_upload_gives_up_the_request() -> None:
    pair, requests = live_pair()
    stream_id = pair.send_request(POST, b"abc", end_stream=False)
    pause(pair)
    pair.client.reset_stream(stream_id, ErrorCode.H3_REQUEST_CANCELLED)
    pause(pair)
    record = requests[0].record
    assert record is not None
    assert (record.status, record.complete, requests[0].trailers) == (499, False, None)


def test_a_client_that_wants_no_response_is_told_of_at_once_and_what_is_replied_is_ignored() -> None:
    pair, requests = live_pair()
    stream_id = pair.request("/")
    pause(pair)
    body = requests[0].begin()
    body.feed(bytes(1000))
    pause(pair)
    pair.client.stop_stream(stream_id, ErrorCode.H3_REQUEST_CANCELLED)
    pause(pair)
    assert requests[0].record is not None
    body.feed(bytes(1000))
    requests[0].reply.finish()
    requests[0].reply.answer(Response(200, []))
    pause(pair, 2.0)
    assert body.remaining_bytes == 0
    assert pair.session._exchanges == {}
    assert pair.terminated is None


def test_an_aborted_response_resets_its_stream_and_never_passes_for_whole() -> None:
    pair, requests = live_pair()
    stream_id = pair.request("/")
    pause(pair)
    requests[0].begin().feed(b"abc")
    pause(pair)
    requests[0].reply.abort()
    pause(pair, 2.0)
    assert (pair.resets[stream_id], pair.done) == (ErrorCode.H3_INTERNAL_ERROR, [])
    assert pair.session._exchanges == {}


def test_a_response_before_the_end_of_the_upload_asks_for_no_more_of_it() -> None:
    pair, requests = live_pair()
    stream_id = pair.send_request(POST, b"abc", end_stream=False)
    pause(pair)
    requests[0].reply.answer(Response(413, [(b"content-length", b"0")]))
    pause(pair, 1.0)
    assert pair.headers[stream_id][b":status"] == b"413"
    assert stream_id in pair.done
    assert stream_id not in pair.client._streams  # it has stopped sending, too, so that the stream is over


def test_the_end_of_the_connection_ends_all_requests() -> None:
    pair, requests = live_pair()
    pair.request("/")
    pair.request("/")
    pause(pair)
    requests[0].begin().feed(b"abc")
    pause(pair)
    pair.client.close()
    pause(pair, 5.0)
    assert [request.record is not None and request.record.complete for request in requests] == [False, False]


def test_extended_connect_is_announced_and_names_its_protocol() -> None:
    pair, requests = live_pair()
    fields = [(b":method", b"CONNECT"), (b":protocol", b"websocket"), *GET[1:]]
    pair.send_request(fields, end_stream=False)
    pause(pair)
    assert (requests[0].head.method, requests[0].head.protocol) == ("CONNECT", "websocket")
    assert pair.h3.received_settings is not None
    assert pair.h3.received_settings[0x08] == 1
