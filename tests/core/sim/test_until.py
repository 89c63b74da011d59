"""Loads that end when what is of interest is complete: the same as whole ones up to then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.browser_model import IDEAL
from mixedsched.model.page import Page
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from tests.examples import examples

SCHEME_NAMES = ("sequential", "stock", "eps", "mixed", "bucket")


def page(hidden_images: int, hidden_bytes: int) -> Page:
    """A hero among images that nobody sees."""
    document = {"id": "html", "path": "/", "kind": "document", "body_bytes": 20_000, "flags": ["main", "critical"]}
    style = {"id": "css", "kind": "stylesheet", "body_bytes": 9_000, "flags": ["in_head", "critical"]}
    hero = {"id": "hero", "kind": "image", "body_bytes": 60_000, "flags": ["hero", "above_fold"]}
    hidden = [{"id": f"i{n}", "kind": "image", "body_bytes": hidden_bytes} for n in range(hidden_images)]
    found = [
        {**item, "path": f"/{item['id']}", "found_by": "html", "found_when": "bytes", "found_at_bytes": 1_000 + 10 * n}
        for n, item in enumerate([style, *hidden[: hidden_images // 2], hero, *hidden[hidden_images // 2 :]])
    ]
    return Page.from_dict({"format": "mixedsched.page/1", "name": "hidden", "resources": [document, *found]})


def paints(subject: Page, load: PlayedLoad) -> object:
    first_byte_ms = {item.id: item.first_byte_ms for item in load.resources}
    return PaintNeeds.of(subject).estimate(first_byte_ms, {item.id: item.complete_ms for item in load.resources})


@examples(25)
@given(st.integers(0, 8), st.integers(1, 90_000), st.sampled_from(SCHEME_NAMES), st.booleans())
def test_paints_are_those_of_the_whole_load(count: int, size_bytes: int, name: str, in_browser: bool) -> None:
    subject = page(count, size_bytes)
    model = catalog.load_browser_model("chromium") if in_browser else IDEAL
    scheme = configure(name, SCHEMES, catalog.load_mapping)
    whole = play_pipe(Discoveries.of(subject, model), scheme)
    until = PaintNeeds.of(subject).awaited()
    short = play_pipe(Discoveries.of(subject, model, until), scheme)
    assert paints(subject, short) == paints(subject, whole)
    assert set(short.resources) <= set(whole.resources)
    assert until <= set(short.times())


@pytest.mark.parametrize("name", ["sequential", "mixed"])
def test_it_is_so_over_real_connections_too(name: str) -> None:
    subject, link = page(6, 40_000), catalog.load_profile("sander-loss2")
    scheme = configure(name, SCHEMES, catalog.load_mapping)
    whole = play_stack(Discoveries.of(subject), scheme, link, seed=5)
    until = PaintNeeds.of(subject).awaited()
    short = play_stack(Discoveries.of(subject, until=until), scheme, link, seed=5)
    assert paints(subject, short) == paints(subject, whole)
    assert short.packets <= whole.packets


def test_what_comes_after_the_last_paint_is_not_played() -> None:
    subject, scheme = page(30, 100_000), configure("eps", SCHEMES, catalog.load_mapping)
    short = play_pipe(Discoveries.of(subject, until=PaintNeeds.of(subject).awaited()), scheme)
    whole = play_pipe(Discoveries.of(subject), scheme)
    assert short.packets < whole.packets / 5
