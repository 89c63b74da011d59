from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.proposals import SAFE_RECIPE, OrderRecipe, first_round, next_round, plan_of
from mixedsched.core.learning.state import PageState, Proposal
from mixedsched.core.learning.visit import MAX_PATH, page_path
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.schedulers.inferred import safe_turn
from mixedsched.model.request import Kind, Request
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from mixedsched.world.server._first_packets import client_of
from mixedsched.world.server._learning import Learning
from mixedsched.world.store import open_memory
from tests.core.learning.visits import renamed, requests, visit
from tests.patience import wait_until
from tests.world.server.client import fetch, serving

SCHEME = configure("adaptive", SCHEMES, catalog.load_mapping)
NAVIGATION = Request(0, "/", Kind.DOCUMENT, body_bytes=1000, navigates=True)


def remembered(file: Path, path: str = "/") -> PageState | None:
    with open_memory(file) as store:
        return store.page(path)


def test_visits_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"
    learning = Learning(file, pytest.fail)
    for _ in range(3):
        learning.join("127.0.0.1", SCHEME).recorder._take(visit())
    assert wait_until(lambda: (state := remembered(file)) is not None and state.memory.visits == 3)
    learning.stop()


@pytest.mark.slow
def test_a_reload_that_finds_all_unchanged_does_not_make_a_page_small(tmp_path: Path) -> None:
    file, site = tmp_path / "memory.sqlite", tmp_path / "site"
    site.mkdir()
    parts = {"/": "document", "/a.css": "style", "/hero.jpg": "image"}
    sizes = {path: 9000 + 1000 * place for place, path in enumerate(parts)}
    for path, size_bytes in sizes.items():
        (site / (path[1:] or "index.html")).write_bytes(b"x" * size_bytes)
    with serving(site, "--scheme", "adaptive", "--memory", str(file)) as server:
        asked = [("GET", path, {"sec_fetch_dest": kind}) for path, kind in parts.items()]
        tags = [answer.headers["etag"] for answer in fetch(server.port, *asked)]
        for (_, _, fields), tag in zip(asked, tags, strict=True):
            fields["if_none_match"] = tag
        for _ in range(2):
            assert {answer.status for answer in fetch(server.port, *asked)} == {304}
        assert wait_until(lambda: (state := remembered(file)) is not None and state.memory.visits == 3)
    state = remembered(file)
    assert state is not None
    assert state.memory.partial == 2
    assert {role.path: role.size_bytes for role in state.memory.roles.values()} == sizes


def test_a_client_that_repeats_a_visit_at_once_is_counted_once(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"
    learning = Learning(file, pytest.fail)
    for host in ("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"):
        learning.join(client_of((host, 1)), SCHEME).recorder._take(visit())
    learning.stop()
    state = remembered(file)
    assert state is not None
    assert state.memory.visits == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1", "::1"])
def test_a_laboratory_on_this_machine_may_repeat_a_visit_at_once(tmp_path: Path, host: str) -> None:
    file = tmp_path / "memory.sqlite"
    learning = Learning(file, pytest.fail)
    for _ in range(3):
        learning.join(client_of((host, 1)), SCHEME).recorder._take(visit())
    learning.stop()
    state = remembered(file)
    assert state is not None
    assert state.memory.visits == 3


@pytest.mark.parametrize("kind", ["broken", "newer", "folder"])
def test_serving_goes_on_with_the_safe_order_where_the_file_is_of_no_use_and_that_is_said(
    tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "memory.sqlite"
    if kind == "folder":
        file.mkdir()
    elif kind == "broken":
        file.write_bytes(b"this is no database at all" * 100)
    else:
        open_memory(file).__exit__()
        with sqlite3.connect(file) as database:
            database.execute("UPDATE mixedsched_schema SET version = 999")
        database.close()
    said: list[str] = []
    learning = Learning(file, said.append)
    steering = learning.join("127.0.0.1", SCHEME)
    assert steering.scheme.place(NAVIGATION) == safe_turn(NAVIGATION)
    steering.recorder._take(visit())
    assert wait_until(lambda: said)
    assert "pages are served by what is known so far" in said[0]
    assert len(said) == 1
    learning.stop()


def test_a_page_whose_memory_is_damaged_is_learned_anew(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"
    with open_memory(file) as store:
        for damaged in (b"\0", zlib.compress(b"[1]"), zlib.compress(json.dumps({"version": 99}).encode())):
            store.change("/", 1.0, lambda state: state.learn(visit()))
            with sqlite3.connect(file) as database:
                database.execute("UPDATE page_memory SET state = ?", (damaged,))
            database.close()
            assert store.page("/") is None
            assert store.change("/", 2.0, lambda state: state.learn(visit())).memory.visits == 1


def test_a_page_is_served_by_its_order_however_long_its_path(tmp_path: Path) -> None:
    file, path = tmp_path / "memory.sqlite", "/" + "long/" * 60
    items = [replace(requests()[0], path=path[:MAX_PATH]), *requests()[1:]]
    with open_memory(file) as store:
        for _ in range(3):
            store.change(page_path(path), 1.0, lambda state: state.learn(visit(items)))
        state = store.page(page_path(path))
        assert state is not None
        learned = LearnedPage.of(state.memory)
        assert learned is not None
        order = plan_of(OrderRecipe("staged", "value"), learned)
        store.change(page_path(path), 1.0, lambda state: state.propose([Proposal(order, 1.0, 0.8)]))
    steering = Learning(file, pytest.fail, frozen=True).join("127.0.0.1", SCHEME)
    navigation = replace(NAVIGATION, path=f"{path}?q=1")
    assert steering.scheme.place(navigation) == order.turn_of(navigation) != safe_turn(navigation)


def test_a_page_that_nobody_visits_any_more_is_forgotten_also_where_no_new_one_comes(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.sqlite") as store:
        for path in ("/old", "/"):
            store.change(path, 1000.0, lambda state: state.learn(visit()))
        store.change("/", 1000.0 + 80 * 24 * 3600, lambda state: state.learn(visit()))
        assert list(store.versions()) == ["/", "/old"]
        store.change("/", 1000.0 + 91 * 24 * 3600, lambda state: state.learn(visit()))
        assert store.versions() == {"/": 3}
        assert store.change("/", 1e9, lambda state: state.learn(visit())).memory.visits == 1


def test_a_memory_has_room_for_so_many_pages_and_forgets_the_oldest(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.sqlite", pages_most=3) as store:
        for number in range(6):
            store.change(f"/{number}", 1000.0 + number, lambda state: state.learn(visit()))
        assert list(store.versions()) == ["/5", "/4", "/3"]
        store.change("/new", 1e9, lambda state: state.learn(visit()))
        assert list(store.versions()) == ["/new"]


def test_a_hostile_client_makes_no_page_larger_than_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"
    with open_memory(file) as store:
        for number in range(3):
            items = renamed(requests() * 50, *range(1, 350, 1 + number))
            store.change("/", 1.0, lambda state, items=items: state.learn(visit(items)))
        state = store.page("/")
    assert state is not None
    assert len(state.memory.roles) <= 300
    assert file.stat().st_size < 500_000


def test_a_hostile_visit_does_not_make_a_page_forget_what_others_have_taught(tmp_path: Path) -> None:
    """The site has the file, whatever stands in the query: so much of it that one row could not hold it."""
    noise = random.Random(1)
    queries = ["".join(chr(noise.randrange(0xA1, 0x100)) for _ in range(MAX_PATH)) for _ in range(390)]
    script = requests()[2]
    made_up = [replace(script, path=f"/a.js?{query}"[:MAX_PATH]) for query in queries]
    with open_memory(tmp_path / "memory.sqlite") as store:
        for items in (*[requests()] * 9, [*requests(), *made_up]):
            store.change("/", 1.0, lambda state, items=items: state.learn(visit(items)))
        state = store.page("/")
    assert state is not None
    assert state.memory.visits == 10
    assert [role.path for role in state.memory.roles.values()] == [item.path for item in requests()]


def test_a_large_page_with_more_orders_than_there_is_room_for_keeps_the_best(tmp_path: Path) -> None:
    names = random.Random(1)
    images = [
        replace(requests()[5], path=f"/img/{names.getrandbits(400):x}.jpg", size_bytes=99 * at) for at in range(290)
    ]
    with open_memory(tmp_path / "memory.sqlite") as store:
        for _ in range(4):
            store.change("/", 1.0, lambda state: state.learn(visit([*requests()[:3], *images])))
        state = store.page("/")
        assert state is not None
        learned = LearnedPage.of(state.memory)
        assert learned is not None
        recipes = [
            recipe
            for recipe in (*first_round(is_told=True), *next_round(OrderRecipe("staged"), is_told=True))
            if recipe != SAFE_RECIPE
        ]
        found = [Proposal(plan_of(recipe, learned), 1.0, 0.9) for recipe in recipes[:9]]
        kept = store.change("/", 1.0, lambda state: state.propose(found))
        state = store.page("/")
    assert state is not None
    assert state.names == kept.names
    assert 1 <= len(kept.names) < 9
    assert kept.names == [item.plan.name for item in found][: len(kept.names)]
    assert (state.memory.visits, len(state.memory.roles)) == (4, 293)


def test_visits_are_not_waited_for_while_another_process_holds_the_file_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixedsched.world.store._memories.LOCK_WAIT_S", 0.1)
    file, said = tmp_path / "memory.sqlite", []
    open_memory(file).__exit__()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    learning = Learning(file, said.append)
    steering = learning.join("127.0.0.1", SCHEME)
    steering.recorder._take(visit())
    assert wait_until(lambda: said)
    assert "locked" in said[0]
    assert steering.scheme.place(NAVIGATION) == safe_turn(NAVIGATION)
    other.close()
    learning.stop()


FULL_DISK = """
import resource, signal, sys, time
from pathlib import Path
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.schedulers.inferred import safe_turn
from mixedsched.model.request import Kind, Request
from mixedsched.model.scheme import configure
from mixedsched.world.server._learning import Learning
from mixedsched.world.store import open_memory
from tests.core.learning.visits import visit

file, said = Path(sys.argv[1]), []
open_memory(file).__exit__()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # no file may grow beyond that: writing fails as on a full disk
learning = Learning(file, said.append)
steering = learning.join("127.0.0.1", configure("adaptive", SCHEMES, None))
steering.recorder._take(visit())
end_s = time.monotonic() + 30
while not said and time.monotonic() < end_s:
    time.sleep(0.02)
navigation = Request(0, "/", Kind.DOCUMENT, body_bytes=1000, navigates=True)
assert steering.scheme.place(navigation) == safe_turn(navigation)
learning.stop()
print(len(said), said[0])
"""


@pytest.mark.slow
def test_serving_goes_on_where_the_disk_is_full_and_that_is_said(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "memory.sqlite")], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("1 ")
    assert "pages are served by what is known so far" in told.stdout
