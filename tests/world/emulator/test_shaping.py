"""A profile in the words of tc: the qdiscs of the four hops between server and client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import UsageError
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, Profile, RandomLoss, Trace
from mixedsched.world import catalog
from mixedsched.world.emulator.kernel import qdiscs
from mixedsched.world.emulator.kernel.qdiscs import link_counters
from mixedsched.world.emulator.kernel.shaping import Hop, Shaping, shape

STUDY = {"rate_bps": 2_000_000, "delay_us": 50_000, "queue_bytes": 26_215, "burst_bytes": 1514, "overhead_bytes": 42}


def shaped(seed: int | None = None, kinds: tuple[str, ...] = ("tbf", "netem", "codel"), **down: Any) -> Shaping:
    return shape(Profile("x", "", "", Direction(**down), Direction(delay_us=50_000)), seed=seed, kinds=kinds)


def words(shaping: Shaping, name: str) -> list[str]:
    """The qdiscs of a hop, as one would type them after `tc qdisc add dev DEVICE`."""
    return [" ".join(words) for words in hop(shaping, name).qdiscs]


def hop(shaping: Shaping, name: str) -> Hop:
    return next(hop for hop in shaping.hops if hop.name == name)


def test_the_studys_parameters_become_its_commands() -> None:
    shaping = shaped(**STUDY, loss=RandomLoss(0.02))
    assert words(shaping, "tbf-down") == ["root handle 1: tbf rate 2000000bit burst 1514 limit 26215"]
    assert words(shaping, "netem-down") == ["root handle 1: netem limit 1000 delay 50000us loss random 2%"]


def test_a_packet_meets_the_rate_first_and_the_loss_then_in_both_directions() -> None:
    names = [(hop.name, hop.toward) for hop in shaped(**STUDY).hops]  # from the server to the client
    assert names == [("tbf-down", "client"), ("netem-down", "client"), ("netem-up", "server"), ("tbf-up", "server")]


def test_burst_loss_is_netems_gemodel_with_all_four_ratios() -> None:
    shaping = shaped(loss=GilbertElliott(p=0.004081632, r=0.2, bad_loss_ratio=0.9, good_loss_ratio=0.001))
    assert words(shaping, "netem-down")[0].endswith("loss gemodel 0.4081632% 20% 90% 0.1%")


def test_sizes_count_as_the_profile_counts_them() -> None:
    """The kernel counts Ethernet frames, 42 bytes more than the payload; an IP packet is 14 less."""
    assert words(shaped(**{**STUDY, "overhead_bytes": 28}), "tbf-down")[0].startswith(
        "root handle 1: stab overhead -14 linklayer ethernet tbf rate"
    )
    assert "stab" not in words(shaped(**STUDY), "tbf-down")[0]


def test_in_place_of_a_wire_the_bucket_holds_a_full_packet_and_a_tenth_of_a_millisecond_and_it_is_said() -> None:
    """Tokens that come while a timer is late must find room, or the rate suffers."""
    shaping = shaped(**{**STUDY, "burst_bytes": 0})
    assert "burst 1539 " in words(shaping, "tbf-down")[0]
    assert any(note.startswith("down: tbf has a bucket of 1539 bytes") and "6.16 ms" in note for note in shaping.notes)


def test_a_burst_that_the_profile_names_is_taken_at_its_word() -> None:
    assert "burst 1514 " in words(shaped(**STUDY), "tbf-down")[0]
    assert not any("bucket" in note for note in shaped(**STUDY).notes)


def test_codel_takes_the_place_of_tbfs_queue() -> None:
    shaping = shaped(**STUDY, codel=CoDel(target_us=5_000, interval_us=100_000))
    assert words(shaping, "tbf-down")[1] == "parent 1:1 handle 10: codel limit 17 target 5000us interval 100000us noecn"
    assert any("17 for 26215 bytes" in note for note in shaping.notes)


def test_jitter_keeps_the_order_unless_asked_otherwise() -> None:
    """netem sorts by due time; an unnoticeable rate makes a packet wait for the one before it."""
    assert words(shaped(delay_us=9_000, jitter_us=2_000), "netem-down")[0].endswith("delay 9000us 2000us rate 100gbit")
    assert words(shaped(delay_us=9_000, jitter_us=2_000, keeps_order=False), "netem-down")[0].endswith("9000us 2000us")


def test_duplicates_and_reordering() -> None:
    shaping = shaped(delay_us=9_000, duplicate_ratio=0.001, reorder_ratio=0.01)
    assert words(shaping, "netem-down")[0].endswith("delay 9000us duplicate 0.1% reorder 1%")
    assert (
        "reorder" not in words(shaped(reorder_ratio=0.01), "netem-down")[0]
    )  # nothing is delayed: nothing to overtake


def test_netem_itself_never_overflows() -> None:
    """Ten bandwidth-delay products of full packets, as in the study, and room for as many small ones as fit."""
    fast = shaped(rate_bps=50_000_000, delay_us=50_000)
    assert "limit 5209 " in words(fast, "netem-down")[0]
    bursting = shaped(rate_bps=50_000_000, delay_us=50_000, burst_bytes=3_000_000)  # which pass at once
    assert "limit 55209 " in words(bursting, "netem-down")[0]
    for unpaced in (
        shaped(delay_us=50_000),
        shaped(rate_bps=50_000_000, delay_us=50_000, kinds=("netem",)),  # nothing limits the rate
    ):
        assert "limit 200000 " in words(unpaced, "netem-down")[0]


def test_nothing_to_do_is_a_fifo_that_counts() -> None:
    shaping = shape(Profile("x", "", "", Direction(overhead_bytes=42), Direction(overhead_bytes=42)))
    assert [hop.qdiscs for hop in shaping.hops] == [(("root", "handle", "1:", "pfifo", "limit", "100000"),)] * 4


def test_each_direction_has_its_own_seed_where_netem_takes_one() -> None:
    profile = Profile("x", "", "", Direction(loss=RandomLoss(0.1)), Direction(loss=RandomLoss(0.1)))
    shaping = shape(profile, seed=7)
    assert words(shaping, "netem-down")[0].endswith(" seed 14")
    assert words(shaping, "netem-up")[0].endswith(" seed 15")
    without = shape(profile)
    assert "seed" not in words(without, "netem-down")[0]
    assert any("no seed" in note for note in without.notes)


def test_what_the_kernel_has_not_got_is_left_out_and_said_with_what_would_do() -> None:
    shaping = shaped(**STUDY, loss=RandomLoss(0.02), codel=CoDel(), kinds=("tbf",))
    assert words(shaping, "netem-down") == ["root handle 1: pfifo limit 100000"]
    assert len(words(shaping, "tbf-down")) == 1
    text = " ".join(shaping.notes)
    assert "no sch_netem: delay of 50 ms, loss of 2 % are not applied; use relay, or vm" in text
    assert "no sch_codel" in text
    assert "no sch_tbf" in " ".join(shaped(**STUDY, kinds=()).notes)


def test_what_is_only_not_loaded_is_said_with_the_command_that_loads_it() -> None:
    shaping = shape(
        Profile("x", "", "", *[Direction(delay_us=50_000)] * 2), kinds=("tbf", "codel"), unloaded=("netem",)
    )
    (note,) = shaping.notes
    assert note.startswith("both ways: sch_netem is not loaded: delay of 50 ms is not applied; ")
    assert note.endswith("run: sudo modprobe sch_netem, or use relay, or vm, whose router has a kernel with netem")


def test_only_modules_that_are_there_and_not_in_use_count_as_not_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("sch_netem.ko.xz", "sch_tbf.ko", "sch_red.ko"):
        (tmp_path / name).touch()
    monkeypatch.setattr(qdiscs, "_modules_folder", lambda: tmp_path)
    assert qdiscs.unloaded_kinds(("tbf",)) == ("netem",)
    assert qdiscs.unloaded_kinds(()) == ("tbf", "netem")


def test_a_trace_is_refused_with_what_can_follow_it() -> None:
    with pytest.raises(UsageError, match="--backend relay"):
        shaped(trace=Trace("commuter", (1, 2, 3)))


def test_every_shipped_profile_can_be_shaped_or_says_why_not() -> None:
    for profile in catalog.profiles():
        if profile.down.trace is not None or profile.up.trace is not None:
            with pytest.raises(UsageError):
                shape(profile)
        else:
            assert len(shape(profile, seed=1).hops) == 4


ratios = st.floats(0, 0.99)
directions = st.builds(
    Direction,
    rate_bps=st.none() | st.integers(1_000, 100_000_000_000),
    delay_us=st.integers(0, 60_000_000),
    queue_bytes=st.none() | st.integers(1514, 1 << 30),
    loss=st.builds(RandomLoss, ratios) | st.builds(GilbertElliott, ratios, ratios, ratios, ratios),
    burst_bytes=st.just(0) | st.integers(1514, 1 << 30),
    jitter_us=st.integers(0, 1_000),
    keeps_order=st.booleans(),
    reorder_ratio=ratios,
    duplicate_ratio=ratios,
    codel=st.none() | st.builds(CoDel),
    overhead_bytes=st.integers(0, 200),
)


@given(directions, directions, st.none() | st.integers(0, 1 << 80))
def test_the_bucket_holds_the_largest_packet_and_percentages_are_plain(
    down: Direction, up: Direction, seed: int | None
) -> None:
    """tbf would drop a packet that its bucket cannot hold; tc reads neither exponents nor ratios above 100 %."""
    shaping = shape(Profile("x", "", "", down, up), seed=seed)
    for side, direction in (("down", down), ("up", up)):
        tbf = words(shaping, f"tbf-{side}")[0].split()
        if "tbf" in tbf:
            assert int(tbf[tbf.index("burst") + 1]) >= 1514 + max(0, direction.overhead_bytes - 42)
        for word in words(shaping, f"netem-{side}")[0].split():
            if word.endswith("%"):
                assert set(word[:-1]) <= set("0123456789.")
                assert 0 <= float(word[:-1]) <= 100


def qdisc(kind: str, packets: int, **more: Any) -> dict[str, Any]:
    """As `tc -s -j qdisc show` prints one."""
    base = {"kind": kind, "handle": "1:", "root": True, "options": {}, "bytes": packets * 1000, "packets": packets}
    return {**base, "drops": 0, "overlimits": 0, "requeues": 0, "backlog": 0, "qlen": 0, **more}


def test_counters_tell_apart_what_did_not_fit_and_what_got_lost() -> None:
    idle = [qdisc("pfifo", 0)]
    counters = link_counters(
        {
            "tbf-down": [qdisc("tbf", 90, drops=10, qlen=2, backlog=2000)],
            "netem-down": [qdisc("netem", 80, drops=7, qlen=3, requeues=4)],
            "netem-up": idle,
            "tbf-up": idle,
        }
    )
    assert counters["down"] == {
        "packets": 92,
        "size_bytes": 92_000,
        "overflowed": 10,
        "lost": 7,
        "dropped_by_aqm": 0,
        "duplicated": 0,
        "reordered": 4,
    }
    assert set(counters["up"].values()) == {0}


def test_counters_tell_codels_drops_from_a_full_queue() -> None:
    """tbf counts its child's drops as its own; codel says which of its drops were for want of room."""
    codel = {**qdisc("codel", 90, drops=9, drop_overlimit=4), "root": False, "parent": "1:1"}
    idle = [qdisc("pfifo", 0)]
    counters = link_counters(
        {"tbf-down": [qdisc("tbf", 90, drops=9), codel], "netem-down": idle, "netem-up": idle, "tbf-up": idle}
    )["down"]
    assert (counters["packets"], counters["overflowed"], counters["dropped_by_aqm"]) == (95, 4, 5)


def test_counters_know_duplicates_from_what_left_in_the_end() -> None:
    idle = [qdisc("pfifo", 0)]
    netem = qdisc("netem", 103, drops=2, options={"duplicate": {"duplicate": 0.05, "correlation": 0}})
    stats = {"tbf-down": [qdisc("pfifo", 100)], "netem-down": [netem], "netem-up": idle, "tbf-up": idle}
    assert link_counters(stats)["down"]["duplicated"] == 5
