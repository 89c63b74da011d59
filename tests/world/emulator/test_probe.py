"""Probes over a real network: the relay. Nothing here depends on how fast this machine is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from mixedsched.errors import MixedschedError
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.world.emulator.probe._session import ProbedNetwork, ProbeExchange, probed
from mixedsched.world.emulator.probe.checking import check_link
from mixedsched.world.emulator.probe.end import Sending
from mixedsched.world.emulator.probe.findings import LinkVerdict
from mixedsched.world.emulator.relay.backend import RelayBackend

pytestmark = pytest.mark.slow  # packets are sent for some seconds

LOSSY = Profile(
    "lossy", "", "", Direction(delay_us=20_000, loss=RandomLoss(0.1)), Direction(delay_us=30_000, loss=RandomLoss(0.2))
)
QUICK = {"down": Sending(4, 20, 600, 500_000), "up": Sending(4, 300, 400, 700_000, trains=2, pause_ns=50_000_000)}


async def exchanged(network: ProbedNetwork, seed: int, sendings: Mapping[str, Sending]) -> ProbeExchange:
    return await network.exchange(seed, sendings, settled_s=0.5, delay_s=0.05)


@pytest.fixture(scope="module")
def exchanges() -> list[ProbeExchange]:
    """One network with the same seed twice, and with another one."""

    async def all_exchanged() -> list[ProbeExchange]:
        async with probed(RelayBackend(LOSSY)) as network:
            return [await exchanged(network, seed, QUICK) for seed in (5, 5, 6)]

    return asyncio.run(all_exchanged())


def test_both_directions_are_measured_at_once_and_no_packet_is_early(exchanges: list[ProbeExchange]) -> None:
    for found in exchanges:
        for side, least_ms in (("down", 20), ("up", 30)):
            arrivals = found.arrivals[side]
            sent = QUICK[side].total_packets
            assert 0.6 * sent < len(arrivals.numbers) < sent
            assert np.all(np.diff(arrivals.numbers) > 0)
            # Kernel stamps and our clock are compared, and the system may be adjusting one of them.
            assert arrivals.delays_ms.min() >= least_ms - 1
            assert len(arrivals.missing) == sent - len(arrivals.numbers)
            hellos_lost = found.counters[side]["lost"] - len(arrivals.missing)
            assert 0 <= hellos_lost < 8
        assert found.overflowed("down") == found.overflowed("up") == 0


def test_the_same_seed_loses_the_same_numbers_and_another_one_others(exchanges: list[ProbeExchange]) -> None:
    first, again, other = (exchange.arrivals for exchange in exchanges)
    for side in ("down", "up"):
        assert first[side].missing.tolist() == again[side].missing.tolist()
        assert first[side].missing.tolist() != other[side].missing.tolist()


def test_a_network_that_lets_nothing_pass_is_an_error_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.world.emulator.probe._session._HELLO_WAIT_S", 0.1)
    deaf = replace(LOSSY, up=Direction(loss=RandomLoss(1.0)))

    async def exchange() -> None:
        async with probed(RelayBackend(deaf)) as network:
            await exchanged(network, 1, QUICK)

    with pytest.raises(MixedschedError, match="nothing passes the link"):
        asyncio.run(exchange())


def test_a_network_that_does_not_do_what_its_profile_says_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.world.emulator.probe._plan._SPARSE_S", 1.0)
    claimed = Profile("claimed", "", "", Direction(delay_us=90_000), Direction(delay_us=30_000, loss=RandomLoss(0.2)))

    async def check() -> None:
        steps: list[str] = []
        found = await check_link(RelayBackend(LOSSY), claimed, 1, lambda step, _: steps.append(step), losses_s=1.0)
        verdicts = {(item.quantity, item.direction): item.verdict for item in found.findings}
        assert not found.is_ok
        assert verdicts["one-way delay", "down"] is verdicts["loss", "down"] is LinkVerdict.OFF
        assert verdicts["loss", "up"] is verdicts["same seed", "up"] is LinkVerdict.OK
        assert verdicts["rate", "up"] is verdicts["queue", "down"] is LinkVerdict.NOT_APPLICABLE
        assert steps == ["delay", "losses", "the same seed again"]
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["ok"] is False

    asyncio.run(check())
