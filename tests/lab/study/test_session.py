import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from mixedsched.errors import ExitCode, InputError, MixedschedError, StudyError, UsageError
from mixedsched.lab.play.scenario import seeds_for, varied
from mixedsched.lab.play.simulation import simulate
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study import _playing as playing
from mixedsched.lab.study import session
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.places import Place
from mixedsched.lab.study.results import StudyResult
from mixedsched.lab.study.session import run_study
from mixedsched.lab.study.work import UnobservedStudy
from mixedsched.sites.pages import load_page
from mixedsched.world.catalog import load_profile
from mixedsched.world.store import NewLoad, PlannedBlock, PlannedPlace, StoredLoad, StudyStore
from tests.examples import examples
from tests.lab.study.small import ARMS, LOADS_OF_BLOCK, PLACES, quick_study, small_study, write_pages

SMALLER = {"links": ["wifi-lossy"], "arms": list(ARMS[:2])}


def run(study: Study, folder: Path, **more: Any) -> StudyResult:
    """In this process, as starting others takes longer than all these loads."""
    return run_study(study, folder=folder, jobs=1, **more)


def loads_in(folder: Path) -> list[StoredLoad]:
    with StudyStore(f"sqlite:///{folder / DATABASE_NAME}") as store:
        return list(store.loads(store.studies()[0].id))


def told(loads: list[StoredLoad]) -> list[Any]:
    """What must not depend on the way in which they came about."""
    return sorted(
        (item.place_id, item.block, item.arm, item.seed, item.status, sorted(item.values.items())) for item in loads
    )


class Stopping(UnobservedStudy):
    """Ends the work as Ctrl-C would, with a load that is over."""

    def __init__(self, after: int) -> None:
        self._left = after

    def loaded(self, place: Place, block: int, load: NewLoad) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """All loads of a study that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    assert not run(small_study(folder), folder / "out").is_partial
    return told(loads_in(folder / "out"))


def test_every_arm_is_played_once_in_every_block_of_every_place(whole: list[Any]) -> None:
    assert len(whole) == PLACES * 2 * LOADS_OF_BLOCK
    assert {row[4] for row in whole} == {"ok"}


def test_a_load_is_that_of_simulate(tmp_path: Path) -> None:
    run(small_study(tmp_path, variation=False, links=["wifi-lossy"], seed=5), tmp_path / "out")
    last = next(item for item in reversed(loads_in(tmp_path / "out")) if item.arm == "mixed" and item.block == 2)
    alone = simulate(str(tmp_path / "pages" / "two.json"), "mixed", link="wifi-lossy", seed=6).to_dict()
    assert (last.values["lcp_ms"], last.values["finished_ms"]) == (alone["estimate_ms"]["lcp"], alone["finished_ms"])


def test_with_variation_a_link_without_losses_repeats_over_the_networks_that_tune_plays(tmp_path: Path) -> None:
    study = small_study(tmp_path, links=["cable"], sites=["pages/two.json"], blocks=6, seed=3)
    found = run(study, tmp_path / "out").places[0]
    assert not found.is_exact
    assert len(set(found.row(0, "lcp_ms"))) == 6
    assert all(effect.low is not None for effect in found.effects if effect.metric.key == "lcp_ms")
    cable, page = load_profile("cable"), load_page(tmp_path / "pages" / "two.json")
    for load in loads_in(tmp_path / "out"):
        seed = seeds_for(3, 6)[load.block - 1]
        alone = simulate(page, load.arm, link=varied(cable, seed), seed=seed)
        assert (load.seed, load.values["finished_ms"]) == (seed, alone.finished_ms)


def test_where_nothing_is_random_a_place_has_one_block(tmp_path: Path) -> None:
    found = run(small_study(tmp_path, variation=False), tmp_path / "out")
    done = {(place.link, place.is_exact): len(place.blocks) for place in found.places}
    assert done == {("wifi-lossy", False): 2, ("cable", True): 1}


def test_rung_pipe_plays_its_own_pipe_as_simulate_does(tmp_path: Path) -> None:
    run(small_study(tmp_path, rung="pipe", links=["pipe", "3g"], variation=False), tmp_path / "out")
    loads = loads_in(tmp_path / "out")
    assert len(loads) == PLACES * LOADS_OF_BLOCK
    alone = simulate(str(tmp_path / "pages" / "one.json"), "sequential")
    assert any(item.values["finished_ms"] == alone.finished_ms for item in loads)


@pytest.fixture(scope="module")
def smaller(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """All loads of a study of three places, with two blocks of two arms each."""
    folder = tmp_path_factory.mktemp("smaller")
    run(small_study(folder, **SMALLER), folder / "out")
    return told(loads_in(folder / "out"))


@examples(10)
@given(stops=st.lists(st.integers(1, 11), min_size=1, max_size=3))
def test_wherever_it_is_interrupted_the_same_call_goes_on(
    stops: list[int], smaller: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stopped")
    study = small_study(folder, **SMALLER)
    assert len(smaller) == 12
    played = 0
    for after in stops:
        try:
            run(study, folder / "out", observer=Stopping(after))
        except KeyboardInterrupt:
            played += after
        else:
            played = len(smaller)
        assert len(loads_in(folder / "out")) == played
    assert not run(study, folder / "out").is_partial
    assert told(loads_in(folder / "out")) == smaller


@pytest.mark.parametrize(
    "fewer", [{"blocks": 1}, {"links": ["wifi-lossy"]}, {"sites": ["pages/three.json"]}, {"arms": list(ARMS[:2])}]
)
def test_what_is_added_joins_what_is_there(fewer: dict[str, Any], whole: list[Any], tmp_path: Path) -> None:
    run(small_study(tmp_path, **fewer), tmp_path / "out")
    before = loads_in(tmp_path / "out")
    more = {"sites": ["pages/three.json", "pages/o*.json", "pages/two.json"]} if "sites" in fewer else {}
    found = run(small_study(tmp_path, **more), tmp_path / "out")
    after = loads_in(tmp_path / "out")
    assert not found.is_partial
    assert len(after) == len(whole)
    assert {(item.place_id, item.block, item.arm, item.position) for item in before} <= {
        (item.place_id, item.block, item.arm, item.position) for item in after
    }
    assert sorted(map(str, (row[2:] for row in told(after)))) == sorted(map(str, (row[2:] for row in whole)))


@pytest.mark.parametrize("changed", [{"seed": 2}, {"primary": ["fcp"]}, {"arms": list(ARMS[:2])}])
def test_a_study_that_changed_otherwise_is_refused_with_what_changed(changed: dict[str, Any], tmp_path: Path) -> None:
    run(quick_study(tmp_path), tmp_path / "out")
    with pytest.raises(UsageError) as refused:
        run(quick_study(tmp_path, **changed), tmp_path / "out")
    assert next(iter(changed)) in refused.value.why
    assert "--out" in refused.value.fix


def test_a_page_that_changed_is_refused(tmp_path: Path) -> None:
    run(quick_study(tmp_path), tmp_path / "out")
    write_pages(tmp_path / "other", ("two", "one"))
    (tmp_path / "other" / "one.json").replace(tmp_path / "pages" / "one.json")
    study = Study.from_dict(quick_study(tmp_path / "unused").to_dict(), tmp_path)
    with pytest.raises(UsageError, match=r"pages/one over wifi-lossy is not what it was"):
        run(study, tmp_path / "out")


def test_loads_of_other_versions_are_refused_with_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(quick_study(tmp_path), tmp_path / "out")
    now = session.own_versions(())
    monkeypatch.setattr(session, "own_versions", lambda _: {**now, "code": "fedcba987654"})
    with pytest.raises(UsageError, match=r"code [0-9a-f]{12} -> fedcba987654"):
        run(quick_study(tmp_path), tmp_path / "out")


@pytest.mark.parametrize(
    ("sites", "told_of"),
    [
        (["agnecy"], "did you mean 'agency'?"),
        (["gupta2025/*"], "'gupta2025/*' matches nothing"),
        (["pages/*.html"], "matches nothing"),
        (["."], "holds no page"),
        (["x" * 300], "that does not exist"),
        (["a\0b"], "that does not exist"),
    ],
)
def test_sites_that_are_not_there_are_refused(tmp_path: Path, sites: list[str], told_of: str) -> None:
    with pytest.raises(StudyError, match=r".*") as refused:
        run(quick_study(tmp_path, sites=sites), tmp_path / "out")
    assert told_of in str(refused.value)
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_page_whose_name_is_no_text_is_refused_as_nothing_could_tell_of_it(tmp_path: Path) -> None:
    study = quick_study(tmp_path, sites=["pages"])
    (tmp_path / "pages" / "one.json").rename(tmp_path / "pages" / os.fsdecode(b"caf\xe9.json"))
    with pytest.raises(StudyError, match=r"pages/caf\\xe9.json' has a name that is not UTF-8"):
        run(study, tmp_path / "out")


def test_sites_that_results_could_not_tell_apart_are_refused(tmp_path: Path) -> None:
    study = quick_study(tmp_path, sites=["pages/*"])
    (tmp_path / "pages" / "one").mkdir()
    (tmp_path / "pages" / "two.json").rename(tmp_path / "pages" / "one" / "page.json")
    with pytest.raises(StudyError, match=r"two sites of the study are called 'pages/one'"):
        run(study, tmp_path / "out")


def test_places_that_others_add_meanwhile_are_left_to_them(tmp_path: Path) -> None:
    class Adding(UnobservedStudy):
        def loaded(self, place: Place, block: int, load: NewLoad) -> None:
            with StudyStore(f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}") as store:
                store.add_places(1, [PlannedPlace(PLACES, "new", "cable", {}, [PlannedBlock(1, 0)])])

    found = run(quick_study(tmp_path), tmp_path / "out", observer=Adding())
    assert [place.site for place in found.places if place.missing] == ["new"]


def test_arms_that_a_worker_knew_nothing_of_are_played_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had the study's earlier definition, and went on while another process added arms."""
    run(quick_study(tmp_path, arms=list(ARMS[:2])), tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(playing, "schemes_of", lambda _: [])
        assert run(quick_study(tmp_path), tmp_path / "out").is_partial
    assert not run(quick_study(tmp_path), tmp_path / "out").is_partial


def test_a_part_of_the_places_can_be_asked_for(tmp_path: Path) -> None:
    found = run(quick_study(tmp_path), tmp_path / "out", only="pages/t*@cable")
    assert [(place.site, place.link) for place in found.places] == [("pages/three", "cable"), ("pages/two", "cable")]
    with pytest.raises(UsageError, match="names no place"):
        run(quick_study(tmp_path), tmp_path / "out", only="four")


def test_a_folder_serves_one_run_at_a_time(tmp_path: Path) -> None:
    class Intruding(UnobservedStudy):
        def loaded(self, place: Place, block: int, load: NewLoad) -> None:
            run(quick_study(tmp_path), tmp_path / "out")

    with pytest.raises(MixedschedError, match="choose another --out"):
        run(quick_study(tmp_path), tmp_path / "out", observer=Intruding())


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with (
        StudyStore(f"sqlite:///{tmp_path / DATABASE_NAME}") as store,
        pytest.raises(InputError, match="none was begun"),
    ):
        session.stored_results(store)


def test_an_in_order_receiver_is_the_one_of_simulate_and_costs_time_where_packets_are_lost(tmp_path: Path) -> None:
    arms = {"arms": ["packet-rr", "sequential"], "links": ["sander-loss5"], "blocks": 4}
    finished = []
    for in_order in (False, True):
        study = small_study(tmp_path, hol_blocking=in_order, variation=False, **arms)
        run(study, tmp_path / f"{in_order}")
        loads = loads_in(tmp_path / f"{in_order}")
        finished.append(sum(item.values["byte_index_ms"] for item in loads))
    assert finished[1] > finished[0]


@pytest.mark.parametrize("blocks", [0, -1])
def test_zero_blocks_are_refused(tmp_path: Path, blocks: int) -> None:
    with pytest.raises(StudyError, match="blocks"):
        run(quick_study(tmp_path), tmp_path / "out", blocks=blocks)


def test_where_there_is_no_room_it_ends_in_order_and_the_same_call_goes_on(tmp_path: Path, whole: list[Any]) -> None:
    def leave_no_room(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # the file stays as large as it is

    run(small_study(tmp_path), tmp_path / "out", blocks=1)
    event.listen(Engine, "connect", leave_no_room)
    try:
        with pytest.raises(MixedschedError, match="no room for results") as refused:
            run(small_study(tmp_path), tmp_path / "out")
    finally:
        event.remove(Engine, "connect", leave_no_room)
    assert "the same command continues" in refused.value.fix
    assert not run(small_study(tmp_path), tmp_path / "out").is_partial
    assert told(loads_in(tmp_path / "out")) == whole


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"until": "decided", "max_blocks": 1}, "at least 2 and at most 1"),
        ({"max_blocks": 9}, "goes with --until"),
        ({"fail_if": ["lcp > 2"]}, "wrong unit"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "share a database"),
        ({"start_from": Path("no.parquet")}, "no.parquet contains no loads of a study"),
    ],
)
def test_what_is_asked_for_in_vain_is_refused_before_a_site_is_opened(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address would be recorded first, which takes a minute."""

    def opened(*_: object) -> Any:
        raise AssertionError("a site was opened")

    monkeypatch.setattr(session, "open_places", opened)
    with pytest.raises((StudyError, UsageError), match=said):
        run(small_study(tmp_path), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_definition_in_the_folder_is_never_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports and views read it while a study goes on; and whoever stops it may do so at any moment."""
    study = quick_study(tmp_path, **SMALLER)
    run(study, tmp_path / "out")
    before = (tmp_path / "out" / session.DEFINITION_NAME).read_text()

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(study.model_copy(update={"blocks": 3}), tmp_path / "out")
    assert (tmp_path / "out" / session.DEFINITION_NAME).read_text() == before
