"""The library: what docs/library.md shows is so, and importing it costs nothing."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

import mixedsched as ms

DOCS = Path(__file__).parents[1] / "docs"


def test_the_examples_of_its_page_run() -> None:
    outcome = doctest.testfile(str(DOCS / "library.md"), module_relative=False, optionflags=doctest.REPORT_NDIFF)
    assert outcome.attempted >= 10
    assert outcome.failed == 0


def test_every_listed_name_is_there_and_has_a_docstring() -> None:
    for name in ms.__all__:
        assert getattr(ms, name).__doc__, name


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = ms.simulat  # type: ignore[attr-defined]


def test_importing_it_imports_nothing_else_of_the_package() -> None:
    script = "import sys, mixedsched; print([name for name in sys.modules if name.startswith('mixedsched.')], dir(mixedsched))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("[] ")
    assert "simulate" in printed


def test_a_simulated_load_is_what_the_command_prints() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "mixedsched", "simulate", "davies-meenan", "--scheme", "mixed:alpha=0.5", "--json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    load = ms.simulate("davies-meenan", "mixed:alpha=0.5")
    assert json.loads(printed) == json.loads(json.dumps(load.to_dict()))


def test_bad_arguments_are_refused_as_on_the_command_line() -> None:
    with pytest.raises(ms.MixedschedError, match="there is no scheme"):
        ms.simulate("davies-meenan", "mixt")
    with pytest.raises(ms.MixedschedError, match="there is no network profile"):
        ms.load_network("5g")
    with pytest.raises(ms.MixedschedError, match="there is no page"):
        ms.load_page("nowhere")
