"""What a tuning tells its reader: the verdict first, what changes and why, what to ship, and nothing that it does not know."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Deviation, NetworkProof, Outcome, Role, Tuning
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.comparison import Verdict
from mixedsched.report.tune import render_tuning, write_tuning
from mixedsched.report.tune._document import SHOWN_BYTES_MOST, read_shipped, render_html
from mixedsched.report.tune._evidence import Evidence
from mixedsched.report.tune._words import headline
from tests.report.html_rules import html_problems
from tests.report.made_up_runs import LINK
from tests.report.made_up_tuning import CHANGE, CONTENDERS, made_up_tuning, simulated_tuning
from tests.report.outline import Outline
from tests.report.terminal import printed

CONFIRMED = made_up_tuning()
SIMULATED = simulated_tuning()
NOT_CONFIRMED = made_up_tuning({}, blocks=3, outcome=Outcome.UNCONFIRMED, reason="No difference was seen.")
NOTHING = simulated_tuning(
    outcome=Outcome.NOTHING_TO_GAIN, winner=None, deviations=(), headers=(), html=(), files=(), runners_up=(),
    reason="LCP under eps is within 2 % of the bound.",
)  # fmt: skip
INTERRUPTED = simulated_tuning(outcome=Outcome.INTERRUPTED)
EVERY = {
    "confirmed": CONFIRMED,
    "unconfirmed": NOT_CONFIRMED,
    "nothing": NOTHING,
    "simulated": SIMULATED,
    "interrupted": INTERRUPTED,
}


def terminal(tuning: Tuning, width: int = 150) -> str:
    return printed(render_tuning(tuning), width)


@cache
def page(name: str) -> str:
    """The HTML report of one of EVERY, made once."""
    return render_html(EVERY[name])


def without_proof(network: NetworkProof) -> NetworkProof:
    return replace(network, proof=None, runs=(), effects=())


def test_a_confirmed_gain_is_told_with_number_interval_blocks_and_network() -> None:
    assert re.fullmatch(
        r"With the tuned order of bytes, the main content appeared \d\d\.\d % sooner than with eps over sander-loss2: "
        r"1\.91 s instead of 2\.40 s \(LCP; 95 % interval −2\d\.\d % to −1\d\.\d %; 8 blocks; p = 0\.0\d+\)\.",
        headline(CONFIRMED),
    )


def test_each_network_has_its_number() -> None:
    said = headline(made_up_tuning(networks=("3g", "4g")))
    assert "than with eps over 3g: " in said
    assert "than with eps over 4g: " in said


def test_what_was_promised_and_not_shown_is_told_so_and_the_baseline_stays() -> None:
    said = headline(NOT_CONFIRMED)
    assert said.startswith("Not confirmed, so eps stays.")
    assert "75 % interval" in said  # three blocks reach no more
    assert "Simulation had promised: LCP −19 % against eps" in said


def test_without_a_complete_block_nothing_is_claimed() -> None:
    tuning = replace(NOT_CONFIRMED, networks=tuple(without_proof(item) for item in NOT_CONFIRMED.networks))
    assert "no block of loads is complete" in headline(tuning)
    assert "in the browser" not in terminal(tuning)


def test_nothing_to_gain_is_told_with_its_reason() -> None:
    assert "Nothing to gain over eps." in terminal(NOTHING)
    assert "within 2 % of the bound" in terminal(NOTHING)


def test_simulation_never_reads_like_a_proof() -> None:
    assert headline(SIMULATED).startswith("In simulation")
    assert headline(SIMULATED).endswith("No browser has confirmed it.")
    assert "Measured in the browser" not in page("simulated")


def test_who_stopped_it_is_told_the_best_so_far() -> None:
    assert headline(INTERRUPTED).startswith("Stopped early, so eps stays. Best so far, in simulation: LCP −19 %")


def test_effects_are_told_against_any_arm_of_the_same_loads() -> None:
    evidence = Evidence(CONFIRMED, CONFIRMED.networks[0])
    declared, other = (evidence.effect("tuned", name, "lcp_ms") for name in ("eps", "sequential"))
    assert declared is not None
    assert other is not None
    assert declared.verdict is Verdict.BETTER
    assert evidence.is_declared(declared)
    assert not evidence.is_declared(other)  # exploratory: nobody declared it
    assert other.baseline == "sequential"
    back = evidence.effect("sequential", "tuned", "lcp_ms")
    assert back is not None
    assert back.differences[0][1] > 0 > other.differences[0][1]
    assert evidence.effect("tuned", "nobody", "lcp_ms") is None


def test_the_terminal_has_every_metric_against_the_best_baseline_and_sequential() -> None:
    text = terminal(CONFIRMED)
    for name in ("LCP", "FCP *", "SI *", "TBT *", "CLS *", "TTI *"):
        assert re.search(rf"^ {re.escape(name)} .*→.*[▼=?▲]", text, re.MULTILINE), name
    assert "against sequential" in text


def test_what_deviates_is_told_from_what_to_what_and_why() -> None:
    for text in (terminal(CONFIRMED), page("confirmed")):
        assert "images of priority High" in text
        assert "one whole image before two halves" in text


def test_headers_and_tags_are_offered_only_when_recommended() -> None:
    assert "What to ship" in terminal(CONFIRMED)
    assert "/img/hero*   priority: u=1, i=?0" in terminal(CONFIRMED)
    assert "What to ship" not in terminal(NOT_CONFIRMED)
    assert "This is not recommended" in page("unconfirmed")
    assert "This is not recommended" not in page("confirmed")


def test_headers_that_were_loaded_as_tuned_have_all_of_the_gain() -> None:
    by_headers = replace(CONTENDERS[2], candidate=Candidate("eps"), changes=(CHANGE,))
    contenders = (*CONTENDERS[:2], by_headers, CONTENDERS[4])
    tuning = made_up_tuning(contenders=contenders, kept_pct={Role.HEADERS: {LINK.name: 100.0}})
    for text in (terminal(tuning), render_html(tuning)):
        assert "the whole gain is theirs" in " ".join(text.split())
    assert "loaded as plain eps with response headers that say the same" in render_html(tuning)
    assert "the whole gain is theirs" not in terminal(CONFIRMED)


def test_what_is_shipped_without_a_load_of_its_own_is_told_to_be_simulated() -> None:
    unloaded = replace(CONFIRMED, contenders=CONTENDERS[:3], kept_pct={})
    for role in ("response headers only", "changed HTML only"):
        words = f"There was no time to load the page with {role}: what that does is simulated."
        for text in (terminal(unloaded), render_html(unloaded)):
            assert words in " ".join(text.split())
        assert words not in " ".join(terminal(CONFIRMED).split())


def test_what_is_slower_than_the_baseline_keeps_nothing_of_the_gain() -> None:
    tuning = replace(CONFIRMED, kept_pct={Role.HTML: {LINK.name: -755.5}}, kept_range_pct={})
    for text in (terminal(tuning), render_html(tuning)):
        assert f"changed HTML only, nothing of the gain remains over {LINK.name}." in " ".join(text.split())
        assert "−755" not in text


def test_what_loads_spoke_against_is_not_recommended_and_each_line_has_its_measurement() -> None:
    line = replace(CONFIRMED.html[0], measured_pct={"slow-4g": (-9.5, -12.0, -6.5)})
    why = "on slow-4g it is 10.6 % slower than sequential"
    tuning = replace(CONFIRMED, headers=(), html=(line,), withheld={Role.HEADERS: why})
    for text in (terminal(tuning), render_html(tuning).replace("\N{NO-BREAK SPACE}", " ")):
        assert f"Not recommended: response headers only; {why}." in " ".join(text.split())
    assert "slow-4g −9.5 % (−12.0 % to −6.5 %)" in render_html(tuning).replace("\N{NO-BREAK SPACE}", " ")
    assert tuning.to_dict()["ship"]["withheld"] == {"headers": why}


@pytest.mark.parametrize("name", EVERY)
def test_the_html_needs_no_network_no_script_and_no_other_file(name: str) -> None:
    text = page(name)
    assert Outline(text).stands_alone
    assert html_problems(text) == []
    assert "None" not in re.sub(r"<[^>]*>", "", text)


def test_the_same_tuning_gives_the_same_report() -> None:
    assert render_html(SIMULATED) == render_html(simulated_tuning())


def test_waterfalls_show_before_and_after_with_the_image_of_the_largest_paint() -> None:
    labels = Outline(page("confirmed")).labels
    falls = [label for label in labels if "responses" in label]
    assert [label.partition(":")[0] for label in falls] == ["Before", "After"]
    assert page("confirmed").count("◂ largest paint") == 2
    simulated = page("simulated")
    assert simulated.count("◂ largest paint") == 2
    assert "Before: eps, simulated" in simulated


def test_bars_compare_every_order_with_the_bound() -> None:
    labels = Outline(page("confirmed")).labels
    measured = next(label for label in labels if label.startswith("LCP measured over sander-loss2"))
    assert measured.endswith("bound 1.50 s")
    assert measured.index("tuned 1.91 s") < measured.index("eps 2.40 s")
    simulated = next(label for label in labels if label.startswith("LCP simulated over sander-loss2"))
    assert "mixed 5.20 s" in simulated


def test_a_bound_that_loads_in_the_browser_go_below_is_told_to_be_late() -> None:
    assert "A browser adds its own work to that." in page("confirmed")
    (network,) = CONFIRMED.networks
    late = replace(CONFIRMED, networks=(replace(network, bound=PaintEstimate(700.0, 2000.0, 1100.0)),))
    text = render_html(late)
    assert "Loads in the browser were even faster: simulation is a little slow here." in text
    assert re.search(r">tuned: 1\.91 s \(−\d %\)<", text)


def test_the_search_is_drawn_rung_by_rung_and_the_race_arm_by_arm() -> None:
    labels = Outline(page("confirmed")).labels
    assert [label.partition(":")[0] for label in labels if label.startswith("Rung")] == [
        "Rung pipe",
        "Rung stack",
        "Rung held out",
    ]
    assert "Rung pipe: 1600 candidates, best −17 % against the best baseline" in labels
    assert any(label.startswith("Race over 2 blocks: stock left after 2 blocks") for label in labels)


def test_disjoint_seeds_command_and_machine_are_told() -> None:
    text = page("confirmed")
    assert "The seeds of search, race and proof are disjoint" in text
    assert "mixedsched tune shop --link sander-loss2 --budget 10m" in text
    assert "<caption>Seeds</caption>" in text
    assert "<caption>Network: sander-loss2</caption>" in text, "networks are called what they are called elsewhere"


def test_shipped_files_are_shown_as_they_lie_beside_the_report(tmp_path: Path) -> None:
    (tmp_path / "ship").mkdir()
    (tmp_path / "ship/nginx.conf").write_text('add_header priority "u=1" <always>;\n', encoding="utf-8")
    write_tuning(CONFIRMED, tmp_path / "tune.html")
    text = (tmp_path / "tune.html").read_text(encoding="utf-8")
    assert "add_header priority &#34;u=1&#34; &lt;always&gt;;" in text
    assert "<p><code>ship/headers.txt</code></p>" in text  # not there: named only


def test_files_outside_the_folder_binaries_and_long_ones_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("no", encoding="utf-8")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "binary").write_bytes(b"\0\xff")
    (folder / "long").write_text("ü" * SHOWN_BYTES_MOST, encoding="utf-8")
    outside, binary, long = read_shipped(folder, ("../secret", "binary", "long"))
    assert outside.text is None
    assert binary.text is None
    assert long.is_cut
    assert long.text is not None
    assert 0 < len(long.text) <= SHOWN_BYTES_MOST


HOSTILE = '"><script>alert(1)</script>[bold red]\x1b[2J'


def test_hostile_names_do_nothing_to_terminal_or_report() -> None:
    tuning = replace(
        CONFIRMED,
        title=HOSTILE,
        reason=HOSTILE,
        notes=(HOSTILE,),
        deviations=(Deviation(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE),),
        files=(HOSTILE,),
    )
    assert "\x1b" not in terminal(tuning)
    assert "[bold red]" in terminal(tuning)
    assert Outline(render_html(tuning, read_shipped(Path(), tuning.files))).stands_alone


def test_what_a_live_page_did_not_repeat_is_listed_as_text(tmp_path: Path) -> None:
    write_tuning(CONFIRMED, tmp_path / "tune.html", live=["not repeated: /a.js?v=* had 9 addresses & more"])
    text = (tmp_path / "tune.html").read_text(encoding="utf-8")
    assert "The page is live" in text
    assert "<li>not repeated: /a.js?v=* had 9 addresses &amp; more</li>" in text
    write_tuning(CONFIRMED, tmp_path / "tune.html")
    assert "The page is live" not in (tmp_path / "tune.html").read_text(encoding="utf-8")
