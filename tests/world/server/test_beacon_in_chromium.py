"""A real browser tells its paints to a server with --beacon, and the memory has them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mixedsched.world.browser.find import find_chromium
from tests.command import run
from tests.patience import wait_until
from tests.world.browser.h3_site import noise_png
from tests.world.server.client import RunningServer, serving

LIMIT_S = 60.0


@contextmanager
def browsing(server: RunningServer, profile: Path) -> Iterator[None]:
    """Chromium, which shows the site's page until the end."""
    arguments = [
        *(["--no-sandbox"] if os.getuid() == 0 else []),
        *("--headless=new", "--no-first-run", f"--user-data-dir={profile}", "--remote-debugging-port=0"),
        *("--enable-quic", f"--origin-to-force-quic-on=shop.test:{server.port}"),
        f"--host-resolver-rules=MAP shop.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1:{server.port}",
        f"--ignore-certificate-errors-spki-list={server.first['spki_sha256']}",
    ]
    with (
        TemporaryDirectory(prefix="chromium-") as sockets,  # which it leaves there when it is told to end
        subprocess.Popen(
            [find_chromium(), *arguments, f"https://shop.test:{server.port}/"],
            env={**os.environ, "TMPDIR": sockets},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as browser,
    ):
        try:
            yield
        finally:
            browser.terminate()
            browser.wait(LIMIT_S)


def pages(memory: Path) -> list[dict[str, Any]]:
    return list(json.loads(run("memory", "show", memory, "--json").stdout)["pages"]) if memory.exists() else []


@pytest.mark.usefixtures("chromium")
def test_a_visits_first_and_largest_paint_are_in_the_memory(tmp_path: Path) -> None:
    site, memory = tmp_path / "shop", tmp_path / "memory.sqlite"
    site.mkdir()
    (site / "hero.png").write_bytes(noise_png(300, 300, seed=1))  # a plain one has too few bits to be a candidate
    (site / "index.html").write_text('<!doctype html><title>shop</title><p>shop</p><img src="hero.png">')
    options = ("--scheme", "adaptive", "--memory", str(memory), "--beacon", "--idle-timeout", "5s")
    with serving(site, *options) as server:
        with browsing(server, tmp_path / "profile"):
            until_s = time.monotonic() + LIMIT_S
            while "mixedsched-beacon" not in (line := server.next_line())["request"]["path"]:
                assert time.monotonic() < until_s
            assert line["request"]["status"] == 204
        assert wait_until(lambda: pages(memory), LIMIT_S)
    (page,) = pages(memory)
    told = page["beacons"]
    assert told["visits"] == page["visits"] == 1
    assert 0 < told["fcp_ms"] <= told["lcp_ms"] < LIMIT_S * 1000
    assert {role["path"]: role["largest"] for role in page["roles"]}["/hero.png"] > 0.5
    shown = run("memory", "show", memory).stdout
    assert f"FCP {told['fcp_ms']:.0f} ms, LCP {told['lcp_ms']:.0f} ms" in shown
