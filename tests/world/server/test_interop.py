"""Clients that are not ours fetch from a running server: every byte intact, whatever the network and their windows do.

More clients, which take longer to make ready, run in `make interop`.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator

import pytest

from tests.interop.clients import gtlsclient
from tests.interop.target import InteropSite, ServerLog, Target, lossy, make_site, served, through_link
from tests.world.server.client import fetch

pytestmark = pytest.mark.slow  # servers in processes of their own

LOSS = ("--tx-loss=0.05", "--rx-loss=0.05")

with_gtlsclient = pytest.mark.skipif(
    shutil.which("gtlsclient") is None, reason="gtlsclient is not installed (Debian: ngtcp2-client)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> InteropSite:
    return make_site(tmp_path_factory.mktemp("interop"), files=40, largest_bytes=500_000)


@pytest.fixture(scope="module")
def target(site: InteropSite) -> Iterator[Target]:
    with served(site) as (target, _):
        yield target


def intact(site: InteropSite, paths: list[str], bodies: dict[str, str]) -> bool:
    return bodies == {path: site.digests[path] for path in paths}


def fetched(target: Target, paths: list[str], *options: str) -> dict[str, str]:
    return {path: answer.sha256 for path, answer in gtlsclient(target, paths, *options).items()}


@with_gtlsclient
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="as it is"),
        pytest.param(LOSS, id="with loss both ways"),
        pytest.param(("--max-data=2000", "--max-stream-data-bidi-local=1000"), id="tiny windows"),
        pytest.param(("--max-data=20000", "--max-stream-data-bidi-local=300", *LOSS), id="tiny windows with loss"),
        pytest.param(("--max-stream-data-uni=64",), id="tiny window for control streams"),
        pytest.param(("--delay-stream=200ms",), id="requests that come late"),
        pytest.param(("--key-update=20ms",), id="key update"),
        pytest.param(("--change-local-addr=20ms",), id="another address on the way"),
        pytest.param(("--scid=",), id="no connection ID"),
        pytest.param(("--cc=bbr2", "--max-udp-payload-size=1200"), id="small packets"),
    ],
)
def test_all_bytes_reach_gtlsclient_intact(target: Target, options: tuple[str, ...]) -> None:
    paths = target.site.paths
    assert intact(target.site, paths, fetched(target, paths, *options))


@with_gtlsclient
@pytest.mark.parametrize("scheme", ["sequential", "stock", "bucket", "firefox"])
def test_whichever_scheme_orders_them(site: InteropSite, scheme: str) -> None:
    with served(site, "--scheme", scheme) as (target, _):
        assert intact(site, site.paths, fetched(target, site.paths, *LOSS, "--max-data=50000"))


@with_gtlsclient
def test_more_requests_than_may_be_open_at_once_are_all_answered(site: InteropSite) -> None:
    small = site.paths[:20]
    with served(site, "--max-streams", "10") as (target, log):
        gtlsclient(target, small, "--nstreams=400", *LOSS)
    assert counted(log, site) == dict.fromkeys(small, 20)


@with_gtlsclient
def test_retry_is_understood(site: InteropSite) -> None:
    with served(site, "--retry", "always") as (target, _):
        assert intact(site, site.paths, fetched(target, site.paths, *LOSS))


@with_gtlsclient
def test_head_has_no_body_and_ends(site: InteropSite) -> None:
    with served(site) as (target, log):
        gtlsclient(target, site.paths, "--http-method=HEAD")
    requests = log.requests()
    assert {(line["method"], line["status"], line["body_bytes"], line["complete"]) for line in requests} == {
        ("HEAD", 200, 0, True)
    }
    assert len(requests) == len(site.paths)


def test_all_bytes_reach_aioquic_through_a_lossy_link(target: Target) -> None:
    paths = target.site.paths
    with through_link(target, lossy(0.03)) as far:
        answers = fetch(far.port, *(("GET", path) for path in paths))
    assert {answer.status for answer in answers} == {200}
    bodies = {path: hashlib.sha256(answer.body).hexdigest() for path, answer in zip(paths, answers, strict=True)}
    assert intact(target.site, paths, bodies)


def test_clients_one_after_another_find_the_same(target: Target) -> None:
    """What one connection did leaves nothing behind for the next. (HEAD is too much for aioquic's client.)"""
    path = target.site.paths[20]
    for method in ("GET", "POST") * 6:
        (answer,) = fetch(target.port, (method, path))
        assert answer.status == (405 if method == "POST" else 200)
        if method == "GET":
            assert hashlib.sha256(answer.body).hexdigest() == target.site.digests[path]


def counted(log: ServerLog, site: InteropSite) -> dict[str, int]:
    """How often each path was answered completely."""
    counts = dict.fromkeys(site.paths, 0)
    for line in log.requests():
        counts[line["path"]] += line["status"] == 200 and line["complete"]
    return {path: number for path, number in counts.items() if number}
