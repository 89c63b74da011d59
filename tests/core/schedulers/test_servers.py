"""Models of what other people's servers do: orders as strings, one letter a packet."""

from __future__ import annotations

import pytest

from mixedsched.core.schedulers import COMPARED, LEARNING_SCHEMES, SCHEMES, SERVER_SCHEMES
from mixedsched.lab.play.task import read_schemes
from tests.core.schedulers.wire import Wire, placed


@pytest.mark.parametrize("spec", ["nghttp3", "h2o", "quic-go", "envoy", "lsquic", "quiche"])
def test_all_but_nginx_send_the_most_urgent_first(spec: str) -> None:
    assert Wire(f"server-{spec}", "A3:u=5 B3:u=1 C3:u=3").next(9) == "BBBCCCAAA"


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        ("nghttp3", "AAAABBBB"),
        ("h2o", "AAAABBBB"),
        ("quic-go", "AAAABBBB"),
        ("lsquic", "AAAABBBB"),
        ("quiche", "AAAABBBB"),
        ("envoy", "AAAABBBB"),  # a turn is 16 kB
        ("nginx", "AAAABBBB"),  # as is a window of 64 KiB
        ("nginx:stream_buffer_bytes=2800", "AABBAABB"),
        ("nginx:stream_buffer_bytes=1400", "ABABABAB"),
    ],
)
def test_whole_responses_of_one_urgency(spec: str, order: str) -> None:
    assert Wire(f"server-{spec}", "A4:u=3 B4:u=3").next(8) == order


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        ("nghttp3", "ABCABCABC"),
        ("h2o", "ABCABCABC"),
        ("quic-go", "ABCABCABC"),
        ("lsquic", "ABCABCABC"),
        ("quiche", "ABCABCABC"),
        ("envoy", "AAABBBCCC"),
    ],
)
def test_shared_responses_of_one_urgency(spec: str, order: str) -> None:
    assert Wire(f"server-{spec}", "A3:u=3,i B3:u=3,i C3:u=3,i").next(9) == order


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        ("nghttp3", "ABBBAAA"),  # a turn for the shared one, whose ID is lower; then it starves
        ("h2o", "ABBBAAA"),
        ("quic-go", "BABABAA"),
        ("lsquic", "BBBAAAA"),
        ("quiche", "BBBAAAA"),
    ],
)
def test_whole_beside_shared_responses(spec: str, order: str) -> None:
    assert Wire(f"server-{spec}", "A4:u=3,i B3:u=3").next(7) == order


def test_envoy_gives_each_16_kilobytes_and_a_newcomer_waits_for_its_turn() -> None:
    line = Wire("server-envoy", "A30:u=3 B30:u=3,i")
    assert line.next(36) == "A" * 12 + "B" * 12 + "A" * 12


@pytest.mark.parametrize(("spec", "expected"), [("server-envoy", "u=1, i"), ("server-envoy:urgency=off", "u=3")])
def test_envoy_reads_no_urgency_where_that_is_off(spec: str, expected: str) -> None:
    assert placed(spec, "image@High") == expected


def test_nginx_takes_a_newcomer_in_behind_what_is_written_already() -> None:
    line = Wire("server-nginx:stream_buffer_bytes=4200", "A9 B9")
    assert line.next(2) == "AA"
    assert line.next(10) == "ABBBAAABBB"


def test_all_is_what_one_may_choose_and_servers_what_others_have() -> None:
    assert {*COMPARED, *SERVER_SCHEMES, *LEARNING_SCHEMES} == set(SCHEMES)
    assert [scheme.spec for scheme in read_schemes("all")] == list(COMPARED)
    assert [scheme.spec for scheme in read_schemes("servers")] == list(SERVER_SCHEMES)
    assert all(name.startswith("server-") for name in SERVER_SCHEMES)
