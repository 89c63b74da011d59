"""What an audit tells its reader: the verdict first, what to paste, the evidence, and nothing that it does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from mixedsched.advice.audit._screening import Screening, Tried
from mixedsched.advice.audit.result import Alternative, Audit, AuditVerdict, audit_facts
from mixedsched.advice.audit.spared import PlayedWaste, Wastes
from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.changes.html_change import Document
from mixedsched.advice.changes.servers import web_server
from mixedsched.advice.changes.waste import Waste, WastedFile, WasteKind
from mixedsched.report.audit import render_audit
from mixedsched.report.audit._document import render_html
from mixedsched.report.audit._words import finding_sentence, headline, reason_sentence
from mixedsched.world.browser.kinds import Browser
from tests.advice.audit.made_up import made_up_audit
from tests.advice.changes.shop import DOCUMENT, HERO, PAGE
from tests.browsing import browse
from tests.report.html_rules import html_problems
from tests.report.outline import Outline
from tests.report.terminal import printed


def terminal(audit: Audit, width: int = 110) -> str:
    return printed(render_audit(audit), width)


def nothing_helps(singles: tuple[Tried, ...] | None = None) -> Audit:
    audit = made_up_audit()
    screening = audit.screening
    best = Tried((), screening.today, 0.0)
    empty = Screening(screening.today, screening.singles if singles is None else singles, best, ())
    networks = tuple(replace(item, comparison=None, effects=(), runs=()) for item in audit.networks)
    return replace(audit, screening=empty, chosen=None, contenders=(), networks=networks, outcome=AuditVerdict.GOOD)


def test_a_confirmed_gain_is_told_with_size_interval_and_blocks() -> None:
    audit = made_up_audit()
    assert audit.outcome is AuditVerdict.IMPROVABLE
    said = headline(audit)
    assert said.startswith("The page could be faster.")
    measured = r"\(−20\.0 %, interval −2\d\.\d % to −1\d\.\d %; 8 blocks; better\)"
    assert re.search(r"over fast the largest paint comes 20 % \(3\d\d ms\) sooner " + measured, said)


def test_a_gain_in_time_is_left_out_where_medians_differ_the_other_way() -> None:
    """Blocks are paired, medians are not: both can be right."""
    audit = made_up_audit()
    networks = []
    for item in audit.networks:
        assert item.comparison is not None
        later = [
            replace(arm, median={**arm.median, "lcp_ms": 1e4 + place}) for place, arm in enumerate(item.comparison.arms)
        ]
        networks.append(replace(item, comparison=replace(item.comparison, arms=tuple(later))))
    assert "over fast the largest paint comes 20 % sooner (−20.0 %" in headline(
        replace(audit, networks=tuple(networks))
    )


def test_a_page_that_nothing_helps_is_told_so() -> None:
    assert "Today's delivery is good" in headline(nothing_helps())
    assert "of 9 changes tried in simulation" in headline(nothing_helps())
    assert "there is nothing in it that could come in a better order" in headline(nothing_helps(singles=()))


def test_what_makes_no_difference_is_told_as_good_as_it_is() -> None:
    audit = made_up_audit([1.0, 1.001, 0.999, 1.0, 1.002, 0.998, 1.001, 1.0])
    assert audit.outcome is AuditVerdict.GOOD
    assert "is not seen to help" in headline(audit)


def test_what_comes_at_the_same_time_is_not_told_by_how_much() -> None:
    assert "the largest paint comes at the same time (" in headline(made_up_audit([1.001, 0.998]))


def test_too_few_blocks_ask_for_more_time_and_promise_nothing() -> None:
    audit = made_up_audit([0.8, 0.81])
    text = terminal(audit)
    assert audit.outcome is AuditVerdict.OPEN
    assert "Not proved yet" in text
    assert re.search(
        r"Not enough time: about \d+ blocks would decide, 2 are complete\. The same command with\s+--budget \d+m", text
    )
    assert "What was measured" in text
    assert "What to change" not in text


@pytest.mark.parametrize(("looked", "is_said"), [(0, False), (7, True), (8, False)])
def test_an_audit_that_was_continued_after_its_results_were_shown_says_so(looked: int, is_said: bool) -> None:
    told = " ".join(terminal(made_up_audit(looked=looked)).split())
    assert ("continued after its results had been shown at 7 blocks" in told) == is_said


@pytest.mark.parametrize("rendered", [terminal, render_html])
def test_what_arrives_late_and_why_a_change_helps_are_there(rendered: Callable[[Audit], str]) -> None:
    audit = made_up_audit()
    text = " ".join(unescape(rendered(audit)).split())
    late = [finding_sentence(item, network) for network in audit.networks for item in network.findings]
    reasons = [reason_sentence(change) for change in audit.chosen.changes] if audit.chosen else []
    assert late
    assert reasons
    assert all(sentence in text for sentence in [*late, *reasons])


@pytest.mark.parametrize("rendered", [terminal, render_html])
def test_the_lines_to_paste_are_there(rendered: object) -> None:
    audit = made_up_audit()
    text = rendered(audit) if callable(rendered) else ""
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", '"')
    assert '<script defer src="/app.js">' in text
    assert '<link rel="preload" as="font" href="/text.woff2" type="font/woff2" crossorigin>' in text.replace(
        "\n    ", " "
    )
    assert "priority: u=1, i=?0" in text
    assert "works only with a server" in text


def test_names_of_files_keep_their_spelling_where_a_sentence_begins_with_one() -> None:
    audit = made_up_audit()
    key = (0, "/app.js")
    told = [Change(Action.DEFER, (key,), why) for why in ("app.js comes late", "nothing comes before app.js")]
    text = render_html(replace(audit, chosen=Alternative("changed", "eps", tuple(told), {})))
    assert "<p>app.js comes late." in text
    assert "<p>Nothing comes before app.js." in text


def test_findings_name_the_late_bytes_and_the_chain() -> None:
    text = re.sub(r"\s+", " ", render_html(made_up_audit())).replace("\N{NO-BREAK SPACE}", " ")
    assert "120 kB of less important files came in between: below.jpg 80 kB, late.js 40 kB." in text
    assert "These come first: / → site.css → app.js." in text
    assert "Nothing is painted before app.js (60 kB) is there" in text


@pytest.mark.parametrize("audit", [made_up_audit(), made_up_audit([0.8]), made_up_audit([]), nothing_helps()])
def test_the_html_needs_no_network_no_script_and_no_other_file(audit: Audit) -> None:
    assert Outline(render_html(audit)).stands_alone
    assert html_problems(render_html(audit)) == []
    assert render_html(audit) == render_html(audit)


def test_late_bytes_are_marked_in_the_waterfall_before_and_after() -> None:
    text = render_html(made_up_audit())
    assert text.count('class="late"') >= 3
    assert "of them late bytes" in text
    assert "Waterfall of changed" in text


HOSTILE = '"><script>alert(1)</script>[bold red]\x1b[2J'


def test_hostile_names_do_nothing_to_terminal_or_report() -> None:
    path = f"/{HOSTILE}.jpg"
    resources = (*PAGE.resources, PAGE.by_path()[HERO].model_copy(update={"id": "x", "path": path}))
    page = PAGE.model_copy(update={"resources": resources})
    document = Document(DOCUMENT.text, page, DOCUMENT.hosts)
    changes = (
        Change(Action.PRELOAD, ((0, path),), f"{HOSTILE} why"),
        Change(Action.HEADER, ((0, path),), "why", "u=1"),
    )
    audit = made_up_audit(title=HOSTILE, document=document)
    chosen = Alternative("changed", "eps", changes, audit.expected_today)
    audit = replace(audit, chosen=chosen, contenders=(chosen,))
    assert "\x1b" not in terminal(audit)
    assert "[bold red]" in terminal(audit)
    assert "script" not in Outline(render_html(audit)).tags


def test_json_has_the_same_facts_and_no_nan() -> None:
    audit = made_up_audit()
    facts = json.loads(json.dumps(audit_facts(audit), allow_nan=False))
    assert facts["verdict"] == "improvable"
    assert [item["name"] for item in facts["networks"]] == ["fast", "slow"]
    lcp = next(item for item in facts["networks"][0]["effects"] if item["metric"] == "lcp_ms")
    assert lcp["verdict"] == "better"
    assert lcp["ci_low_pct"] < lcp["change_pct"] < lcp["ci_high_pct"] < 0
    chosen = next(item for item in facts["contenders"] if item["label"] == facts["chosen"])
    assert {item["where"] for item in chosen["changes"]} == {"document", "server"}
    assert all(item["edits"] or item["priority"] for item in chosen["changes"])
    assert facts["networks"][0]["hero"] == "https://shop.test/hero.jpg"
    assert all(item["expected"]["fast"]["lcp_change_pct"] <= 0 for item in facts["tried"])
    json.dumps(audit_facts(made_up_audit([])), allow_nan=False)
    json.dumps(audit_facts(nothing_helps()), allow_nan=False)


# Beside the order of delivery


def played(kind: WasteKind, gain_ms: float = 500.0) -> PlayedWaste:
    waste = Waste(kind, (WastedFile(HERO, 60_000, 300.0, 600.0),))
    return PlayedWaste(waste, {"fast": gain_ms / 2, "slow": gain_ms}, {"fast": 9.0, "slow": 12.0})


def wasteful(*kinds: WasteKind, server: str = "other", knows_caching: bool = True) -> Audit:
    wastes = Wastes(tuple(played(kind) for kind in kinds), knows_caching=knows_caching)
    return replace(made_up_audit(), wastes=wastes, server=web_server(server))


@pytest.mark.parametrize("kind", WasteKind)
def test_each_waste_is_told_with_its_file_its_effect_by_network_and_what_comes_sooner(kind: WasteKind) -> None:
    audit = wasteful(kind, server="nginx")
    for text in (terminal(audit, 300), unescape(render_html(audit)).replace("\xa0", " ")):
        assert "fast 250 ms (9 %), slow 500 ms (12 %)" in text
        assert ("the page" in text) if kind is WasteKind.FIRST_BYTE else ("hero.jpg" in text)


def test_what_the_owners_server_needs_is_there_to_paste_and_nobody_elses() -> None:
    shown = unescape(render_html(wasteful(WasteKind.COMPRESSION, server="caddy")))
    assert "encode zstd gzip" in shown
    assert "gzip_types" not in shown


def test_without_a_known_server_it_says_how_to_get_the_lines() -> None:
    assert "With --server nginx" in terminal(wasteful(WasteKind.COMPRESSION))
    assert "With --server nginx" not in terminal(wasteful(WasteKind.IMAGE_SIZE)), "no server can do that"


def test_whether_a_priority_header_acts_is_said_for_the_owners_server() -> None:
    header = Change(Action.HEADER, (HERO,), "it is the largest paint", "u=1")
    audit = made_up_audit()
    chosen = replace(audit.contenders[0], changes=(header,))
    for server, words in (
        ("nginx", "does not read the field"),
        ("h2o", "H2O merges the field"),
        ("other", "Name yours"),
    ):
        assert words in " ".join(terminal(replace(audit, chosen=chosen, server=web_server(server))).split())


def test_what_makes_no_difference_or_was_not_judged_is_said() -> None:
    idle = replace(made_up_audit(), wastes=Wastes((), (played(WasteKind.UNUSED_STYLES),)))
    text = " ".join(terminal(idle, 300).split())
    assert "Nothing that people would notice" in text
    assert "without an effect on these networks in simulation: Leave unused rules out of hero.jpg" in text
    assert "Caching is not judged" in text


def test_what_takes_lighthouse_is_not_said_to_be_absent_in_firefox() -> None:
    audit = replace(made_up_audit(), browser=Browser.FIREFOX)
    text = " ".join(terminal(audit, 300).split())
    assert "Nothing that people would notice" not in text
    assert "Not looked for: it takes Lighthouse" in text
    assert "Not looked for: it takes Lighthouse" in render_html(audit)
    assert "browser Firefox" in render_html(audit)


@pytest.mark.usefixtures("chromium")
def test_on_paper_the_verdict_what_to_change_and_what_could_be_spared_are_one_page(tmp_path: Path) -> None:
    audit = wasteful(WasteKind.COMPRESSION, WasteKind.IMAGE_FORMAT, WasteKind.CACHING, server="nginx")
    chosen = replace(audit.contenders[0], changes=audit.contenders[0].changes[:4])
    page = tmp_path / "audit.html"
    page.write_text(render_html(replace(audit, chosen=chosen)))
    seen = browse(tmp_path / "profile", ("goto", page.as_uri()), ("paper", ""))
    assert (seen.results, seen.console) == ([1], [])


@pytest.mark.parametrize(
    ("scheme", "said"), [("@caddy", "Caddy itself (@caddy)"), ("server-nginx", "played as server-nginx")]
)
def test_a_contender_on_a_server_of_other_people_is_named_by_it(scheme: str, said: str) -> None:
    audit = made_up_audit()
    contenders = tuple(replace(item, scheme=scheme) for item in audit.contenders)
    text = unescape(render_html(replace(audit, baseline=scheme, contenders=contenders)))
    assert said in text.replace("\xa0", " ")


def test_what_a_live_page_did_not_repeat_is_listed_as_text() -> None:
    text = render_html(made_up_audit(), live=["not loaded, as it is not the application's: https://cdn.test"])
    assert "<li>not loaded, as it is not the application&#39;s: https://cdn.test</li>" in text
    assert "The page is live" in text
    assert "The page is live" not in render_html(made_up_audit())
