"""Profile files: each key, what is refused and in which words, and that what was read survives a journey as JSON."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import ExitCode, ProfileError
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, Profile, RandomLoss, Trace
from mixedsched.model.profile_file import parse_profile, parse_trace

HEAD = 'name = "x"\ndescription = "d"\nsource = "s"\n'
TRACES = {"t.trace": "1\n2\n2\n40\n"}


def parse(text: str) -> Profile:
    return parse_profile(HEAD + text, "x.toml", TRACES.__getitem__)


def refusal(text: str) -> str:
    with pytest.raises(ProfileError) as caught:
        parse(text)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    return str(caught.value)


def test_every_key_reaches_its_direction() -> None:
    profile = parse(
        """
        rate_down_bps = 8_000_000
        trace_up = "t.trace"
        rtt_ms = 100
        queue_bytes = 60_000
        jitter_ms = 3
        [down]
        delay_ms = 20
        burst_bytes = 1514
        reorder_ratio = 0.01
        duplicate_ratio = 0.02
        packet_overhead_bytes = 42
        [up]
        queue_bytes = 9_000
        aqm = "codel"
        codel_target_ms = 10
        jitter_ms = 4.5
        jitter_reorders = true
        [loss.down]
        model = "random"
        ratio = 0.05
        [loss.up]
        model = "gilbert-elliott"
        p = 0.1
        r = 0.2
        good_loss_ratio = 0.001
        """
    )
    assert profile.down == Direction(
        rate_bps=8_000_000,
        delay_us=20_000,
        queue_bytes=60_000,
        loss=RandomLoss(0.05),
        burst_bytes=1514,
        jitter_us=3_000,
        reorder_ratio=0.01,
        duplicate_ratio=0.02,
        overhead_bytes=42,
    )
    assert profile.up == Direction(
        delay_us=80_000,
        queue_bytes=9_000,
        loss=GilbertElliott(0.1, 0.2, 1.0, 0.001),
        jitter_us=4_500,
        keeps_order=False,
        codel=CoDel(10_000, 100_000),
        trace=Trace("t.trace", (1, 2, 2, 40)),
    )


def test_the_other_direction_has_the_rest_of_the_round_trip() -> None:
    assert parse("rtt_ms = 100\n[up]\ndelay_ms = 10\n").down.delay_us == 90_000
    assert parse("rtt_ms = 100\n[up]\ndelay_ms = 10\n[down]\ndelay_ms = 90\n").rtt_ms == 100


def test_a_queue_in_bandwidth_delay_products_of_a_trace_goes_by_its_mean_rate() -> None:
    profile = parse('rtt_ms = 100\ntrace_down = "t.trace"\n[down]\nqueue_bdp = 1\n')
    assert profile.down.mean_rate_bps == 4 * 1500 * 8 * 25
    assert profile.down.queue_bytes == 15_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rtt_ms = 10\nrate_down_bps = -1\n", "rate_down_bps: Input should be greater than or equal to 1000"),
        ("rtt_ms = 10\nrate_down_bps = 0\n", "rate_down_bps"),
        ("rtt_ms = 10\nrate_up_bps = 1_000_000_000_000\n", "rate_up_bps"),
        ('rtt_ms = 10\nrate_up_bps = "fast"\n', "rate_up_bps"),
        ("rtt_ms = 10\nrate_up_bps = true\n", "rate_up_bps"),
        ("rtt_ms = -1\n", "rtt_ms"),
        ("rtt_ms = nan\n", "rtt_ms"),
        ("rtt_ms = inf\n", "rtt_ms"),
        ("rtt_ms = 10\nqueue_bytes = 100\n", "queue_bytes: Input should be greater than or equal to 1514"),
        ("rtt_ms = 10\n[up]\nqueue_bytes = 1513\n", "up.queue_bytes"),
        ("rtt_ms = 10\nqueue_bytes = 9000\nqueue_bdp = 1\n", "not both"),
        ("rtt_ms = 10\nbandwidth = 3\n", "bandwidth: there is no such key"),
        ("rtt_ms = 10\n[down]\nrtt_ms = 3\n", "down.rtt_ms: there is no such key"),
        ('rtt_ms = 10\n[loss.down]\nmodel = "random"\nratio = 1.5\n', "loss.down.random.ratio"),
        ('rtt_ms = 10\n[loss]\nmodel = "random"\nratio = 1\n', "ratio"),
        ('rtt_ms = 10\n[loss.down]\nmodel = "bursty"\n', "loss.down"),
        ('rtt_ms = 10\n[loss]\nmodel = "bursty"\n', "loss: model must be one of 'none', 'random', 'gilbert-elliott'"),
        ("rtt_ms = 10\n[loss]\nratio = 0.1\n", 'loss: model is missing: give "none", "random" or "gilbert-elliott"'),
        ("rtt_ms = 10\n[loss.up]\nratio = 0.1\n", "loss.up: model is missing"),
        ("rtt_ms = 10\n[loss]\nmodel = 0x" + "f" * 5000 + "\n", "loss: model must be a text"),
        (
            'rtt_ms = 10\n[loss]\nmodel = "random"\nratio = 0.1\n[loss.down]\nmodel = "none"\n',
            "loss: give one loss for both directions in [loss], or [loss.down] and [loss.up]",
        ),
        ('rtt_ms = 10\n[loss.sideways]\nmodel = "none"\n', "loss.sideways: there is no such key"),
        ('rtt_ms = 10\nloss = "random"\n', "loss: this must be a table"),
        ("rtt_ms = 10\n[loss]\nup = 0.1\n", "loss.up: this must be a table"),
        ("rtt_ms = 10\ndown = 3\n", "down: this must be a table"),
        ('rtt_ms = 10\n[loss]\nmodel = "gilbert-elliott"\np = 1.1\nr = 0.5\n', "gilbert-elliott.p"),
        ('rtt_ms = 10\n[loss]\nmodel = "gilbert-elliott"\np = 0.1\nr = -0.5\n', "gilbert-elliott.r"),
        ('rtt_ms = 10\n[loss]\nmodel = "gilbert-elliott"\np = 0.1\nr = 0\n', "nothing ever passes"),
        ('rtt_ms = 10\n[loss]\nmodel = "gilbert-elliott"\np = 0.1\n', "r: Field required"),
        ("rtt_ms = 10\njitter_ms = 6\n", "a jitter of 6 ms is more than the delay of 5 ms"),
        ("rtt_ms = 10\n[up]\njitter_ms = 6\n", "up: a jitter of 6 ms"),
        ("rtt_ms = 10\nreorder_ratio = 2\n", "reorder_ratio"),
        ("rtt_ms = 0\nreorder_ratio = 0.1\n", "reorder_ratio needs a delay"),
        ("rtt_ms = 10\nduplicate_ratio = -0.1\n", "duplicate_ratio"),
        ("rtt_ms = 10\nburst_bytes = 1000\n", "hold a full packet, 1514 bytes"),
        ('rtt_ms = 10\ntrace_up = "t.trace"\nburst_bytes = 1514\n', "up: burst_bytes belongs to a rate"),
        ('rtt_ms = 10\ntrace_up = "t.trace"\nrate_up_bps = 1000000\n', "give rate_up_bps or trace_up, not both"),
        ('rtt_ms = 10\naqm = "red"\n', "aqm"),
        ("rtt_ms = 10\ncodel_target_ms = 5\n", 'need aqm = "codel"'),
        ('rtt_ms = 10\n[up]\naqm = "codel"\n[down]\ncodel_interval_ms = 50\n', 'down: codel_target_ms and codel_interval_ms'),
        ('rtt_ms = 10\nrate_up_bps = 8000\naqm = "codel"\ncodel_target_ms = 100\n', "must be less than codel_interval_ms"),
        ('rtt_ms = 10\naqm = "codel"\n', 'down: aqm = "codel" needs a rate'),
        ('rtt_ms = 10\nrate_down_bps = 8000\n[up]\naqm = "codel"\n', "nothing waits (give rate_up_bps or trace_up)"),
        ("rtt_ms = 10\nqueue_bdp = 1\n", "down: queue_bdp needs a rate"),
        (
            'rtt_ms = 100\ntrace_down = "t.trace"\n[up]\nqueue_bdp = 1\n',
            "no bandwidth-delay product (give rate_up_bps or trace_up)",
        ),
        ("rtt_ms = 10\n[down]\ndelay_ms = 11\n", "more than the whole rtt_ms"),
        ("rtt_ms = 10\n[down]\ndelay_ms = 4\n[up]\ndelay_ms = 5\n", "but the two delay_ms are 9 together"),
        ("rtt_ms = 10\npacket_overhead_bytes = 5000\n", "packet_overhead_bytes"),
        ("", "rtt_ms"),
        ("rtt_ms = ", "is not TOML"),
        ("rtt_ms = 10\nrtt_ms = 20\n", "is not TOML"),
        ("rtt_ms = " + "9" * 5000 + "\n", "it has an integer of thousands of digits"),
        ("x = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("rtt_ms = 10\n[" + "a." * 100_000 + "a]\n", "line 5 has more than 1000 dots"),
    ],
)  # fmt: skip
def test_an_absurd_profile_is_refused_with_its_reason(text: str, says: str) -> None:
    said = refusal(text)
    assert says in said
    assert said.startswith("x.toml is ")


def test_all_that_is_wrong_is_told_at_once() -> None:
    said = refusal("rtt_ms = -1\nrate_up_bps = 3\ncolour = 'red'\n")
    assert all(key in said for key in ("rtt_ms", "rate_up_bps", "colour"))


def test_a_wrong_key_in_the_loss_for_both_directions_is_told_once() -> None:
    said = refusal('rtt_ms = 10\n[loss]\nmodel = "random"\nratio = 1\ncolour = 3\n')
    assert (
        said
        == "x.toml is refused: loss.random.ratio: Input should be less than 1; loss.random.colour: there is no such key"
    )


def test_of_very_many_wrong_keys_the_first_are_told_and_the_others_counted() -> None:
    said = refusal("rtt_ms = 10\n" + "".join(f"x{number} = 1\n" for number in range(1000)))
    assert "x9: there is no such key; and 990 more" in said
    assert "x10" not in said


def test_no_refusal_speaks_of_the_reader_s_own_parts() -> None:
    for key in ("name", "rtt_ms", "rate_up_bps", "trace_up", "loss", "loss.down", "down", "aqm", "queue_bdp"):
        for value in ("3", '"x"', "[1]", "{ a = 1 }", "1979-05-27", "true", "0x" + "f" * 5000):
            with pytest.raises(ProfileError) as caught:
                parse_profile(f"{key} = {value}", "x.toml")
            assert not any(
                word in str(caught.value) for word in ("instance", "_Loss", "OneDirection", "(one)", "(by", "limit")
            )


@pytest.mark.parametrize("where", ["", "[down]\n"])
def test_codel_and_bandwidth_delay_products_are_meant_for_the_direction_that_has_a_rate(where: str) -> None:
    profile = parse(f'rtt_ms = 100\nrate_down_bps = 8_000_000\n{where}aqm = "codel"\nqueue_bdp = 1\n')
    assert (profile.down.codel, profile.down.queue_bytes) == (CoDel(), 100_000)
    assert (profile.up.codel, profile.up.queue_bytes) == (None, None)


def test_codel_follows_a_trace() -> None:
    assert parse('rtt_ms = 100\ntrace_up = "t.trace"\n[up]\naqm = "codel"\n').up.codel == CoDel()


def test_a_trace_where_none_can_be_read_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"names a trace, 't.trace', and traces cannot be read here"):
        parse_profile(HEAD + 'rtt_ms = 10\ntrace_down = "t.trace"\n', "x.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "at least one time above 0 ms"),
        ("0\n0\n", "at least one time above 0 ms"),
        ("1\nten\n", "line 2: 'ten' is not a time in ms"),
        ("1\n\n-3\n", "line 3: '-3' is not a time in ms"),
        ("1.5\n", "line 1: '1.5' is not a time in ms"),
        ("٣\n", "is not a time in ms"),
        ("9999999999\n", "is not a time in ms"),
        ("5\n4\n", "line 2: time goes back from 5 to 4 ms"),
        ("100000\n", "it lets 120 bit/s pass on average"),
    ],
)
def test_a_trace_with_rubbish_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_trace(text, "t.trace")
    assert says in str(caught.value)
    assert "the trace t.trace is refused" in str(caught.value)


def test_a_trace_may_have_empty_lines_and_windows_line_ends() -> None:
    assert parse_trace("1\r\n\r\n 2 \r\n2\r\n", "t").opportunities_ms == (1, 2, 2)


@given(st.lists(st.sampled_from(["1", "7", "", " "]), min_size=1), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_line_of_an_error_is_counted_with_any_line_ends(lines: list[str], line_end: str) -> None:
    with pytest.raises(ProfileError, match=rf": line {len(lines) + 1}: 'ten' is not a time"):
        parse_trace(line_end.join([*sorted(lines), "ten"]), "t")


def test_a_trace_of_too_many_lines_is_refused() -> None:
    with pytest.raises(ProfileError, match="more than 2000000 lines"):
        parse_trace("1\n" * 2_000_001, "t")


_ratio = st.floats(0, 0.99)
_loss = st.one_of(
    st.fixed_dictionaries({"model": st.just("none")}),
    st.fixed_dictionaries({"model": st.just("random"), "ratio": _ratio}),
    st.fixed_dictionaries(
        {"model": st.just("gilbert-elliott"), "p": _ratio, "r": st.floats(0.01, 1)},
        optional={"bad_loss_ratio": _ratio, "good_loss_ratio": _ratio},
    ),
)
_shared = {
    "queue_bytes": st.integers(1514, 10**9),
    "burst_bytes": st.one_of(st.just(0), st.integers(1514, 10**6)),
    "jitter_ms": st.floats(0, 5),
    "jitter_reorders": st.booleans(),
    "reorder_ratio": _ratio,
    "duplicate_ratio": _ratio,
    "packet_overhead_bytes": st.integers(0, 200),
    "aqm": st.sampled_from(["drop-tail", "codel"]),
}
_files = st.fixed_dictionaries(
    {"rtt_ms": st.floats(20, 60_000)},
    optional={
        "rate_down_bps": st.integers(1000, 10**11),
        "rate_up_bps": st.integers(1000, 10**11),
        "loss": st.one_of(_loss, st.fixed_dictionaries({"down": _loss}, optional={"up": _loss})),
        "down": st.fixed_dictionaries({}, optional={**_shared, "delay_ms": st.floats(6, 14)}),
        "up": st.fixed_dictionaries({}, optional=_shared),
        **_shared,
    },
)


def toml(table: dict[str, Any], path: str = "") -> str:
    """A table as TOML: plain values first, then the tables in it."""
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items() if key not in tables]
    for key, value in tables.items():
        lines += [f"[{path}{key}]", toml(value, f"{path}{key}.")]
    return "\n".join(lines)


def paced(says: dict[str, Any]) -> dict[str, Any]:
    """The file with a rate for each direction, if it speaks of CoDel anywhere."""
    if "codel" not in (says.get("aqm"), says.get("down", {}).get("aqm"), says.get("up", {}).get("aqm")):
        return says
    return {"rate_down_bps": 1000, "rate_up_bps": 1000, **says}


@given(_files.map(paced))
def test_what_an_accepted_file_says_travels_as_json(says: dict[str, Any]) -> None:
    profile = parse(toml(says))
    copy = Profile.from_facts("x", json.loads(json.dumps(profile.facts())))
    assert (copy.down, copy.up) == (profile.down, profile.up)


def test_a_trace_travels_as_json() -> None:
    profile = parse('rtt_ms = 10\ntrace_down = "t.trace"\n')
    assert Profile.from_facts("x", json.loads(json.dumps(profile.facts()))).down == profile.down


@given(st.text(alphabet="0123456789abc[]=._\"'\n ", max_size=60))
def test_any_text_is_a_profile_or_a_profile_error(text: str) -> None:
    with contextlib.suppress(ProfileError):
        parse_profile(text, "x.toml")
