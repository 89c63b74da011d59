"""Whatever a HAR holds: a site comes out that loads, or one of our errors; and nothing else is written."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import MixedschedError
from mixedsched.sites.har import import_page, page_called, pages_of, read_har
from mixedsched.sites.opening import load_site
from tests.sites.har.hars import DIALECTS

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1e400, 10**30, -0.5, float("nan"), "", "x", "\0", "\ud800", "../../x", "https://[::1", "http://", "//",
    "https://shop.test:99999/", "https://shop.test/%", "u=9, i=?", "gzip, br", "br", "\n", "a" * 3000, "9" * 400, [], {},
    [[]], [{}], [{"name": "content-length", "value": "-1"}], {"type": "script", "stack": {"callFrames": 7}},
    206, 301, 304, 404, 999,
    "text/html; charset=\"", "2026-11-22T02:58:41Z", "data:,x", "base64", "bytes 0-9/", "<base href='//['>", "@import url(",
)  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    found = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found.append((value, key))
        found.extend(places(item))
    return found


def mutated(har: Any, seed: int, times: int) -> Any:
    """A HAR with some values replaced by odd ones, or taken out, or doubled."""
    rng = random.Random(seed)
    for _ in range(times):
        container, key = rng.choice(places(har))
        match rng.randrange(4):
            case 0 if isinstance(container, dict):
                del container[key]
            case 1 if isinstance(container, list):
                container.insert(key, copy.deepcopy(container[key]))
            case _:
                container[key] = copy.deepcopy(rng.choice(ODD))  # what is in the HAR may be changed again
        if not places(har):
            break
    return har


@given(dialect=st.sampled_from(sorted(DIALECTS)), seed=st.integers(0, 2**32), times=st.integers(1, 40))
def test_any_har_becomes_a_site_or_one_of_our_errors(dialect: str, seed: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "page.har").write_text(json.dumps(mutated(DIALECTS[dialect](), seed, times)))
        target = folder / "site"
        try:
            log = read_har(folder / "page.har")
            summary = import_page(
                log, page_called(pages_of(log), None), lambda facts: (target, replace(facts, name="any"))
            )
        except MixedschedError:
            assert [path.name for path in folder.iterdir()] == ["page.har"]
            return
        assert len(load_site(target).page.resources) == summary.resources
        assert sorted(path.name for path in folder.iterdir()) == ["page.har", "site"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["log", "version", "entries", "pages", "request", "response", "url", "creator"]), inner
        )
    ),
)


@given(JSON_VALUES)
def test_any_json_is_read_or_refused(value: Any) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "page.har"
        path.write_text(json.dumps(value))
        with contextlib.suppress(MixedschedError):
            assert pages_of(read_har(path))
