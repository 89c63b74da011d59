"""Rules of what is told of wastes: each is played first, on rung `stack`, and ranked by what people wait less."""

from __future__ import annotations

from mixedsched.advice.audit._screening import EditionPlayer
from mixedsched.advice.audit.spared import Wastes, play_wastes
from mixedsched.advice.changes.change import Key
from mixedsched.advice.changes.look import look_at
from mixedsched.advice.changes.observed import page_model
from mixedsched.advice.changes.waste import Waste, WastedFile, WasteKind
from mixedsched.lab.play.scenario import JUDGE_MODEL
from mixedsched.world import catalog
from tests.advice.changes.shop import APP, DOCUMENT, FONT, HERO, HOSTS, LATE, PAGE, RTT_MS, made_up_run
from tests.advice.replaying import Replaying

CHROMIUM = catalog.load_browser_model(JUDGE_MODEL)
MODEL = page_model(look_at(made_up_run(), PAGE, HOSTS, RTT_MS), PAGE, HOSTS, CHROMIUM)
TODAY_MS = {"4g": 1000.0, "slow-4g": 3000.0}


def played(*wastes: Waste) -> Wastes:
    profiles = [catalog.load_profile(name) for name in TODAY_MS]
    models = dict.fromkeys(TODAY_MS, MODEL)
    player = EditionPlayer(models, profiles, Replaying(), CHROMIUM, seed=1)
    return play_wastes(wastes, models, player, "sequential", TODAY_MS, knows_caching=True)


def waste(kind: WasteKind, key: Key, size_bytes: int, wait_ms: float = 0.0) -> Waste:
    return Waste(kind, (WastedFile(key, size_bytes, wait_ms),))


def test_what_helps_most_comes_first_and_what_does_not_help_is_set_apart() -> None:
    small, large = waste(WasteKind.IMAGE_SIZE, HERO, 8000), waste(WasteKind.COMPRESSION, APP, 50_000)
    idle = waste(WasteKind.UNUSED_STYLES, LATE, 3000)  # it comes behind the largest paint
    wastes = played(idle, small, large)
    assert [item.waste for item in wastes.dear] == [large, small]
    assert [item.waste for item in wastes.idle] == [idle]


def test_gains_are_shares_of_measured_times_on_every_network() -> None:
    for found in (waste(WasteKind.COMPRESSION, APP, 50_000), waste(WasteKind.FIRST_BYTE, (0, "/"), 0, 400.0)):
        (item,) = played(found).dear
        for name, today_ms in TODAY_MS.items():
            assert 0 < item.gain_pct[name] < 100
            assert abs(item.gain_ms[name] - today_ms * item.gain_pct[name] / 100) < 1e-6


def test_a_thinking_server_costs_the_time_it_thinks() -> None:
    (item,) = played(waste(WasteKind.FIRST_BYTE, (0, "/"), 0, 400.0)).dear
    assert item.gain_ms["4g"] > 0
    assert item.gain_pct["4g"] > item.gain_pct["slow-4g"], "the same time is a smaller share of a longer load"


def test_a_next_visit_and_the_first_text_are_played_as_such() -> None:
    kept = waste(WasteKind.CACHING, HERO, 100_000)
    font = waste(WasteKind.BLOCKING_FONT, FONT, 0, 300.0)
    wastes = played(kept, font)
    assert {item.waste for item in wastes.dear} == {kept, font}


def test_nothing_found_is_nothing_told_and_json_names_files_by_address() -> None:
    assert played().to_dict(DOCUMENT.url) == {"named": [], "without_effect": [], "caching_known": True}
    (told,) = played(waste(WasteKind.COMPRESSION, APP, 50_000)).to_dict(DOCUMENT.url)["named"]  # type: ignore[misc]
    assert (told["kind"], told["moment"]) == ("compression", "lcp")
    assert [file["url"] for file in told["files"]] == ["https://shop.test/app.js"]
    assert set(told["expected"]) == set(TODAY_MS)
    assert all(effect["earlier_s"] > 0 > effect["change_pct"] for effect in told["expected"].values())
