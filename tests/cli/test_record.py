"""`record`: a page on somebody else's servers becomes a site, and the copy loads like the page."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image
from typer.testing import CliRunner

from mixedsched.cli import app
from mixedsched.errors import ExitCode, SiteError, UsageError
from mixedsched.sites.opening import load_site
from mixedsched.world.browser.observation import Observation, ObservationJob
from mixedsched.world.browser.observe import Observer
from tests.world.server.client import serving


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "mixedsched", "record", *map(str, arguments)]


def record(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120, check=False, cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["shop.test"], "try https://shop.test"),
        (["ftp://shop.test/"], "https:// or http://"),
        (["https://me:secret@shop.test/"], "user name"),
        (["https://[::1/"], "not the address of a page"),
        (["https://shop.test/", "--resolve", "shop.test"], "HOST=ADDRESS:PORT"),
        (["https://shop.test/", "--resolve", "a=b:70000"], "HOST=ADDRESS:PORT"),
        (["https://shop.test/", "--name", "../up"], "cannot be the name of a site"),
        (["https://shop.test/", "--name", "agency"], "bundled site"),
    ],
)
def test_slips_are_refused_before_anything_is_loaded(arguments: list[str], word: str) -> None:
    done = CliRunner().invoke(app, ["record", *arguments])
    assert isinstance(done.exception, UsageError)
    assert word in str(done.exception)


def test_a_site_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    done = CliRunner().invoke(app, ["record", "https://shop.test/", "--out", str(tmp_path / "shop")])
    assert isinstance(done.exception, SiteError)
    assert "exists" in str(done.exception)


@pytest.mark.parametrize("place", ["/proc/shop", "file/shop", "new/" + "x" * 300])
def test_a_place_where_nothing_can_be_written_is_refused_before_anything_is_loaded(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    target = tmp_path / place
    done = CliRunner().invoke(app, ["record", "https://shop.test/", "--out", str(target)])
    assert isinstance(done.exception, SiteError)
    assert done.exception.what == f"{target} cannot be written"
    assert not re.search(r"/|Errno", done.exception.why)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def noise_free_png(width_px: int, height_px: int, colour: str) -> bytes:
    file = BytesIO()
    Image.new("RGB", (width_px, height_px), colour).save(file, "png")
    return file.getvalue()


PNG, TEXT, CSS, SCRIPT = "image/png", "text/html; charset=utf-8", "text/css", "text/javascript"
PAGE = """<!doctype html><html><head><title>Shop</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="http://127.0.0.1:CDN/style.css"><script defer src="app.js"></script></head>
<body><h1>Shop</h1><img src="hero.png" width="300" height="200"><img src="/moved.png">
<img src="/gone.png"><div style="height: 5000px"></div><img src="http://127.0.0.1:CDN/below.png"><img loading="lazy"
src="/lazy.png" width="9"></body></html>"""
STYLE = "body { background: url(back.png) } h1 { color: teal }" + "/* padding */" * 40
FILES: dict[str, tuple[str, str | bytes]] = {
    "/": (TEXT, PAGE),
    "/style.css": (CSS, STYLE),
    "/app.js": (SCRIPT, "fetch('http://127.0.0.1:CDN/data.json?r=' + Math.random()).then(r => r.json())"),
    "/data.json": ("application/json", '{"home": "http:\\/\\/localhost:OWN\\/"}'),
    "/hero.png": (PNG, noise_free_png(300, 200, "orange")),
    "/back.png": (PNG, noise_free_png(20, 20, "beige")),
    "/new.png": (PNG, noise_free_png(50, 50, "navy")),
    "/below.png": (PNG, noise_free_png(60, 60, "red")),
    "/lazy.png": (PNG, noise_free_png(9, 9, "green")),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ports: tuple[int, int] = (0, 0)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/moved.png":
            self._answer(302, b"", location=f"http://127.0.0.1:{self.ports[1]}/new.png")
        elif path not in FILES:
            self._answer(404, b"nothing", **{"content-type": "text/plain"})
        else:
            self._file(*FILES[path])

    def _file(self, mime: str, content: str | bytes) -> None:
        fields = {"content-type": mime, "access-control-allow-origin": "*", "set-cookie": "id=secret"}
        if isinstance(content, str):
            own, cdn = map(str, self.ports)
            content = content.replace("OWN", own).replace("CDN", cdn).encode()
        if mime == CSS:
            content, fields["content-encoding"] = gzip.compress(content, mtime=0), "gzip"
        self._answer(200, content, **fields)

    def _answer(self, status: int, body: bytes, **fields: str) -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def two_servers() -> Iterator[tuple[int, int]]:
    """Ports of the page's own server, reached as localhost, and of that for its style, reached as 127.0.0.1."""

    class Handler(_Handler):
        pass

    with ExitStack() as stack:
        servers = [stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) for _ in range(2)]
        Handler.ports = servers[0].server_port, servers[1].server_port
        for server in servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            stack.callback(server.shutdown)
        yield Handler.ports


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    with two_servers() as both:
        yield both


@pytest.fixture(scope="module")
def recorded(ports: tuple[int, int], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder in which the page was recorded, as on a phone and as on a desktop, and what `record` said."""
    folder = tmp_path_factory.mktemp("recorded")
    url = f"http://localhost:{ports[0]}/"
    done = record(folder, url, "--name", "shop", "--loads", "1", "--quiet-s", "0.7", "--licence", "CC0-1.0", "--json")
    assert done.returncode == ExitCode.DONE, done.stderr
    assert "load 2 of 2, desktop" in done.stderr
    return folder, json.loads(done.stdout)


@pytest.mark.usefixtures("chromium")
def test_the_page_is_a_site_with_all_that_it_is_made_of(
    recorded: tuple[Path, dict[str, Any]], ports: tuple[int, int]
) -> None:
    folder, said = recorded
    site = load_site(folder / "sites/shop")
    own, cdn = (f"localhost-{ports[0]}.test", f"127-0-0-1-{ports[1]}.test")
    assert site.hosts == (own, cdn)
    assert site.licence == "CC0-1.0"
    assert said["hosts"] == {own: [f"http://localhost:{ports[0]}"], cdn: [f"http://127.0.0.1:{ports[1]}"]}
    resources = {item.path.partition("?")[0]: item for item in site.page.resources}
    names = {
        "/",
        "/style.css",
        "/app.js",
        "/data.json",
        "/hero.png",
        "/back.png",
        "/moved.png",
        "/new.png",
        "/below.png",
    }
    assert set(resources) == {*names, "/gone.png"}
    found = {path: (item.found_by, item.found_when) for path, item in resources.items()}
    assert found["/style.css"] == ("html", "bytes")
    assert found["/back.png"] == (f"{cdn}/style.css", "complete")
    assert found["/new.png"] == ("moved.png", "complete")
    assert said["hero"] == f"https://{own}/hero.png"
    assert {flag.value for flag in resources["/hero.png"].flags} == {"above_fold", "hero"}
    assert said["dropped_headers"]["set-cookie"] >= len(names) - 1


@pytest.mark.usefixtures("chromium")
def test_what_only_scrolling_asks_for_is_served_but_no_part_of_the_page(recorded: tuple[Path, dict[str, Any]]) -> None:
    site = load_site(recorded[0] / "sites/shop")
    assert site.files[0, "/lazy.png"].read_bytes() == FILES["/lazy.png"][1]
    assert "/lazy.png" not in {item.path for item in site.page.resources}
    assert recorded[1]["also_served"] == 1
    assert "lazy.png" in recorded[1]["notes"][-1]


@pytest.mark.usefixtures("chromium")
def test_bodies_without_names_of_hosts_are_as_they_were_sent(recorded: tuple[Path, dict[str, Any]]) -> None:
    site = load_site(recorded[0] / "sites/shop")
    files = {path.partition("?")[0]: file for (_, path), file in site.files.items()}
    assert (
        files["/style.css"].read_bytes() == gzip.compress(STYLE.encode(), mtime=0)
        or gzip.decompress(files["/style.css"].read_bytes()) == STYLE.encode()
    )
    assert files["/hero.png"].read_bytes() == FILES["/hero.png"][1]
    assert b"https:\\/\\/localhost-" in files["/data.json"].read_bytes()


@pytest.mark.usefixtures("chromium")
def test_the_copy_asks_for_the_same_and_looks_the_same(
    recorded: tuple[Path, dict[str, Any]], ports: tuple[int, int]
) -> None:
    site = load_site(recorded[0] / "sites/shop")

    async def both(hosts: dict[str, int], spki: str) -> tuple[Observation, Observation]:
        async with Observer() as observer:
            url = f"http://localhost:{ports[0]}/"
            live = await observer.observe(ObservationJob(url=url, quiet_s=0.7))
            job = ObservationJob(url=site.url, hosts=hosts, spki_sha256=(spki,), quiet_s=0.7)
            return live, await observer.observe(job)

    with serving(recorded[0] / "sites/shop") as server:
        port = int(server.first["listening"].rpartition(":")[2])
        live, copy = asyncio.run(both(dict.fromkeys(site.hosts, port), server.first["spki_sha256"]))

    def asked(load: Observation) -> list[tuple[str, int, str]]:
        return sorted((urlsplit(item.url).path, item.status, item.kind.value) for item in load.requests)

    assert asked(copy) == asked(live)
    assert live.screenshot is not None
    assert copy.screenshot is not None
    pictures = [Image.open(BytesIO(shot)).convert("RGB") for shot in (live.screenshot, copy.screenshot)]
    assert pictures[0].size == pictures[1].size
    pixels = [picture.tobytes() for picture in pictures]
    differing = sum(one != other for one, other in zip(*pixels, strict=True))
    assert differing < 0.02 * len(pixels[0])


@pytest.mark.usefixtures("chromium")
def test_an_interrupted_recording_is_written_from_the_loads_that_worked(ports: tuple[int, int], tmp_path: Path) -> None:
    url = f"http://localhost:{ports[0]}/"
    process = subprocess.Popen(
        command(url, "--name", "part", "--loads", "9", "--quiet-s", "0.3", "--json"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        assert process.stdout is not None
        first = process.stderr.readline()
        assert "load 1 of 18" in first
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said = json.loads(process.stdout.read())
        process.wait(60)
    assert process.returncode == ExitCode.INVALID_RUNS
    assert any("interrupted" in note for note in said["notes"])
    assert load_site(tmp_path / "sites/part").page.main.path == "/"
