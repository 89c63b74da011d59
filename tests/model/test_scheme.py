"""Scheme names with parameters, as people type them."""

from __future__ import annotations

import pytest

from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import MappingError, UsageError
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request
from mixedsched.model.scheme import ConfiguredScheme, by_name, configure, split_specs
from mixedsched.world import catalog

HERO = Request(0, "/hero.jpg", Kind.IMAGE, Priority(1, True), True, ChromiumPriority.HIGH)


def configured(spec: str, mapping: str | None = None) -> ConfiguredScheme:
    return configure(spec, SCHEMES, catalog.load_mapping, mapping)


def test_the_schemes_of_gupta_and_bartos_and_eps_are_there() -> None:
    assert {"sequential", "stock", "nip", "ip", "mixed", "eps"} <= set(SCHEMES)
    assert list(SCHEMES) == sorted(SCHEMES)
    assert all(scheme.description and scheme.source and scheme.needs for scheme in SCHEMES.values())


def test_parameters_have_defaults_and_can_be_set() -> None:
    assert configured("ip").values["alpha"] == 1.0
    assert configured("ip:alpha=0.5").values["alpha"] == 0.5
    both = configured("mixed:alpha=0.25,n_interrupts_i=no")
    assert (both.values["alpha"], both.values["n_interrupts_i"]) == (0.25, "no")


def test_a_switch_chooses_a_cell_of_the_mapping() -> None:
    assert configured("mixed").place(HERO) == Priority(3, True)
    assert configured("mixed:high_media=N").place(HERO) == Priority(2, False)


def test_another_mapping_can_be_named() -> None:
    assert configured("mixed", "chromium").place(HERO) == HERO.signal
    assert configured("eps", "gupta2024").place(HERO) == Priority(3, True)


def test_a_switch_that_the_other_mapping_lacks_is_refused() -> None:
    with pytest.raises(MappingError, match="has no switch 'high_media'"):
        configured("mixed:high_media=N", "chromium")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mixd", "did you mean 'mixed'?"),
        ("", "known: adaptive, batched-rr"),
        ("ip:alpha=2", "a number from 0 to 1"),
        ("ip:alpha=nan", "a number from 0 to 1"),
        ("ip:alpha=much", "a number from 0 to 1"),
        ("ip:beta=1", "has no parameter 'beta'"),
        ("ip:alpha", "write parameter=value"),
        ("sequential:alpha=1", "scheme 'sequential' takes none"),
        ("mixed:high_media=maybe", "known: I, N"),
    ],
)
def test_a_bad_specification_is_refused_with_a_hint(spec: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        configured(spec)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("sequential,mixed", ("sequential", "mixed")),
        ("sequential, mixed:alpha=0.5,high_media=N ,eps", ("sequential", "mixed:alpha=0.5,high_media=N", "eps")),
        ("ip:alpha=0,ip:alpha=1", ("ip:alpha=0", "ip:alpha=1")),
        ("ip:alpha=0.5:high_media=N", ("ip:alpha=0.5:high_media=N",)),
    ],
)
def test_lists_of_schemes_may_hold_parameters_with_commas(text: str, specs: tuple[str, ...]) -> None:
    assert split_specs(text) == specs
    for spec in specs:
        configured(spec)


def test_an_empty_list_of_schemes_is_refused() -> None:
    with pytest.raises(UsageError, match="no scheme is named"):
        split_specs(" , ")


def test_two_schemes_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two schemes are named 'eps'"):
        by_name([SCHEMES["eps"], SCHEMES["eps"]])
