"""`mixedsched serve` with --qlog, --explain and --log, over real UDP."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.core.h3.traces import named, packed_bytes, read_file, read_trace, scheduled_bytes
from tests.world.server.client import RunningServer, fetch, serving
from tests.world.server.quic import Client

pytestmark = pytest.mark.slow  # servers in processes of their own

BIG_BYTES = 400_000
SMALL_DATAGRAMS = ("--max-datagram-size", "1200")  # loopback would take ten times as large ones


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched") / "shop"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><p>shop")
    (folder / "mixedsched.toml").write_text('[[responses]]\nmatch = "/hero.png"\npriority = "u=1"\n')
    for name in ("hero.png", "a.png", "b.png"):
        (folder / name).write_bytes(os.urandom(BIG_BYTES))
    return folder


def lines_of(running: RunningServer) -> list[dict[str, Any]]:
    """Stop the server and read what it said."""
    assert running.process.stdin is not None
    assert running.process.stdout is not None
    running.process.stdin.close()
    return [json.loads(line) for line in running.process.stdout]


def test_each_connection_leaves_a_trace_with_its_requests(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "qlog"
    with serving(site, "--scheme", "eps", "--qlog", str(folder)) as running:
        for _ in range(2):
            fetch(running.port, ("GET", "/", {"priority": "u=0"}), ("GET", "/hero.png", {"priority": "u=5, i"}))
        lines_of(running)
    paths = sorted(folder.iterdir())
    assert [path.name[:7] for path in paths] == ["000001-", "000002-"]
    for path in paths:
        header, events = read_trace(path.read_bytes())
        assert path.name == f"{path.name[:6]}-{header['trace']['common_fields']['ODCID']}.sqlog"
        assert abs(header["trace"]["common_fields"]["reference_time"] / 1000 - time.time()) < 3600
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert scheduled_bytes(events) == packed_bytes(events)
        assert scheduled_bytes(events)[4] > BIG_BYTES
        updates = [
            (update["signal"], update.get("old"), update["new"]) for update in named(events, "http3:priority_updated")
        ]
        assert updates == [("header", None, "u=0"), ("header", None, "u=5, i"), ("response", "u=5, i", "u=1, i")]


def test_a_killed_server_leaves_traces_that_can_be_read(site: Path, tmp_path: Path) -> None:
    def events() -> list[dict[str, Any]]:
        return [event for path in tmp_path.iterdir() for event in read_file(path)]

    with serving(site, "--qlog", str(tmp_path)) as running, Client(running.port) as client:
        assert len(client.get("/a.png")) == BIG_BYTES
        client.run(lambda: scheduled_bytes(events())[0] > BIG_BYTES)  # soon, while the connection lives
        running.process.kill()
        running.process.wait(10)
        assert scheduled_bytes(events())[0] > BIG_BYTES


def test_a_trace_is_kept_short(site: Path, tmp_path: Path) -> None:
    with serving(site, "--qlog", str(tmp_path), "--qlog-mb", "1", *SMALL_DATAGRAMS) as running:
        for _ in range(2):
            fetch(running.port, *[("GET", "/a.png")] * 8)
        lines_of(running)
    for path in tmp_path.iterdir():
        assert path.stat().st_size <= 1_000_000
        assert read_file(path)[-1]["name"] == "loglevel:warning"


@pytest.mark.parametrize("option", ["--qlog", "--log"])
def test_what_cannot_be_written_is_refused_before_anything_is_served(site: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("")
    command = [
        sys.executable,
        "-m",
        "mixedsched",
        "serve",
        str(site),
        "--port",
        "0",
        option,
        str(tmp_path / "file" / "x"),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "cannot write" in ended.stderr
    assert option.removeprefix("--") in ended.stderr


def test_explain_tells_every_packet_while_the_responses_are_under_way(site: Path) -> None:
    with serving(site, "--scheme", "rr", "--explain", *SMALL_DATAGRAMS) as running:
        fetch(running.port, ("GET", "/a.png"), ("GET", "/b.png"))
        lines = lines_of(running)
    stretches = [line["schedule"] for line in lines if "schedule" in line]
    assert len([line for line in lines if "request" in line]) == 2
    assert stretches
    assert {stretch["connection"] for stretch in stretches} == {1}
    packets: Counter[int] = Counter()
    for stretch in stretches:
        assert stretch["from_ms"] <= stretch["to_ms"]
        for stream_id, count in stretch["runs"]:
            packets[stream_id] += count
        packets[-1] += stretch["packets_left_out"]
    assert sum(packets.values()) >= 2 * BIG_BYTES / 1200
    last = {stream["stream_id"]: stream for stretch in stretches for stream in stretch["streams"]}
    assert {stream["path"] for stream in last.values()} == {"/a.png", "/b.png"}
    assert all(stream["sent_bytes"] > BIG_BYTES == stream["body_bytes"] for stream in last.values())


def test_explain_is_a_strip_for_people(site: Path) -> None:
    command = [sys.executable, "-m", "mixedsched", "serve", str(site), "--port", "0", "--explain", "--stop-with-stdin"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline().rpartition(":")[2])
            fetch(port, ("GET", "/a.png", {"priority": "u=2"}))
            process.stdin.close()
            strips = [line for line in process.stdout if line.startswith("#1 ")]
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert strips[-1].rstrip().endswith("A /a.png u=2 100 %")
    assert all(re.fullmatch(r"#1 +\d+\.\d\d s  A+  A /a\.png u=2 \d+ %\n", line) for line in strips)


def test_workers_explain_and_trace_too(site: Path, tmp_path: Path) -> None:
    with serving(site, "--workers", "2", "--explain", "--qlog", str(tmp_path)) as running:
        for _ in range(6):
            fetch(running.port, ("GET", "/a.png"))
        lines = lines_of(running)
    stretches = [line["schedule"] for line in lines if "schedule" in line]
    assert {stretch["worker"] for stretch in stretches} <= {0, 1}
    assert len({stretch["connection"] for stretch in stretches}) == 6
    assert len(list(tmp_path.iterdir())) == 6
    assert all(scheduled_bytes(read_file(path))[0] > BIG_BYTES for path in tmp_path.iterdir())


def test_the_log_gets_a_line_for_each_request_and_grows(site: Path, tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    for _ in range(2):
        with serving(site, "--log", str(log)) as running:
            fetch(running.port, ("GET", "/"), ("GET", "/none"))
            printed = [line["request"] for line in lines_of(running)]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["request"]["status"] for line in lines] == [200, 404, 200, 404]
    assert [line["request"] for line in lines[2:]] == printed
    assert all(line["time"].endswith("+00:00") for line in lines)


@pytest.mark.skipif(shutil.which("gtlsclient") is None, reason="gtlsclient (Debian's ngtcp2-client) is not installed")
def test_another_clients_load_is_traced_and_explained(site: Path, tmp_path: Path) -> None:
    with serving(site, "--explain", "--qlog", str(tmp_path)) as running:
        urls = [f"https://shop.test/{name}" for name in ("", "a.png", "b.png")]
        ended = subprocess.run(
            ["gtlsclient", "-q", "--exit-on-all-streams-close", "127.0.0.1", str(running.port), *urls],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        lines = lines_of(running)
    (path,) = tmp_path.iterdir()
    events = read_file(path)
    assert scheduled_bytes(events) == packed_bytes(events)
    assert {placed["path"] for placed in named(events, "mixedsched:stream_placed")} == {"/", "/a.png", "/b.png"}
    told = {stream["path"] for line in lines if "schedule" in line for stream in line["schedule"]["streams"]}
    assert told == {"/", "/a.png", "/b.png"}
