"""Real servers of other people's: what they answer for a site, how they end, and that none is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers import RunningProgram, levelled, read_choice, running_program
from tests.families import has_ended
from tests.patience import wait_until
from tests.world.server.client import Answer, fetch
from tests.world.servers.sites import (
    LONG_FIELD,
    ODD_QUERIES,
    ODD_TARGETS,
    OTHER,
    STYLE,
    full_site,
    installed,
    odd_site,
    plain_site,
)

SERVERS = ("caddy", "gtlsserver", "quic-go", "nginx", "h2o", "quiche")
CONFIGURED = ("caddy", "quic-go", "quiche", "nginx")


def answers(spec: str, site: ServedSite, *requests: tuple[str, str, dict[str, str]]) -> list[Answer]:
    """What a server answers while it runs."""

    async def ask() -> list[Answer]:
        found = installed(read_choice(spec).kind.name)
        async with running_program(spec, found, site, "127.0.0.1") as running:
            return await asyncio.to_thread(fetch, running.address[1], *requests)

    return asyncio.run(ask())


def run_with(name: str, site: ServedSite, act: Callable[[RunningProgram], None]) -> str:
    """Run a server until it has ended after an act; its keeper's complaint."""

    async def run() -> str:
        async with running_program(f"@{name}", installed(name), site, "127.0.0.1") as running:
            act(running)
            await running.process.next_line(10.0)
            return await running.process.complaint()

    return asyncio.run(run())


@pytest.mark.parametrize("name", SERVERS)
def test_a_real_server_serves_the_files_of_a_site_and_nothing_else(tmp_path: Path, name: str) -> None:
    site, _ = levelled(plain_site(tmp_path), [installed(name).kind.abilities], tmp_path / "decoded")
    paths = ("/", "/css/main.css", "/a%20b.js", "/css/../../certificate.pem", "/nothing.css")
    document, style, script, *others = answers(f"@{name}", site, *(("GET", path, {}) for path in paths))
    assert (document.body, style.body, script.body) == (b"<!doctype html>hello", STYLE, b"let a")
    if installed(name).kind.abilities.says_types:
        assert style.headers["content-type"].startswith("text/css")
    assert all(other.status in {400, 404} for other in others)


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_configured_server_replays_hosts_queries_codings_and_fields(tmp_path: Path, name: str) -> None:
    requests = [
        ("GET", "/q?a=1", {}),
        ("GET", "/q?a=2&b={x}$(y)", {}),
        ("GET", "/Q?a=1", {}),
        ("GET", "/css/main.css?v=3", {}),
        ("GET", "/", {"authority": OTHER}),
        ("GET", "/coded.css", {"accept_encoding": "gzip"}),
        ("GET", "/own", {}),
    ]
    one, two, three, unlisted, other, coded, own = answers(f"@{name}", full_site(tmp_path), *requests)
    assert [item.body for item in (one, two, three, other)] == [b"one", b"two", b"three", b"other"]
    assert unlisted.body == STYLE
    assert coded.headers["content-encoding"] == "gzip"
    assert coded.headers["access-control-allow-origin"] == "*"
    assert own.headers["link"] == '</css/main.css>; rel="preload"'
    assert own.headers["set-cookie"] == 'b="2"'  # the last of two


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_configured_server_answers_odd_addresses_and_sends_long_fields_as_they_are(tmp_path: Path, name: str) -> None:
    targets = ODD_TARGETS + ODD_QUERIES
    found = answers(f"@{name}", odd_site(tmp_path, *targets), *(("GET", target, {}) for target in targets))
    assert {target: item.body for target, item in zip(targets, found, strict=True)} == {
        target: str(place).encode() for place, target in enumerate(targets)
    }
    assert {item.headers["content-security-policy"] for item in found} == {LONG_FIELD}


def test_gtlsserver_takes_queries_for_priorities_as_is_told(tmp_path: Path) -> None:
    asked = [("GET", f"/a%20b.js{query}", {}) for query in ("?w=1&u=5", "?u=57", "?ui=1")]
    placed, *others = answers("@gtlsserver", plain_site(tmp_path), *asked)
    assert placed.headers["priority"].startswith("u=5")
    assert all("priority" not in item.headers for item in others)


def test_caddy_sends_the_priorities_of_a_shipped_file(tmp_path: Path) -> None:
    shipped = tmp_path / "Caddyfile"
    shipped.write_text('(mixedsched_priorities) {\n\theader /css/* priority "u=1, i=?0"\n}\n')
    style, script = answers(
        f"@caddy:headers={shipped}", plain_site(tmp_path), ("GET", "/css/main.css", {}), ("GET", "/a%20b.js", {})
    )
    assert style.headers["priority"] == "u=1, i=?0"
    assert "priority" not in script.headers
    assert script.body == b"let a"


def test_a_shipped_file_that_caddy_does_not_take_is_refused_with_its_words(tmp_path: Path) -> None:
    shipped = tmp_path / "Caddyfile"
    shipped.write_text("nonsense {")
    with pytest.raises(MixedschedError, match="Caddy does not take"):
        answers(f"@caddy:headers={shipped}", plain_site(tmp_path), ("GET", "/", {}))


def test_a_server_that_dies_ends_its_keeper_which_tells_of_it(tmp_path: Path) -> None:
    said = run_with("quic-go", plain_site(tmp_path), lambda running: os.kill(running.pid, signal.SIGKILL))
    assert "@quic-go has stopped by itself: signal 9 ended it" in said


@pytest.mark.parametrize(
    ("victim", "number"), [("parent", signal.SIGKILL), ("keeper", signal.SIGKILL), ("keeper", signal.SIGTERM)]
)
def test_no_server_outlives_a_parent_or_keeper_that_ends(tmp_path: Path, victim: str, number: signal.Signals) -> None:
    installed("quic-go")
    program = f"""
import asyncio, sys
from pathlib import Path
from mixedsched.world.servers import running_program
from tests.world.servers.sites import installed, plain_site

async def main():
    site = plain_site(Path({str(tmp_path)!r}))
    async with running_program("@quic-go", installed("quic-go"), site, "127.0.0.1") as running:
        print(running.pid, running.process.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        server, keeper = (int(word) for word in parent.stdout.readline().split())
        os.kill(parent.pid if victim == "parent" else keeper, number)
        assert wait_until(lambda: has_ended(server))
        if victim == "parent":
            assert wait_until(lambda: not list(tmp_path.glob("mixedsched-server-*")))
        parent.kill()


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_listens_at_an_address_of_ipv6(tmp_path: Path, name: str) -> None:
    async def start() -> tuple[str, int]:
        async with running_program(f"@{name}", installed(name), plain_site(tmp_path), "::1") as running:
            return running.address

    assert asyncio.run(start())[0] == "::1"


def test_a_port_that_is_taken_is_an_error_with_what_the_server_says(tmp_path: Path) -> None:
    found = installed("quic-go")

    async def start(port: int) -> None:
        async with running_program("@quic-go", found, plain_site(tmp_path), "127.0.0.1", port=port):
            pass

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(MixedschedError, match=r"did not start.*address already in use"):
            asyncio.run(start(taken.getsockname()[1]))
