"""Algorithm 1 of the mixed-delivery paper, and the choices it leaves open."""

from __future__ import annotations

import pytest

from tests.core.schedulers.wire import Wire, placed, wire


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("document@VeryHigh", "u=0"),
        ("stylesheet@VeryHigh", "u=1"),
        ("font@VeryHigh", "u=1"),
        ("font@High", "u=2"),
        ("script@High", "u=2"),
        ("image@High", "u=3, i"),
        ("script@Medium", "u=3"),
        ("image@Medium", "u=4, i"),
        ("script@Low", "u=4, i"),
        ("image@Low", "u=5, i"),
        ("media@Low", "u=5, i"),
        ("xhr@Low", "u=5, i"),
        ("other@VeryLow", "u=6, i"),
    ],
)
@pytest.mark.parametrize("spec", ["mixed", "nip", "ip"])
def test_placements_are_the_printed_cells_of_table_i(spec: str, resource: str, expected: str) -> None:
    assert placed(spec, resource) == expected


def test_the_papers_example() -> None:
    # N1 is under way when N2 and N3 come, N3 more urgent; then I1 and I2, I1 more urgent; last N4
    line = Wire("mixed", "A3:u=1").send(1).add("B2:u=3 C2:u=2").add("D3:u=4,i E3:u=5,i").send(5)
    assert line.out == "AAACCB"
    assert line.add("F1:u=0").send().out == "AAACCBBFDEDEDE"


def test_non_incremental_goes_before_incremental_whatever_the_urgency() -> None:
    assert wire("mixed", "A2:u=1,i B2:u=5") == "BBAA"


def test_a_non_incremental_response_in_progress_is_not_interrupted() -> None:
    assert Wire("mixed", "A3:u=5").send(1).add("B1:u=0").send().out == "AAAB"


def test_a_new_non_incremental_response_interrupts_incremental_ones() -> None:
    assert Wire("mixed", "A3:u=3,i").send(1).add("B2:u=3").send().out == "ABBAA"


def test_or_waits_until_none_can_send_when_told_so() -> None:
    assert Wire("mixed:n_interrupts_i=no", "A3:u=3,i").send(1).add("B2:u=3").send().out == "AAABB"


def test_but_a_blocked_incremental_response_never_idles_the_link() -> None:
    line = Wire("mixed:n_interrupts_i=no", "A3:u=3,i").send(1).add("B2:u=3").pause("A").send(1).resume("A").send()
    assert line.out == "ABBAA"


def test_a_block_in_progress_goes_on_before_incremental_responses_even_if_new_blocks_would_wait() -> None:
    line = Wire("mixed:n_interrupts_i=no", "A3:u=1 B3:u=3,i").send(1).pause("A").send(1).resume("A").send()
    assert line.out == "ABAABB"


def test_incremental_responses_share_by_urgency() -> None:
    out = Wire("mixed", "A900:u=3,i B900:u=5,i").send(900).out
    assert abs(out.count("A") / 900 - 0.611) < 0.003
    even = Wire("mixed:alpha=0", "A900:u=3,i B900:u=5,i").send(900).out
    assert even.count("A") == 450


def test_moving_between_the_queues_takes_effect_at_the_next_packet() -> None:
    line = Wire("mixed", "A4:u=3,i B4:u=4,i").send(2).move("B", "u=4").send()
    assert line.out == "ABBBBAAA"
