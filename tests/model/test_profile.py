"""Network profiles: what they say of both directions, and what is refused."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.core.link import rate_over_time
from mixedsched.errors import ProfileError
from mixedsched.model.profile import Direction, GilbertElliott, Loss, Profile, RandomLoss, loss_text
from mixedsched.model.profile_file import parse_profile
from mixedsched.world import catalog, places

HEAD = 'name = "x"\ndescription = "d"\nsource = "s"\n'


def test_the_everyday_profiles_and_that_of_the_study_are_there() -> None:
    profiles = {profile.name: profile for profile in catalog.profiles()}
    assert {"cdn", "fiber", "cable", "4g", "slow-4g", "3g"} <= set(profiles)
    assert all(profile.source and profile.description for profile in profiles.values())
    assert profiles["cdn"].down == profiles["cdn"].up == Direction(None, 10_000, None, RandomLoss(0.0005))
    assert profiles["3g"].down.rate_bps == 1_600_000
    assert profiles["3g"].rtt_ms == 300


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (RandomLoss(), "no random loss"),
        (RandomLoss(0.02), "loss 2 %"),
        (GilbertElliott(0.2 * 0.02 / 0.98, 0.2), "loss 2 % in bursts of 5"),
        (GilbertElliott(0.0, 0.2, good_loss_ratio=0.05), "loss 5 %"),  # it is never bad
        (GilbertElliott(0.1, 0.1, 0.5, 0.1), "loss 30 %, unevenly (Gilbert-Elliott)"),
    ],
)
def test_only_losses_that_come_in_bursts_are_said_to(loss: Loss, says: str) -> None:
    assert loss_text(loss) == says


STUDY = {  # rate in Mbit/s, round trip in ms, queue in bytes (their rule uses 2^20), loss
    "bw1": (1, 100, 13_108, RandomLoss(0.0)),
    "bw2": (2, 100, 26_215, RandomLoss(0.0)),
    "bw5": (5, 100, 65_536, RandomLoss(0.0)),
    "bw10": (10, 100, 131_072, RandomLoss(0.0)),
    "bw50": (50, 100, 655_360, RandomLoss(0.0)),  # tested in the study, not shown
    "loss1": (2, 100, 26_215, RandomLoss(0.01)),
    "loss2": (2, 100, 26_215, RandomLoss(0.02)),
    "loss5": (2, 100, 26_215, RandomLoss(0.05)),
    "rtt10": (2, 10, 2_622, RandomLoss(0.02)),
    "rtt50": (2, 50, 13_108, RandomLoss(0.02)),
    "burst5": (2, 100, 26_215, GilbertElliott(0.2 * 0.02 / 0.98, 0.2)),
    "burst10": (2, 100, 26_215, GilbertElliott(0.1 * 0.02 / 0.98, 0.1)),
    "burst15": (2, 100, 26_215, GilbertElliott(1 / 15 * 0.02 / 0.98, 1 / 15)),
}


@pytest.mark.parametrize("scenario", STUDY)
def test_the_scenarios_of_sander_et_al_are_as_published(scenario: str) -> None:
    rate_mbps, rtt_ms, queue_bytes, loss = STUDY[scenario]
    profile = catalog.load_profile(f"sander-{scenario}")
    assert profile.down == profile.up
    assert profile.down == Direction(
        rate_bps=rate_mbps * 1_000_000,
        delay_us=rtt_ms * 500,
        queue_bytes=queue_bytes,
        loss=profile.down.loss,
        burst_bytes=1514,
        overhead_bytes=42,
    )
    assert type(profile.down.loss) is type(loss)
    assert dataclasses.astuple(profile.down.loss) == pytest.approx(dataclasses.astuple(loss), rel=1e-14)


def test_no_scenario_of_the_study_is_missing() -> None:
    named = {profile.name for profile in catalog.profiles() if profile.name.startswith("sander-")}
    assert named == {f"sander-{scenario}" for scenario in STUDY}


def test_the_trace_of_the_commuter_is_what_its_script_makes(tmp_path: Path) -> None:
    folder = places.home() / "vm" / "profiles" / "traces"
    script = tmp_path / "make_commuter_4g.py"
    script.write_bytes((folder / "make_commuter_4g.py").read_bytes())
    subprocess.run([sys.executable, script], check=True)
    for side in ("down", "up"):
        name = f"commuter-4g-{side}.trace"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    profile = catalog.load_profile("commuter-4g")
    assert 4_500_000 < (profile.down.mean_rate_bps or 0) < 5_500_000
    assert 0 in rate_over_time(profile.down, 40_000, 500), "there is a tunnel"


@pytest.mark.parametrize("name", ["../secret.trace", "/etc/hostname", "deeper/../../secret.trace", "link.trace"])
def test_a_trace_outside_the_profile_s_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.trace").write_text("1\n")
    folder = tmp_path / "profiles"
    (folder / "deeper").mkdir(parents=True)
    (folder / "link.trace").symlink_to(tmp_path / "secret.trace")
    (folder / "x.toml").write_text(HEAD + f'rtt_ms = 10\ntrace_down = "{name}"\n')
    with pytest.raises(ProfileError, match="outside the profile's folder"):
        catalog.load_profile(str(folder / "x.toml"))


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"1\nten\n"])
def test_a_trace_that_is_missing_or_rubbish_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "t.trace").write_bytes(content)
    (tmp_path / "x.toml").write_text(HEAD + 'rtt_ms = 10\ntrace_down = "t.trace"\n')
    with pytest.raises(ProfileError, match=r"t\.trace"):
        catalog.load_profile(str(tmp_path / "x.toml"))


def test_the_round_trip_is_split_and_each_direction_has_its_own_rate_queue_and_loss() -> None:
    profile = parse_profile(
        HEAD + "rate_down_bps = 8000000\nrate_up_bps = 800000\nrtt_ms = 100\nqueue_bdp = 2\n"
        '[loss.down]\nmodel = "random"\nratio = 0.02\n',
        "x.toml",
    )
    assert profile.down == Direction(8_000_000, 50_000, 200_000, RandomLoss(0.02))
    assert profile.up == Direction(800_000, 50_000, 20_000)


def test_a_queue_in_bandwidth_delay_products_must_hold_a_packet() -> None:
    with pytest.raises(ProfileError, match="does not hold a packet"):
        parse_profile(HEAD + "rate_down_bps = 8000\nrtt_ms = 1\nqueue_bdp = 1\n", "x.toml")


def test_facts_travel_to_other_processes() -> None:
    profile = catalog.load_profile("4g")
    copy = Profile.from_facts("4g", profile.facts())
    assert (copy.down, copy.up) == (profile.down, profile.up)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ProfileError, match="did you mean 'slow-4g'"):
        catalog.load_profile("slow4g")


@pytest.mark.parametrize(
    ("direction", "is_random"),
    [
        (Direction(rate_bps=1_000_000, delay_us=9_000, queue_bytes=15_000), False),
        (Direction(loss=RandomLoss(0.001)), True),
        (Direction(jitter_us=1), True),
        (Direction(jitter_us=1, keeps_order=False), True),
        (Direction(reorder_ratio=0.01), True),
        (Direction(duplicate_ratio=0.01), True),
    ],
)
def test_a_network_is_random_if_anything_that_happens_to_packets_differs_by_seed(
    direction: Direction, is_random: bool
) -> None:
    assert direction.is_random is is_random
    assert Profile("x", "", "", direction, Direction()).is_random is is_random
    assert Profile("x", "", "", Direction(), direction).is_random is is_random
