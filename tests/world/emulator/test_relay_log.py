"""The relay's packet log: the fate of every packet, in order, whatever the disk does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mixedsched.model.profile import CoDel, GilbertElliott, Profile, RandomLoss
from tests.patience import wait_until
from tests.world.emulator.relaying import counters, introduced, profile, relaying, started, udp

PACKETS = 120  # sent at once: few enough for a socket to hold while the relay waits for a processor
NETWORKS = {
    "random loss": profile(loss=RandomLoss(0.3), delay_us=1000),
    "burst loss": profile(loss=GilbertElliott(0.05, 0.2), delay_us=1000),
    "everything": profile(loss=RandomLoss(0.2), delay_us=5000, jitter_us=5000, keeps_order=False, duplicate_ratio=0.2),
}
COPIES = {"lost": 0, "overflowed": 0, "delivered": 1, "duplicated": 2}  # that come, by fate


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@dataclass(frozen=True)
class Logged:
    """PACKETS that were sent to the client at once: the relay's counters, and its log of both directions."""

    told: dict[str, Any]
    down: list[dict[str, Any]]
    up: list[dict[str, Any]]

    @property
    def without_times(self) -> list[dict[str, Any]]:
        return [{**line, "in_us": 0, "out_us": line["out_us"] and 0} for line in self.down]


def logged(network: Profile, folder: Path, seed: int = 1, most: int = 2 * PACKETS) -> Logged:
    """most: packets that the client waits for before the relay has to end; else all that the log says will come."""
    file = folder / "down.jsonl"
    with udp() as server, udp() as client, relaying(network, server.getsockname(), seed, packet_log=folder) as running:
        process, relay = running
        address = introduced(client, relay, server)
        for number in range(PACKETS):
            server.sendto(bytes(number), address)
        if most > PACKETS:
            assert wait_until(lambda: has_lines(file, PACKETS))
            most = sum(COPIES[line["fate"]] for line in lines(file))
        for _ in range(most):
            client.recv(1000)
        told = counters(process)
    return Logged(told, lines(file), lines(folder / "up.jsonl"))


@pytest.fixture(scope="module", params=NETWORKS.values(), ids=NETWORKS)
def by_seed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Logged]:
    """Each network twice with the same seed, and once with another one."""
    seeds = {"first": 1, "again": 1, "other": 2}
    folder = tmp_path_factory.mktemp("logs")
    return {name: logged(request.param, folder / name, seed) for name, seed in seeds.items()}


def test_it_has_a_line_for_each_packet_in_order_and_agrees_with_the_counters(by_seed: dict[str, Logged]) -> None:
    told, down, up = by_seed["first"].told, by_seed["first"].down, by_seed["first"].up
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


def test_the_same_seed_gives_the_same_log_but_for_times(by_seed: dict[str, Logged]) -> None:
    first = by_seed["first"].without_times
    assert by_seed["again"].without_times == first
    assert by_seed["other"].without_times != first


def test_packets_that_found_no_room_are_in_it(tmp_path: Path) -> None:
    network = profile(rate_bps=100_000, queue_bytes=2000)
    log = logged(network, tmp_path)
    overflowed = [line for line in log.down if line["fate"] == "overflowed"]
    assert len(overflowed) == log.told["down"]["overflowed"] > 0
    assert {line["out_us"] for line in overflowed} == {None}


def test_packets_still_in_the_queue_at_the_end_have_a_fate(tmp_path: Path) -> None:
    network = profile(rate_bps=50_000, codel=CoDel())
    log = logged(network, tmp_path, most=20)
    assert [line["packet"] for line in log.down] == list(range(1, PACKETS + 1))


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
        assert wait_until(lambda: has_lines(log, 1))  # an idle relay hands on what it has
        process.kill()
        process.wait()
    assert [line["fate"] for line in lines(log)] == ["delivered"]


def has_lines(file: Path, count: int) -> bool:
    return file.read_bytes().count(b"\n") >= count
