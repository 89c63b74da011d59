from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import ExitCode, MixedschedError, StudyError
from mixedsched.lab.study.definition import PIPE_LINK, Study, changes, read_study
from mixedsched.world.browser.kinds import Browser

SMALL: dict[str, Any] = {
    "format": "mixedsched.study/1",
    "name": "small",
    "rung": "stack",
    "sites": ["agency", "davies-meenan"],
    "links": ["4g", "cdn"],
    "arms": ["sequential", "mixed", "mixed:high_media=N"],
    "baseline": "sequential",
    "blocks": 4,
    "primary": ["lcp", "fcp"],
}


def small(**changed: Any) -> Study:
    tables = {**SMALL, **changed}
    return Study.from_dict({key: value for key, value in tables.items() if value is not None})


def write(folder: Path, text: str) -> Path:
    file = folder / "study.toml"
    file.write_text(text)
    return file


def toml(**changed: Any) -> str:
    tables = {**SMALL, **changed}
    lines = []
    for key, value in tables.items():
        if value is not None:
            told = str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
            lines.append(f"{key} = {told}\n")
    return "".join(lines)


def test_a_file_says_all_that_there_is_to_a_study(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, toml(variation=True, seed=7)))
    assert (study.arms, study.baseline, study.blocks, study.seed) == (tuple(SMALL["arms"]), "sequential", 4, 7)
    assert study.primary == ("lcp_ms", "fcp_ms")
    assert study.variation


def test_a_definition_survives_its_way_through_json() -> None:
    study = small(rung="browser", cpu_slowdown=4.0, across_connections=True)
    assert Study.from_dict(study.to_dict()) == study


def test_primary_metrics_are_measured() -> None:
    assert "tti_ms" in small(primary=["tti"]).metrics


def test_rung_pipe_has_a_link_of_its_own() -> None:
    study = small(rung="pipe", links=None)
    assert study.links == (PIPE_LINK,)
    assert study.read_links() == [None]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"blokcs": 3}, "did you mean 'blocks'?"),
        ({"arms": ["sequential", "mixd"]}, "did you mean 'mixed'?"),
        ({"arms": ["sequential", "mixed:high_medai=N"]}, "did you mean 'high_media'?"),
        ({"links": ["5g"]}, "known: "),
        ({"blocks": 0}, "blocks: "),
        ({"blocks": True}, "blocks: "),
        ({"sites": []}, "sites: this must not be empty"),
        ({"sites": "agency"}, "sites: this must be a list"),
        ({"sites": ["agency", "agency"]}, "'agency' is named twice"),
        ({"links": None}, "links: "),
        ({"arms": ["sequential"]}, "nothing to compare"),
        ({"baseline": "nip"}, "'nip' is not one of the arms"),
        ({"primary": ["lpc"]}, "there is no metric 'lpc'"),
        ({"rung": "stak"}, "rung: "),
        ({"format": "mixedsched.study/2"}, "format: "),
        ({"cpu_slowdown": 4}, "cpu_slowdown: on rung stack"),
        ({"rung": "pipe", "variation": True}, "variation: on rung pipe"),
        ({"mapping": "chromum"}, "did you mean"),
        ({"browser_model": "chromum"}, "did you mean 'chromium'?"),
        ({"name": ""}, "name: "),
        ({"folder": "/"}, "there is no key 'folder'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    with pytest.raises(MixedschedError) as refused:
        read_study(write(tmp_path, toml(**changed)))
    assert told in str(refused.value)
    assert refused.value.exit_code is ExitCode.BAD_INPUT


@pytest.mark.parametrize("text", ["", "name = ", "[name]\n", "\xff", 'name = "' + "a" * 2_000_000 + '"'])
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(StudyError):
        read_study(write(tmp_path, text))


def test_a_list_with_a_wrong_item_is_not_also_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as refused:
        read_study(write(tmp_path, toml(sites=[1])))
    assert refused.value.why == "sites.0: Input should be a valid string"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="No such file"):
        read_study(tmp_path / "none.toml")


def test_files_of_networks_are_seen_from_the_study(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(
        'name = "slow"\ndescription = ""\nsource = ""\nrtt_ms = 50\nrate_down_bps = 9000\n'
    )
    study = read_study(write(tmp_path, toml(links=["slow.toml"])))
    assert [item and item.name for item in study.read_links()] == ["slow"]


def test_two_links_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('name = "a"\ndescription = ""\nsource = ""\nrtt_ms = 50\n')
    with pytest.raises(StudyError, match="are both named 'a'"):
        read_study(write(tmp_path, toml(links=["a.toml", "b.toml"])))


@given(
    st.permutations(["agency", "davies-meenan", "shop"]),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(1, 9),
    st.integers(0, 9),
)
def test_what_is_only_added_is_known_to_be(
    sites: list[str], sites_before: int, links_added: int, blocks: int, blocks_added: int
) -> None:
    links = ["4g", "cdn", "3g"]
    before = small(sites=sites[:sites_before], links=links[: 3 - links_added], blocks=blocks)
    after = small(sites=sorted(sites), links=links[::-1], blocks=blocks + blocks_added)
    found = changes(before, after)
    assert found.only_add
    assert len(found.words) == (sites_before < 3) + (links_added > 0) + (blocks_added > 0)
    back = changes(after, before)
    assert back.only_add == (not found.words)
    assert len(back.words) == len(found.words)


def test_arms_may_be_added_to_simulated_loads_only() -> None:
    more = [*SMALL["arms"], "nip"]
    assert changes(small(), small(arms=more)).only_add
    assert not changes(small(rung="browser"), small(rung="browser", arms=more)).only_add
    assert not changes(small(arms=more), small()).only_add


@pytest.mark.parametrize(
    "changed", [{"seed": 2}, {"baseline": "mixed"}, {"variation": True}, {"primary": ["fcp"]}, {"blocks": 3}]
)
def test_any_other_change_is_told_with_both_values(changed: dict[str, Any]) -> None:
    found = changes(small(), small(**changed))
    assert not found.only_add
    assert found.words[0].partition(":")[0] in changed
    assert "->" in found.words[0]


def test_nothing_has_changed_where_defaults_are_written_out() -> None:
    assert changes(small(), small(seed=1, metrics=["fcp", "lcp", "tbt", "si", "cls"])) == changes(small(), small())
    assert changes(small(), small()).words == ()


def test_the_same_study_in_firefox_has_a_name_and_metrics_of_its_own() -> None:
    chromium = small(rung="browser", primary=["lcp"], metrics=["lcp", "si", "tti", "cls"])
    firefox = chromium.in_browser(Browser.FIREFOX)
    assert (firefox.name, firefox.metrics) == ("small-firefox", ("lcp_ms", "si_ms"))
    assert firefox.conditions.browser is Browser.FIREFOX
    assert firefox.in_browser(Browser.FIREFOX) == firefox
    assert not changes(chromium, firefox).only_add  # so no folder holds loads of both


def test_a_study_file_may_name_firefox_and_gets_what_that_measures() -> None:
    assert small(rung="browser", browser="firefox").metrics == ("fcp_ms", "lcp_ms", "si_ms")
    for refused in ({"metrics": ["lcp", "tti"]}, {"primary": ["hol"]}, {"cpu_slowdown": 4.0}, {"rung": "stack"}):
        with pytest.raises(StudyError):
            small(**{"rung": "browser", "browser": "firefox", **refused})


def test_a_study_whose_question_firefox_cannot_answer_is_not_asked_there() -> None:
    with pytest.raises(StudyError, match="Firefox does not measure TBT"):
        small(rung="browser", primary=["tbt"]).in_browser(Browser.FIREFOX)
    with pytest.raises(StudyError, match="no browser"):
        small().in_browser(Browser.FIREFOX)
