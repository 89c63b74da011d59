"""Browser models: what their files say, what is refused, where they are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import BrowserModelError, ExitCode
from mixedsched.model.browser_model import IDEAL, BrowserModel, dump_browser_model, parse_browser_model
from mixedsched.world import catalog

HEAD = 'format = "mixedsched.browser-model/1"\nname = "x"\nsource = "made up"\n'

work = st.floats(0, 100)
limit = st.none() | st.integers(1, 10_000)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
models = st.builds(
    BrowserModel,
    name=text.filter(bool),
    source=text,
    document_ms_per_kb=work,
    style_ms_per_kb=work,
    script_ms_per_kb=work,
    decode_ms_per_kb=work,
    paint_ms=st.floats(0, 10_000),
    ask_ms=st.floats(0, 10_000),
    early_low=limit,
    early_medium=limit,
    low_per_host=limit,
    low_per_page=limit,
    finds_at_layout=st.booleans(),
)
evidence = st.dictionaries(
    text,
    st.recursive(
        text | st.integers() | st.floats() | st.booleans() | st.dates(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)


def test_what_a_file_leaves_out_is_no_work_and_no_limit() -> None:
    assert parse_browser_model(HEAD, "x.toml") == replace(IDEAL, name="x", source="made up")


@given(models, evidence)
def test_a_model_is_read_back_from_its_file_whatever_its_evidence(
    model: BrowserModel, facts: dict[str, object]
) -> None:
    assert parse_browser_model(dump_browser_model(model, facts), "x.toml") == model


def test_evidence_may_be_anything_that_toml_can_say() -> None:
    facts = "[evidence]\nat = 2026-11-22T08:00:00Z\n[[evidence.loads]]\nsite = 'x'\n[evidence.a.'b.c']\nd = [1, [2]]\n"
    assert parse_browser_model(HEAD + facts, "x.toml").name == "x"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("script_ms_per_kb = -0.1", "script_ms_per_kb"),
        ("script_ms_per_kb = 101.0", "script_ms_per_kb"),
        ("decode_ms_per_kb = nan", "decode_ms_per_kb"),
        ("paint_ms = inf", "paint_ms"),
        ("paint_ms = 'soon'", "paint_ms"),
        ("low_per_host = 0", "low_per_host"),
        ("early_low = 2.5", "early_low"),
        ("finds_at_layout = 1", "finds_at_layout"),
        ("finds_at_once = true", "finds_at_once: there is no such key"),
        ("evidence = 1", "evidence: this must be a table"),
    ],
)
def test_a_bad_model_is_refused_with_its_reason(written: str, says: str) -> None:
    with pytest.raises(BrowserModelError) as caught:
        parse_browser_model(HEAD + written + "\n", "x.toml")
    assert "x.toml is refused" in str(caught.value)
    assert says in str(caught.value)
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_ideal_is_built_in_and_chromium_withholds() -> None:
    assert catalog.load_browser_model("ideal") is IDEAL
    assert IDEAL.is_ideal
    assert not IDEAL.withholds
    chromium = catalog.load_browser_model("chromium")
    assert chromium.withholds
    assert not chromium.is_ideal


def test_a_model_is_found_by_the_path_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(HEAD)
    assert catalog.load_browser_model(str(tmp_path / "mine.toml")).name == "x"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(
        BrowserModelError, match=r"there is no browser model 'idela' \(did you mean 'ideal'\? known: .*chromium"
    ):
        catalog.load_browser_model("idela")
