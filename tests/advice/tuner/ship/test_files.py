"""The files that are shipped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mixedsched.advice.changes.candidates import candidates_of, candidates_of_page
from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import HeaderRule, HtmlLine
from mixedsched.advice.tuner.ship._patterns import canonical, fits
from mixedsched.advice.tuner.ship._servers import SERVERS, of_path, server_file
from mixedsched.advice.tuner.ship.files import Shipment, ship_files, tags_of, write_ship
from mixedsched.advice.tuner.ship.headers import Elsewhere, HeaderPlan
from mixedsched.model.mapping_file import parse_mapping
from mixedsched.world import catalog
from tests.advice.changes.shop import DOCUMENT, made_up_look
from tests.advice.changes.shop import PAGE as MEASURED
from tests.advice.tuner.ship import servers
from tests.advice.tuner.ship.pages import HOSTS, LOW_IMAGES_LAST, SHOP, page_of, plan_of, resource

HERO = Change(Action.FETCH_FIRST, ((0, "/img/hero.jpg"),), "hero.jpg is the largest paint")
LINES = (HtmlLine(HERO, {"4g": -3.6}, measured="html 1", measured_pct={"4g": (-4.1, -6.0, -2.2)}),)
SHIPMENT = Shipment(SHOP, LOW_IMAGES_LAST, plan_of(LOW_IMAGES_LAST), LINES, HOSTS, evidence={"gain_pct": 12.5})


def test_a_full_shipment_has_a_file_for_everybody(tmp_path: Path) -> None:
    names = write_ship(tmp_path / "ship", SHIPMENT)
    assert names == ("headers.txt", *SERVERS, "html.md", "mapping.toml")
    assert sorted(item.name for item in (tmp_path / "ship").iterdir()) == sorted(names)
    assert list(tmp_path.iterdir()) == [tmp_path / "ship"]  # nothing is left aside


def test_the_mapping_is_the_candidates_own() -> None:
    files = ship_files(SHIPMENT)
    found = parse_mapping(files["mapping.toml"], "mapping.toml")
    own = LOW_IMAGES_LAST.mapping()
    assert own is not None
    assert found.digest == own.digest


def test_the_list_is_for_machines_too() -> None:
    text = ship_files(SHIPMENT)["headers.txt"]
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    assert lines == [["/img/p*.jpg", "u=6, i", ", ".join(f"p{index}.jpg" for index in range(6))]]


ACTS = {
    "headers.txt": "Acts on H2O, nghttpx and Cloudflare",
    "nginx.conf": "Does nothing here today",
    "Caddyfile": "Does nothing here today",
    "h2o.conf": "Acts here",
    "apache.conf": "Acts behind H2O, nghttpx or Cloudflare",
    "litespeed.conf": "Acts here, by a way that is not documented",
    "nghttpx.conf": "Acts here",
}


def test_each_file_begins_with_whether_it_acts_on_its_server() -> None:
    files = ship_files(SHIPMENT)
    assert set(ACTS) == {"headers.txt", *SERVERS}
    for name, words in ACTS.items():
        assert files[name].startswith(f"# {words}"), name


def test_nghttpx_tells_browsers_of_http3_by_whichever_protocol_they_come() -> None:
    lines = ship_files(SHIPMENT)["nghttpx.conf"].splitlines()
    assert {"frontend=*,443;quic", "altsvc=h3,443,,,ma=86400", "http2-altsvc=h3,443,,,ma=86400"} <= {*lines}


@given(st.text(min_size=1, max_size=8), st.text(max_size=6), st.booleans())
def test_the_rewrite_rules_of_litespeed_fit_what_the_rules_fit(name: str, ending: str, has_star: bool) -> None:
    """In words without quotes or spaces, of the path as it is once decoded, byte by byte."""
    match = canonical("/" + quote(name) + ("*" if has_star else "") + quote(ending))
    assume(match.count("*") == has_star and "?" not in match)
    expression = of_path(match)
    assert re.fullmatch(r"[\x21-\x7e]+", expression)
    assert not set(expression) & set("\"'`#%")
    for path in (f"/{name}{ending}", f"/{name}x{ending}", f"/y{name}{ending}", f"/{name}"):
        decoded = path.encode("utf-8", "surrogatepass")
        assert (re.search(expression.encode(), decoded, re.DOTALL) is not None) == fits(match, quote(decoded)), path


def test_litespeed_is_told_urgencies_general_rules_first() -> None:
    rules = [HeaderRule(match, value, (), "", {}) for match, value in (("/a.jpg", "u=1, i=?0"), ("/*.jpg", "u=5, i"))]
    lines = [line for line in server_file("litespeed.conf", rules).splitlines() if line.startswith("RewriteRule")]
    assert lines == [r"RewriteRule ^/?.*\.jpg$ - [E=http-prio:5]", r"RewriteRule ^/?a\.jpg$ - [E=http-prio:1]"]


def test_other_hosts_and_what_is_lost_are_told() -> None:
    plan = HeaderPlan((), (Elsewhere("chat", 1, "/js/chat.js", "u=6, i=?0"),), ("shares are equal",))
    files = ship_files(Shipment(SHOP, Candidate("sequential"), plan, hosts=HOSTS))
    assert list(files) == ["headers.txt"]
    assert "cdn.test/js/chat.js\tu=6, i=?0\tchat" in files["headers.txt"].splitlines()
    assert "# Not said by these headers: shares are equal." in files["headers.txt"].splitlines()


def test_where_there_is_nothing_to_ship_a_file_says_why(tmp_path: Path) -> None:
    plan = HeaderPlan((), lost=("headers gain nothing in simulation",))
    assert write_ship(tmp_path / "ship", Shipment(SHOP, Candidate("sequential"), plan)) == ("nothing.txt",)
    assert "headers gain nothing in simulation" in (tmp_path / "ship" / "nothing.txt").read_text()


def test_an_earlier_shipment_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_ship(tmp_path / "ship", SHIPMENT)
    write_ship(tmp_path / "ship", Shipment(SHOP, Candidate("sequential"), HeaderPlan(())))
    assert [item.name for item in (tmp_path / "ship").iterdir()] == ["nothing.txt"]


def test_html_lines_tell_tags_effect_and_risk() -> None:
    text = ship_files(SHIPMENT)["html.md"]
    assert '```html\n<img fetchpriority="high" src="/img/hero.jpg">\n```' in text
    assert "Effect of this line alone, simulated: -3.6 % (4g)." in text
    assert "Effect of this line alone, measured: -4.1 % (4g, interval -6.0 to -2.2)." in text


def test_lines_can_be_written_as_json() -> None:
    (rule,) = SHIPMENT.plan.rules
    told = json.loads(json.dumps([rule.to_dict(), LINES[0].to_dict()]))
    assert told[0]["match"] == "/img/p*.jpg"
    assert told[0]["covers"][0] == "p0.jpg"
    assert told[1]["targets"] == [[0, "/img/hero.jpg"]]
    assert (told[1]["action"], told[1]["measured"]) == ("fetch_first", "html 1")


def test_only_priorities_can_be_shipped() -> None:
    for value in ("", 'u=1"; evil "', "u=8", "u=1\n", "u=1, i=?0; x"):
        with pytest.raises(ValueError, match="priority"):
            server_file("nginx.conf", [HeaderRule("/a", value, (), "", {})])


HOSTILE = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"'`\\\n\r\t;{}$#%*<>&\u2028\u0085\x00"), max_size=12
)


@given(HOSTILE, HOSTILE)
def test_no_path_id_or_reason_can_add_a_line(name: str, other: str) -> None:
    """Whatever a page calls its files: each configuration has the same lines as for harmless names, and only those differ
    that hold the pattern or a comment."""
    hostile = [HeaderRule(canonical(f"/{name}"), "u=5, i", (name,), other, {other: 1.0})]
    harmless = [HeaderRule("/a", "u=5, i", ("a",), "b", {"c": 1.0})]
    for server in SERVERS:
        lines, expected = (
            [line for line in server_file(server, rules).split("\n") if not line.strip().startswith("#")]
            for rules in (hostile, harmless)
        )
        assert len(lines) == len(expected)
        for line, plain in zip(lines, expected, strict=True):
            assert line == plain or re.search(r"\^/|path == ", line)
            assert line.isprintable() or line.lstrip("\t").isprintable()


@given(HOSTILE, HOSTILE)
def test_html_text_keeps_hostile_names_inside_their_places(name: str, path: str) -> None:
    page = page_of(resource(f"/{path}", "image", "hero") | {"id": f"x{name}"})
    change = Change(Action.FETCH_FIRST, ((0, f"/{path}"),), name)
    text = ship_files(Shipment(page, Candidate("sequential"), HeaderPlan(()), (HtmlLine(change, {}),)))["html.md"]
    fences = [line for line in text.split("\n") if re.fullmatch(r"`{3,}(html)?", line)]
    assert len(fences) == 4
    assert "<" not in re.sub(r"(?ms)^(`{3,})html\n.*?\n\1$", "", text).replace("\\<", "")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("nginx.conf", servers.nginx),
        ("Caddyfile", servers.caddy),
        ("apache.conf", servers.apache),
        ("h2o.conf", servers.h2o),
    ],
)
def test_a_server_takes_rules_of_all_schemes_at_once(
    name: str, start: Callable[[servers.Place, str], servers.Setup]
) -> None:
    """Patterns that come again, or that mean the same to a server, included."""
    plans = [plan_of(Candidate(scheme)) for scheme in ("mixed", "ip", "sequential", "s+", "firefox")]
    twins = tuple(HeaderRule(match, "u=5, i", (), "", {}) for match in ("/x%2Fy", "/x/y"))
    rules = (*(rule for plan in plans for rule in plan.rules), *twins)
    assert len({rule.match for rule in rules}) < len(rules)
    with servers.place() as where:
        start(where, ship_files(Shipment(SHOP, Candidate("sequential"), HeaderPlan(rules)))[name]).checked()


def test_published_tables_are_not_shipped_again() -> None:
    candidate = Candidate("mixed", published="gupta2024")
    candidate.configured(catalog.load_mapping)
    assert "mapping.toml" not in ship_files(Shipment(SHOP, candidate, plan_of(candidate)))


def test_tags_are_shown_with_and_without_the_document() -> None:
    first, preload = candidates_of_page(SHOP)
    assert first.action is Action.FETCH_FIRST
    (edit,) = tags_of(first, SHOP, HOSTS, None)
    assert (edit.before, edit.after) == ('<img src="/img/hero.jpg">', '<img fetchpriority="high" src="/img/hero.jpg">')
    link = tags_of(preload, SHOP, HOSTS, None)[0]
    assert link.after.startswith('<link rel="preload" as="font" href="/fonts/a.woff2"')
    real = tags_of(candidates_of([made_up_look()], [], DOCUMENT)[0], MEASURED, ("shop.test",), DOCUMENT)
    assert real[0].before.startswith("<img")


def test_hosts_without_a_name_are_told_by_number() -> None:
    """A page description numbers its hosts; their names are known to a site alone."""
    page = page_of(
        resource("/hero.jpg", "image", "hero", host=1),
        resource("/a.woff2", "font", host=2, found_by="hero.jpg", found_when="complete"),
    )
    first, preload = candidates_of_page(page)
    assert tags_of(first, page, (), None)[0].before == '<img src="https://HOST-1/hero.jpg">'
    assert 'href="https://HOST-2/a.woff2"' in tags_of(preload, page, HOSTS, None)[0].after
    assert tags_of(first, page, HOSTS, None)[0].before == '<img src="https://cdn.test/hero.jpg">'
