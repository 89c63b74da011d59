"""Network profiles: what they say of both directions, and what is refused."""

from __future__ import annotations

import pytest

from mixedsched import catalog
from mixedsched.errors import ProfileError
from mixedsched.profile import Direction, Profile, parse_profile

HEAD = 'name = "x"\ndescription = "d"\nsource = "s"\n'


def test_the_everyday_profiles_and_that_of_the_study_are_there() -> None:
    profiles = {profile.name: profile for profile in catalog.profiles()}
    assert {"cdn", "fiber", "cable", "4g", "slow-4g", "3g"} <= set(profiles)
    assert all(profile.source and profile.description for profile in profiles.values())
    assert profiles["cdn"].down == profiles["cdn"].up == Direction(None, 10_000, None, 0.0005)
    assert profiles["3g"].down.rate_bps == 1_600_000
    assert profiles["3g"].rtt_ms == 300


def test_the_round_trip_is_split_and_each_direction_has_its_own_rate_queue_and_loss() -> None:
    profile = parse_profile(
        HEAD + "rate_down_bps = 8000000\nrate_up_bps = 800000\nrtt_ms = 100\nqueue_bdp = 2\n"
        '[loss.down]\nmodel = "random"\nratio = 0.02\n',
        "x.toml",
    )
    assert profile.down == Direction(8_000_000, 50_000, 200_000, 0.02)
    assert profile.up == Direction(800_000, 50_000, 20_000, 0.0)


def test_a_queue_never_holds_less_than_two_packets() -> None:
    profile = parse_profile(HEAD + "rate_down_bps = 8000\nrtt_ms = 1\nqueue_bdp = 1\n", "x.toml")
    assert profile.down.queue_bytes == 3000
    assert profile.up.queue_bytes is None


def test_facts_travel_to_other_processes() -> None:
    profile = catalog.load_profile("4g")
    copy = Profile.from_facts("4g", profile.facts())
    assert (copy.down, copy.up) == (profile.down, profile.up)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rtt_ms = 10\nrate_down_bps = -1\n", "rate_down_bps"),
        ("rtt_ms = 10\nrate_down_bps = 0\n", "rate_down_bps"),
        ("rtt_ms = -1\n", "rtt_ms"),
        ("rtt_ms = nan\n", "rtt_ms"),
        ("rtt_ms = 10\nqueue_bytes = 100\n", "queue_bytes"),
        ("rtt_ms = 10\nqueue_bytes = 9000\nqueue_bdp = 1\n", "not both"),
        ("rtt_ms = 10\nbandwidth = 3\n", "bandwidth"),
        ('rtt_ms = 10\n[loss.down]\nmodel = "random"\nratio = 1.5\n', "loss.down.random.ratio"),
        ('rtt_ms = 10\n[loss.down]\nmodel = "bursty"\n', "loss.down"),
        ("", "rtt_ms"),
        ("rtt_ms = ", "is not TOML"),
    ],
)
def test_an_absurd_profile_is_refused_with_its_reason(text: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(HEAD + text, "x.toml")
    assert says in str(caught.value)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ProfileError, match="did you mean 'slow-4g'"):
        catalog.load_profile("slow4g")
