"""When a page load counts, and why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mixedsched.lab._validity import LoadEvidence, ServerView, is_of_the_machine, why_invalid
from mixedsched.sites.site import Connections
from mixedsched.world.browser.netlog import Closing, FrameArrival, NetLog, OpenReason, QuicSession, StreamRequest
from mixedsched.world.browser.pageload import BrowserLoad, LoadedRequest, Versions

HOSTS = ("shop.test",)
PUNCTUAL = {"punctuality": {"delivered": 1000, "late": 3, "worst_us": 1200}}


def load(*requests: tuple[str, str], finished: bool = True, warnings: tuple[str, ...] = ()) -> BrowserLoad:
    made = tuple(
        LoadedRequest(
            url=url,
            protocol=protocol,
            priority="High",
            resource_type="Image",
            status=200,
            transfer_bytes=1,
            resource_bytes=1,
            start_ms=0.0,
            request_ms=0.0,
            end_ms=1.0,
            finished=finished,
        )
        for url, protocol in requests
    )
    return BrowserLoad(
        metrics={"lcp_ms": 300},
        requests=made,
        frames=(),
        lcp_element=None,
        warnings=warnings,
        versions=Versions("1", "1", "1"),
        benchmark_index=1000.0,
        observed={},
        timings_ms={},
    )


MAIN = ("https://shop.test/", "h3")


def test_a_server_that_tells_nothing_must_have_sent_every_byte_of_a_file() -> None:
    short = LoadEvidence(
        load(MAIN),
        HOSTS,
        Connections(1, "one"),
        NetLog((), (), (), (), "", "", truncated=False),
        {},
        sizes={MAIN[0]: 2},
    )
    assert why_invalid(short) == "cut_short: 1 bytes came of https://shop.test/, which has 2"
    assert not why_invalid(replace(short, sizes={MAIN[0]: 1})).startswith("cut_short")
    assert not why_invalid(replace(short, sizes={})).startswith("cut_short")


@pytest.mark.parametrize(
    ("failure", "is_valid"),
    [
        (None, True),
        ("net::ERR_QUIC_PROTOCOL_ERROR", False),  # as when a response is reset, or nothing comes for 30 s
        ("net::ERR_CONNECTION_CLOSED", False),
        ("net::ERR_ABORTED", True),  # by the page
        ("net::ERR_BLOCKED_BY_ORB", True),
        ("net::ERR_FAILED", True),  # as of a response that another origin may not read
    ],
)
def test_a_request_whose_connection_failed_is_not_complete_although_it_is_over(
    failure: str | None, is_valid: bool
) -> None:
    page_load = load(MAIN, ("https://shop.test/a", "h3"))
    main, other = page_load.requests
    page_load = replace(page_load, requests=(main, replace(other, failure=failure)))
    reason = why_invalid(evidence(netlog(), load=page_load))
    assert bool(reason) is not is_valid
    assert is_valid or reason == (
        f"unfinished: 1 requests without a complete answer, for instance https://shop.test/a ({failure})"
    )


def test_an_address_without_tls_answers_in_no_load() -> None:
    page_load = load(MAIN, ("http://shop.test:8000/a", "http/1.1"))
    main, other = page_load.requests
    refused = replace(other, failure="net::ERR_CONNECTION_REFUSED", protocol="", status=-1)
    assert not why_invalid(evidence(netlog(), load=replace(page_load, requests=(main, refused))))


def late_by(*held_ms: float, at_ms: float = 0.0) -> dict[str, Any]:
    """What a relay tells that has kept packets so long each time, a millisecond apart, from at_ms on."""
    stalls, from_us = [], int(at_ms * 1000)
    for length_ms in held_ms:
        stalls.append([from_us, from_us + int(length_ms * 1000)])
        from_us = stalls[-1][1] + 1000
    return {"punctuality": {"delivered": 100, "late": 20, "stalls_us": stalls}}


@pytest.mark.parametrize(
    ("page_load", "relay", "says"),
    [
        (load(MAIN, ("data:image/png;base64,", "data")), PUNCTUAL, ""),
        (load(MAIN, ("https://shop.test/a", "h2")), PUNCTUAL, "https://shop.test/a over h2"),
        (load(MAIN, ("https://other.test/a", "h3")), PUNCTUAL, "answers from other.test"),
        (load(), PUNCTUAL, "no request was answered"),
        (load(MAIN, finished=False), PUNCTUAL, "without a complete answer, for instance https://shop.test/"),
        (load(MAIN, warnings=("The page loaded too slowly to finish",)), PUNCTUAL, "too_slow"),
        (load(MAIN), {}, "link has stopped"),
        (load(MAIN), late_by(20.0), "held up for 20 ms of the 300 ms before the largest paint"),
        (load(MAIN), {**PUNCTUAL, "down": {"missed": 2}, "up": {"missed": 0}}, "too slow to take 2 packets down"),
        (load(MAIN), {"down": {"packets": 9}, "up": {"packets": 9, "dropped_at_port": 1}}, "0 packets down and 1 up"),
    ],
)
def test_a_load_counts_only_if_it_is_what_it_seems(page_load: BrowserLoad, relay: dict[str, Any], says: str) -> None:
    reason = why_invalid(evidence(netlog(), load=page_load, link=relay))
    assert says in reason
    assert bool(reason) == bool(says)


KERNEL = {"down": {"packets": 3}, "up": {"packets": 3}}
ONE = Connections(1, "all is on one host")
TWO = Connections(2, "one for fonts")
WITH_THE_BROWSER = Closing(9000.0, "net error", "QUIC_CONNECTION_CANCELLED", from_peer=False)
POOLED = Closing(50.0, "An active session exists for the given IP.", "QUIC_CONNECTION_IP_POOLED", from_peer=False)


def session(number: int, closing: Closing | None = WITH_THE_BROWSER, **facts: Any) -> QuicSession:
    reason = OpenReason.DUPLICATE if closing is POOLED else OpenReason.FIRST
    return QuicSession(number, "shop.test", **{"established": True, "reason": reason, "closing": closing, **facts})


def netlog(
    *sessions: QuicSession, asking: tuple[int, ...] = (1,), authority: str = "shop.test", **facts: Any
) -> NetLog:
    """The page's last byte came at 4000 ms."""
    return NetLog(
        sessions=sessions or (session(1),),
        requests=tuple(StreamRequest(number, 0, authority, "/", 0.0) for number in asking),
        arrivals=(FrameArrival(4000.0, 1, 0, 0, 10, fin=True),),
        streams=(),
        chromium_version="156",
        command_line="",
        truncated=False,
        **facts,
    )


def request(connection: int = 1, authority: str = "shop.test") -> dict[str, Any]:
    return {"connection": connection, "authority": authority, "path": "/"}


def connected(connection: int = 1, server_name: str | None = "shop.test") -> dict[str, Any]:
    return {"connection": connection, "client": "127.0.0.1:5000", "server_name": server_name}


def evidence(log: NetLog, expected: Connections = ONE, **facts: Any) -> LoadEvidence:
    return LoadEvidence(
        **{"load": load(MAIN), "hosts": HOSTS, "expected": expected, "log": log, "link": KERNEL, **facts}
    )


def test_the_same_rules_hold_for_the_page_load() -> None:
    assert why_invalid(evidence(netlog(), load=load(MAIN, ("https://shop.test/a", "h2")))).startswith("protocol")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (netlog(), ONE),
        (netlog(session(1), session(2), asking=(1, 2)), TWO),
        (netlog(session(1), session(2, POOLED)), ONE),  # opened beside the first and never used
        (netlog(session(1), session(2, established=False)), ONE),  # given up when the browser ended
        (netlog(session(1, None)), ONE),  # the log ends before the browser
        (netlog(session(1), session(2, Closing(3000.0, "", "QUIC_NETWORK_IDLE_TIMEOUT", False))), TWO),
    ],
)
def test_as_many_connections_as_the_page_takes_without_a_bad_end(log: NetLog, expected: Connections) -> None:
    assert why_invalid(evidence(log, expected)) == ""


@pytest.mark.parametrize(
    ("closing", "says"),
    [
        (Closing(2000.0, "Network blackhole detected", "QUIC_TOO_MANY_RTOS", False), "the browser closed"),
        (Closing(2000.0, "header value too long", "QUIC_INTERNAL_ERROR", True), "the server closed"),
        (Closing(2000.0, "net error", "QUIC_CONNECTION_CANCELLED", False), "net error"),  # and the load went on
        (Closing(50.0, "An active session exists for the given IP.", "QUIC_CONNECTION_IP_POOLED", True), "the server"),
    ],
)
def test_any_other_end_of_a_connection_voids_the_run(closing: Closing, says: str) -> None:
    reason = why_invalid(evidence(netlog(session(1), session(2, closing)), TWO))
    assert reason.startswith("closed: ")
    assert says in reason
    assert closing.details in reason


def test_another_number_of_connections_is_told_with_what_was_expected_and_why_they_were_opened() -> None:
    second = session(2, reason=OpenReason.CREDENTIALS, why="requests without credentials are kept apart")
    reason = why_invalid(evidence(netlog(session(1), second)))
    assert reason.startswith("connections: 2 instead of 1 (all is on one host)")
    assert "requests without credentials are kept apart" in reason
    assert "'connections'" in reason
    assert why_invalid(evidence(netlog(), TWO)).startswith("connections: 1 instead of 2 (one for fonts)")


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (ServerView([request()]), ""),
        (ServerView([request(authority="SHOP.test:4433")]), ""),
        (ServerView([request()], [connected()]), ""),
        (
            ServerView([request(), request(authority="ads.example")]),
            "stray_host: requests at the server for ads.example",
        ),
        (ServerView([request()], [connected(), connected(2, "ads.example")]), "that asked for ads.example"),
        (ServerView([request()], [connected(server_name=None)]), "that asked for no host"),
        (
            ServerView([request()], [connected(), connected(2)]),
            "stray_connection: 2 at the server, of which the browser knows 1",
        ),
        (ServerView([], [connected()]), "stray_connection: 1 at the server without any request"),
    ],
)
def test_nobody_else_may_have_come_to_the_server(seen: ServerView, says: str) -> None:
    reason = why_invalid(evidence(netlog(), server=seen))
    assert says in reason
    assert bool(reason) == bool(says)


def test_a_connection_that_the_browser_gave_up_unused_is_no_stranger_to_the_server() -> None:
    log = netlog(session(1), session(2, POOLED))
    assert why_invalid(evidence(log, server=ServerView([request()], [connected(), connected(2)]))) == ""


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (netlog(authority="ads.example"), "stray_host: requests for ads.example"),
        (netlog(http2_hosts=("shop.test",)), "protocol: HTTP/2 connections to shop.test"),
    ],
)
def test_the_browsers_own_log_shows_other_hosts_and_protocols(log: NetLog, says: str) -> None:
    assert why_invalid(evidence(log)) == says


@pytest.mark.parametrize(
    ("link", "says"),
    [
        (PUNCTUAL, ""),
        (KERNEL, ""),  # the kernel delivers, and nobody counts how punctually
        ({}, "link: the emulated link has stopped before its time"),
        (
            {**KERNEL, **late_by(20.0)},
            (
                "late_link: packets were held up for 20 ms of the 300 ms before the largest paint "
                "(20 of 100 left the link over 1 ms late)"
            ),
        ),
        (
            {**KERNEL, "down": {"missed": 2}, "up": {"dropped_at_port": 1}},
            "overrun_link: the emulator was too slow to take 2 packets down and 1 up",
        ),
    ],
)
def test_the_emulated_network_must_have_kept_its_schedule(link: dict[str, Any], says: str) -> None:
    assert why_invalid(evidence(netlog(), link=link)) == says


@pytest.mark.parametrize(
    ("link", "is_valid"),
    [
        (late_by(20.0, 30.0, at_ms=100), True),  # 50 of 1000 ms
        (late_by(20.0, 31.0, at_ms=100), False),
        (late_by(*[1.5] * 30, at_ms=100), True),  # however many packets that were
        (late_by(200.0, at_ms=1001), True),  # after the largest paint
        (late_by(200.0, at_ms=960), True),  # of which 40 before it
        (late_by(200.0, at_ms=940), False),
    ],
)
def test_a_load_is_void_if_packets_were_kept_for_over_a_twentieth_of_the_time_before_its_largest_paint(
    link: dict[str, Any], is_valid: bool
) -> None:
    page_load = replace(load(MAIN), metrics={"lcp_ms": 1000})
    reason = why_invalid(evidence(netlog(), load=page_load, link={**KERNEL, **link}))
    assert reason.startswith("late_link: ") != is_valid


@pytest.mark.parametrize(("held", "is_valid"), [(16.0, True), (17.0, False)])
def test_of_a_page_that_paints_soon_the_time_of_a_frame_may_be_lost(held: float, is_valid: bool) -> None:
    page_load = replace(load(MAIN), metrics={"lcp_ms": 100})
    reason = why_invalid(evidence(netlog(), load=page_load, link={**KERNEL, **late_by(held)}))
    assert reason.startswith("late_link: ") != is_valid


def test_only_a_link_behind_its_schedule_blames_the_machine() -> None:
    assert is_of_the_machine("late_link: packets were held up for 90 ms of the 900 ms before the largest paint")
    assert is_of_the_machine("overrun_link: the emulator was too slow to take 2 packets down and 1 up")
    for reason in ("", "link: the emulated link has stopped before its time", "unfinished: late_link", "too_slow: 1"):
        assert not is_of_the_machine(reason)


@pytest.mark.parametrize(("came", "is_valid"), [(99, True), (100, True), (101, False)])
def test_nobody_else_may_use_the_link(came: int, is_valid: bool) -> None:
    relay = {**KERNEL, "clients": 1, "up": {"packets": came - 2, "overflowed": 2}}
    log = netlog(session(1, packets_sent=70), session(2, POOLED, packets_sent=30))
    reason = why_invalid(evidence(log, link=relay))
    assert is_valid == (reason == "")
    assert is_valid or reason == "stray_packets: 101 came to the link for the server, the browser sent 100"


def test_what_a_kernel_says_by_itself_makes_nobody_a_stranger() -> None:
    kernel = {"down": {"packets": 3}, "up": {"packets": 3, "overflowed": 0}}
    assert why_invalid(evidence(netlog(), link=kernel)) == ""


def test_a_log_without_its_end_cannot_tell_who_sent_what() -> None:
    relay = {**KERNEL, "clients": 1, "up": {"packets": 50, "overflowed": 0}}
    assert why_invalid(evidence(replace(netlog(), truncated=True), link=relay)) == ""
