"""The relay's packet log: the fate of every packet, in order, whatever the disk does."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mixedsched.model.profile import CoDel, GilbertElliott, RandomLoss
from tests.world.emulator.relaying import counters, introduced, profile, relaying, started, udp

pytestmark = pytest.mark.usefixtures("real_time")

PACKETS = 300
NETWORKS = {
    "random loss": profile(loss=RandomLoss(0.3), delay_us=1000),
    "burst loss": profile(loss=GilbertElliott(0.05, 0.2), delay_us=1000),
    "everything": profile(loss=RandomLoss(0.2), delay_us=5000, jitter_us=5000, keeps_order=False, duplicate_ratio=0.2),
}


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def logged(
    network: Any, folder: Path, seed: int = 1, most: int = 2 * PACKETS
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Send PACKETS to the client. Returns the relay's counters and its log of both directions.

    most: that the client waits for before the relay has to end; else until nothing comes any more.
    """
    with udp() as server, udp() as client, relaying(network, server.getsockname(), seed, packet_log=folder) as running:
        process, relay = running
        address = introduced(client, relay, server)
        for number in range(PACKETS):
            server.sendto(bytes(number), address)
        client.settimeout(1)
        with suppress(TimeoutError):
            for _ in range(most):
                client.recv(1000)
        told = counters(process)
    return told, lines(folder / "down.jsonl"), lines(folder / "up.jsonl")


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_it_has_a_line_for_each_packet_in_order_and_agrees_with_the_counters(network: Any, tmp_path: Path) -> None:
    told, down, up = logged(network, tmp_path)
    assert [line["packet"] for line in down] == list(range(1, PACKETS + 1))
    assert [line["size_bytes"] for line in down] == [number + 28 for number in range(PACKETS)]
    fates = [line["fate"] for line in down]
    assert fates.count("lost") == told["down"]["lost"]
    assert fates.count("duplicated") == told["down"]["duplicated"]
    assert told["punctuality"]["down"]["delivered"] == fates.count("delivered") + 2 * fates.count("duplicated")
    for line in down:
        assert (line["out_us"] is None) == (line["fate"] == "lost")
        assert line["out_us"] is None or line["out_us"] >= line["in_us"]
    assert [(line["packet"], line["fate"], line["in_us"]) for line in up] == [(1, "delivered", 0)]
    assert told["packet_log"] == {"records": PACKETS + 1, "written": PACKETS + 1, "error": ""}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_same_seed_gives_the_same_log_but_for_times(network: Any, tmp_path: Path) -> None:
    def without_times(name: str, seed: int) -> str:
        _, down, _ = logged(network, tmp_path / name, seed)
        return "".join(json.dumps({**line, "in_us": 0, "out_us": line["out_us"] and 0}) + "\n" for line in down)

    first = without_times("first", 1)
    assert without_times("again", 1) == first
    assert without_times("other", 2) != first


def test_packets_that_found_no_room_are_in_it(tmp_path: Path) -> None:
    network = profile(rate_bps=100_000, queue_bytes=2000)
    told, down, _ = logged(network, tmp_path)
    overflowed = [line for line in down if line["fate"] == "overflowed"]
    assert len(overflowed) == told["down"]["overflowed"] > 0
    assert {line["out_us"] for line in overflowed} == {None}


def test_packets_still_in_the_queue_at_the_end_have_a_fate(tmp_path: Path) -> None:
    network = profile(rate_bps=50_000, codel=CoDel())
    _, down, _ = logged(network, tmp_path, most=20)
    assert [line["packet"] for line in down] == list(range(1, PACKETS + 1))


def test_a_full_disk_does_not_stop_it_but_is_told(tmp_path: Path) -> None:
    (tmp_path / "down.jsonl").symlink_to("/dev/full")
    with (
        udp() as server,
        udp() as client,
        relaying(profile(), server.getsockname(), packet_log=tmp_path) as (process, relay),
    ):
        address = introduced(client, relay, server)
        for number in range(PACKETS):
            server.sendto(number.to_bytes(2, "big"), address)
            assert client.recv(10) == number.to_bytes(2, "big")
        told = counters(process)
    assert told["down"]["packets"] == PACKETS
    assert told["packet_log"]["records"] == PACKETS + 1
    assert told["packet_log"]["written"] <= 1
    assert "No space left" in told["packet_log"]["error"]


def test_it_is_whole_after_sigterm_too(tmp_path: Path) -> None:
    with (
        udp() as server,
        udp() as client,
        relaying(profile(), server.getsockname(), packet_log=tmp_path) as (process, relay),
    ):
        for _ in range(PACKETS):
            introduced(client, relay, server)
        process.terminate()
        assert process.wait(20) == 0
    assert [line["packet"] for line in lines(tmp_path / "up.jsonl")] == list(range(1, PACKETS + 1))


def test_a_folder_that_cannot_be_made_is_an_error_before_the_first_packet(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = {"profile": profile().facts(), "seed": 1, "server": ["127.0.0.1", 9], "listen": ["127.0.0.1", 0]}
    settings["packet_log"] = str(tmp_path / "file" / "log")
    with started(json.dumps(settings) + "\n") as process:
        said, complaint = process.communicate(timeout=20)
    assert (process.returncode, complaint) == (1, "")
    assert json.loads(said)["error"]["what"] == "the packet log cannot be written"


def test_what_a_relay_has_handed_on_is_written_even_if_it_is_killed(tmp_path: Path) -> None:
    with (
        udp() as server,
        udp() as client,
        relaying(profile(), server.getsockname(), packet_log=tmp_path) as (process, relay),
    ):
        introduced(client, relay, server)
        log = tmp_path / "up.jsonl"
        wait_for_text(log)  # an idle relay hands on what it has
        process.kill()
        process.wait()
    assert [line["fate"] for line in lines(log)] == ["delivered"]


def wait_for_text(file: Path) -> None:
    give_up_s = time.monotonic() + 20
    while not file.stat().st_size and time.monotonic() < give_up_s:
        time.sleep(0.02)
