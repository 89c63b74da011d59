"""Advice for the server that one has: only what acts there is proposed and shipped, and it is said how it was proved."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.advice.changes.own_server import KeptServer, own_server
from mixedsched.advice.tuner._looks import view_of_manifest
from mixedsched.advice.tuner._own import as_seen_by
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import Subject
from mixedsched.advice.tuner.outputs import facts_of
from mixedsched.advice.tuner.result import HeaderRule, Outcome, ServerSetting, Tuning
from mixedsched.advice.tuner.ship.files import Shipment, ship_files
from mixedsched.advice.tuner.ship.headers import HeaderPlan
from mixedsched.advice.tuner.ship.own_lines import URGENCY_ONLY, lines_for, plain_of, urgency_alone
from mixedsched.advice.tuner.ship.screening import Ground
from mixedsched.errors import UsageError
from mixedsched.lab.play.scenario import JUDGE_MODEL, Scenario
from mixedsched.lab.play.task import NamedScheme, SchemeChoice, Task, play_whole
from mixedsched.model.mapping import Override
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.priority import Priority
from mixedsched.world import catalog
from tests.advice.replaying import Replaying
from tests.advice.tuner.sessions import job_of, tuned

CHROMIUM = catalog.load_browser_model(JUDGE_MODEL)
A_FRAME_MS = 2.0  # what the frame of an update may cost on the way
FOUND: dict[str, Any] = {"found_by": "html", "found_when": "bytes", "chromium_priority": "Low"}


def page(**hero: Any) -> Page:
    """A document with a style sheet, and a hero among images outside the first screen. hero: what is special about it."""
    resources = [
        {"id": "html", "path": "/", "kind": "document", "body_bytes": 4000, "found_when": "start", "flags": ["main"]},
        {"id": "css", "path": "/a.css", "kind": "stylesheet", "body_bytes": 15_000, "flags": ["in_head"],
         "found_by": "html", "found_when": "bytes", "found_at_bytes": 200, "chromium_priority": "VeryHigh"},
        {"id": "a", "path": "/a.jpg", "kind": "image", "body_bytes": 60_000, "found_at_bytes": 900, **FOUND},
        {"id": "hero", "path": "/hero.jpg", "kind": "image", "body_bytes": 30_000, "found_at_bytes": 1000,
         "flags": ["hero", "above_fold"], **FOUND, **hero},
    ]  # fmt: skip
    return Page.from_dict({"format": PAGE_FORMAT, "name": "shop", "resources": resources}, "test")


def simulated(name: str) -> KeptServer:
    """The server by its model, whatever is on this machine."""
    found = own_server(name)
    return replace(found, on=found.model, version="")


STYLED = {"found_by": "css", "found_when": "complete", "found_at_bytes": 0}
"""A hero that only the style sheet names: to preload it helps under any server."""


@dataclass(frozen=True, slots=True)
class Made:
    """A tuning, simulated by the server's model, and where it is."""

    tuning: Tuning
    folder: Path


Tune = Callable[[str], Made]


def tuned_for(name: str, folder: Path) -> Tuning:
    folder.mkdir(exist_ok=True)
    server = simulated(name)
    subject = Subject("shop", "shop", page(**STYLED), None, "d")
    job = job_of(folder, subject=subject, server=server, schemes=(server.model,), model=CHROMIUM, candidates=4)
    return tuned(job)


@pytest.fixture(scope="module")
def tune(tmp_path_factory: pytest.TempPathFactory) -> Tune:
    """Each server once."""
    base, made = tmp_path_factory.mktemp("tuned"), dict[str, Made]()

    def of(name: str) -> Made:
        if name not in made:
            made[name] = Made(tuned_for(name, base / name), base / name)
        return made[name]

    return of


def hero_ms(scheme: SchemeChoice, *, raises: bool) -> float:
    """When the hero is complete. raises: whether the browser says that it has found it on the screen."""
    scene = Scenario(page(), catalog.load_profile("slow-4g"), (), CHROMIUM, raises=raises)
    return next(item.complete_ms for item in play_whole(Task(scene, scheme, 1)).resources if item.id == "hero")


def hero_last(scheme: str) -> Candidate:
    """The site says that the hero, of all things, has time."""
    return Candidate(scheme, overrides=(Override("/hero.jpg", Priority(7), ""),))


@pytest.mark.parametrize("name", ["caddy", "nginx", "apache", "other"])
def test_a_server_that_does_not_merge_headers_is_proposed_none(name: str, tune: Tune) -> None:
    found = tune(name).tuning
    assert found.outcome is Outcome.SIMULATED
    assert found.headers == ()
    assert found.html
    assert all(line.change.is_html for line in found.html)
    assert set(found.files) <= {"ship/html.md", "ship/nginx.conf"}


def test_what_helps_is_simulated_under_the_servers_own_order(tune: Tune) -> None:
    found = tune("caddy").tuning
    assert found.best_baseline == "server-quic-go"
    assert found.baselines["server-quic-go"].candidate.scheme == "server-quic-go"
    assert found.winner is not None
    before, after = found.baselines["server-quic-go"].by_network["slow-4g"], found.winner.by_network["slow-4g"]
    assert after.lcp_ms < before.lcp_ms


def test_a_setting_of_nginx_is_a_line_of_its_configuration() -> None:
    setting = ServerSetting("http3_stream_buffer_size", "262144", "65536", {"slow-4g": 4.2})
    shipment = Shipment(page(), Candidate("server-nginx"), HeaderPlan(()), server=simulated("nginx"), setting=setting)
    files = ship_files(shipment)
    assert list(files) == ["nginx.conf"]
    assert files["nginx.conf"].startswith("# Acts here.")
    assert "Without it: +4.2" in files["nginx.conf"]
    assert files["nginx.conf"].endswith("\nhttp3_stream_buffer_size 262144;\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("h2o", ["h2o.conf", "headers.txt"]), ("cloudflare", ["headers.txt"]), ("litespeed", ["litespeed.conf"])],
)
def test_headers_are_shipped_in_the_words_of_the_one_server(name: str, expected: list[str]) -> None:
    rule = HeaderRule("/f.woff2", "u=2, i", ("font",), "a font: later than the browser asks", {})
    files = ship_files(Shipment(page(), Candidate("eps"), HeaderPlan((rule,)), server=simulated(name)))
    assert list(files) == expected
    assert name != "litespeed" or "not documented" in files["litespeed.conf"]


def test_what_has_nothing_to_ship_says_so() -> None:
    files = ship_files(Shipment(page(), Candidate("eps"), HeaderPlan(()), server=simulated("caddy")))
    assert files == {"nothing.txt": "There is nothing to ship that acts on Caddy.\n"}


def test_rewrite_rules_say_urgency_alone() -> None:
    plan = urgency_alone(
        HeaderPlan((HeaderRule("/a", "u=1, i=?0", (), "", {}), HeaderRule("/b", "u=5, i", (), "", {})))
    )
    assert [rule.value for rule in plan.rules] == ["u=1, i", "u=5, i"]
    assert URGENCY_ONLY in plan.lost


def test_a_late_update_of_the_browser_undoes_the_sites_word_where_the_server_lets_it() -> None:
    final, undone = hero_last("server-nghttp3"), hero_last("server-h2o")
    assert hero_ms(final, raises=True) == pytest.approx(hero_ms(final, raises=False), abs=A_FRAME_MS)
    assert hero_ms(undone, raises=True) < hero_ms(undone, raises=False)
    assert hero_ms(undone, raises=False) > hero_ms(NamedScheme("server-h2o"), raises=False)


def test_a_late_update_moves_what_is_under_way_where_browsers_are_heeded_at_all() -> None:
    assert hero_ms(NamedScheme("server-quic-go"), raises=True) < hero_ms(NamedScheme("server-quic-go"), raises=False)
    for deaf in ("server-nginx", "server-quiche"):
        ignored = hero_ms(NamedScheme(deaf), raises=False)
        assert hero_ms(NamedScheme(deaf), raises=True) == pytest.approx(ignored, abs=A_FRAME_MS)


def test_the_page_is_played_with_late_updates_or_in_one_line_as_the_server_has_it(tmp_path: Path) -> None:
    view = view_of_manifest(job_of(tmp_path))
    assert [(scene.raises, scene.in_order) for scene in as_seen_by(simulated("caddy"), view).scenes] == [(True, False)]
    assert [(scene.raises, scene.in_order) for scene in as_seen_by(simulated("apache"), view).scenes] == [(False, True)]
    assert as_seen_by(None, view) == view


def test_machines_are_told_the_server_its_model_and_how_it_was_proved(tune: Tune) -> None:
    facts = facts_of(tune("h2o").tuning, tune("h2o").folder)
    server = facts["server"]
    assert (server["name"], server["proved"], server["proved_on"]) == ("h2o", "simulated", None)
    assert server["model"]["scheme"] == "server-h2o"
    assert "edd7a120" in server["model"]["source"]
    assert server["model"]["late_update_wins"]
    assert server["acts"] == ["html", "headers"]
    json.dumps(facts, allow_nan=False)


def test_loads_on_the_real_server_are_told_from_those_on_its_model() -> None:
    found = own_server("caddy")
    real = replace(found, on="@caddy", version="2.11.9")
    assert real.to_dict(is_loaded=True)["proved"] == "real"
    assert "the real Caddy 2.11.9" in real.proof_words(is_loaded=True)
    model = replace(found, on=found.model, version="")
    assert model.to_dict(is_loaded=True)["proved"] == "model"
    assert "its model server-quic-go over our own server" in model.proof_words(is_loaded=True)


def test_the_same_session_goes_on_with_what_it_has_chosen(tune: Tune) -> None:
    first = tune("caddy").tuning
    again = tuned_for("caddy", tune("caddy").folder)
    assert [item.change.code for item in again.html] == [item.change.code for item in first.html]
    assert again.winner == first.winner


def test_lines_that_an_earlier_start_chose_stay_in_their_order(tmp_path: Path) -> None:
    """Another order would be another edition of the site, and the loads made so far would not count."""
    server = simulated("caddy")
    job = job_of(tmp_path, subject=Subject("shop", "shop", page(**STYLED), None, "d"), server=server, model=CHROMIUM)
    view = as_seen_by(server, view_of_manifest(job))
    codes = [item.code for item in reversed(view.changes)]
    assert len(codes) == 2
    ground = Ground(view.scenes, view.models, job.objective, Replaying(), (2, 3), (4, 5), plain=plain_of(server))
    kept = {**HeaderPlan(()).to_kept(), "html": codes, "scheme": server.model, "helps": True, "tried": 9}
    again = lines_for(server, ground, None, view.changes, kept)
    assert [item.change.code for item in again.html] == codes
    assert again.tried == 9, "all that it was chosen from"


def test_an_unknown_server_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError) as raised:
        own_server("iis")
    assert "apache, caddy, cloudflare, h2o, litespeed, nginx, other" in raised.value.fix
