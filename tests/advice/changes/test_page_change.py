"""What a change does to the page model is what a browser would do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.changes.look import look_at
from mixedsched.advice.changes.page_change import PageModel, with_resources
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, PaintReader, Player, Task, play_whole
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.world import catalog
from tests.advice.changes.shop import APP, BELOW, CSS, FONT, HERO, HOSTS, LATE, PAGE, RTT_MS, made_up_look, made_up_run

ALL = (HERO, BELOW, APP, LATE, CSS, FONT)


def changed(action: Action, *targets: tuple[int, str], value: str = "", model: PageModel | None = None) -> Page:
    model = model or PageModel(PAGE, {})
    return model.with_changes([Change(action, targets, "", value)]).played()


def resource(page: Page, key: tuple[int, str]) -> Resource:
    return page.by_path()[key]


def test_what_is_preloaded_is_found_before_all_else() -> None:
    font = resource(changed(Action.PRELOAD, FONT), FONT)
    assert (font.found_by, font.found_when) == ("html", "bytes")
    assert font.found_at_bytes <= min(item.found_at_bytes for item in PAGE.resources if item.found_when == "bytes")
    assert Flag.PRELOAD in font.flags
    assert font.chromium_priority is ChromiumPriority.HIGH


def test_fetchpriority_raises_or_lowers_and_never_the_other_way() -> None:
    assert resource(changed(Action.FETCH_FIRST, HERO), HERO).chromium_priority is ChromiumPriority.HIGH
    assert resource(changed(Action.FETCH_LAST, BELOW), BELOW).chromium_priority is ChromiumPriority.LOW
    assert resource(changed(Action.FETCH_FIRST, CSS), CSS).chromium_priority is ChromiumPriority.VERY_HIGH


def test_a_deferred_script_blocks_nothing_any_more() -> None:
    page = changed(Action.DEFER, APP)
    assert PaintNeeds.of(PAGE).blocking == ("/app.js", "/site.css")
    assert PaintNeeds.of(page).blocking == ("/site.css",)
    assert resource(page, APP).chromium_priority is ChromiumPriority.LOW


def test_a_response_header_overrides_what_it_names_and_leaves_the_rest() -> None:
    calm = resource(changed(Action.HEADER, HERO, value="u=5"), HERO)
    assert (calm.chromium_priority, calm.incremental) == (ChromiumPriority.VERY_LOW, True)
    whole = resource(changed(Action.HEADER, HERO, value="u=1, i=?0"), HERO)
    assert (whole.chromium_priority, whole.incremental) == (ChromiumPriority.HIGH, False)


def test_what_waited_for_layout_waits_for_whatever_then_blocks_it() -> None:
    model = PageModel(PAGE, {"/app.js": 700.0, "/site.css": 400.0}, frozenset({"/text.woff2"}))
    assert resource(model.played(), FONT).found_by == "/app.js"
    assert resource(changed(Action.DEFER, APP, model=model), FONT).found_by == "/site.css"
    assert resource(changed(Action.PRELOAD, FONT, model=model), FONT).found_by == "html"


def test_a_measured_load_tells_what_is_the_hero_and_what_waited() -> None:
    look = made_up_look()
    assert look.hero == HERO
    assert look.model.gated == {"/text.woff2", "/late.js"}
    hero, below = resource(look.model.page, HERO), resource(look.model.page, BELOW)
    assert Flag.HERO in hero.flags
    assert not below.flags & {Flag.HERO, Flag.ABOVE_FOLD}


changes = st.builds(
    Change,
    st.sampled_from([action for action in Action if action is not Action.HEADER]),
    st.lists(st.sampled_from([*ALL, (0, "/"), (0, "/not-there")]), min_size=1, max_size=4).map(tuple),
    st.just(""),
) | st.builds(
    Change,
    st.just(Action.HEADER),
    st.lists(st.sampled_from(ALL), min_size=1, max_size=3).map(tuple),
    st.just(""),
    st.sampled_from(["u=0", "u=7, i", "i=?0", "i"]),
)


@given(st.lists(changes, max_size=5), st.sets(st.sampled_from(["/text.woff2", "/hero.jpg", "/late.js"])))
def test_any_changes_leave_a_sound_page_with_the_same_files(some: list[Change], gated: set[str]) -> None:
    page = PageModel(PAGE, {"/app.js": 1.0}, frozenset(gated)).with_changes(some).played()
    Page.from_dict({**page.model_dump(mode="json"), "format": "mixedsched.page/1"})  # raises if it is not sound
    assert [(item.id, item.body_bytes) for item in page.resources] == [
        (item.id, item.body_bytes) for item in PAGE.resources
    ]
    touched = {key for change in some for key in change.targets}
    for item in PAGE.resources:
        if (item.host, item.path) not in touched and item.id not in gated:
            assert page.by_id()[item.id] == item


def test_a_hero_that_a_script_inserts_is_not_drawn_without_the_script() -> None:
    """A preload makes its bytes come sooner, but whoever defers the script defers the picture."""
    by_script = PAGE.by_path()[HERO].model_copy(
        update={"found_by": "/late.js", "found_when": "complete", "found_at_bytes": 0, "flags": frozenset({Flag.HERO})}
    )
    resources = [by_script if item.path == "/hero.jpg" else item for item in PAGE.resources]
    page = with_resources(PAGE, resources)
    look = look_at(made_up_run(), page, HOSTS, RTT_MS)
    assert look.model.hero_needs == ("/late.js",)
    network = catalog.load_profile("cable")

    def lcp_ms(*some: Change) -> float:
        model = look.model.with_changes(some)
        paints = Player(PaintReader).play(Task(Scenario(model.played(), network, model.hero_needs), NamedScheme("eps")))
        assert paints is not None
        return paints.lcp_ms

    preload, defer = Change(Action.PRELOAD, (HERO,), ""), Change(Action.DEFER, (LATE,), "")
    assert lcp_ms(preload) < lcp_ms() < lcp_ms(defer)
    preloaded = Scenario(look.model.with_changes([preload]).played(), network)
    assert lcp_ms(preload) >= play_whole(Task(preloaded, NamedScheme("eps"))).times()["/late.js"].complete_ms
