"""What a study's report tells: the answer for each link in words, every place, how sure it is, and what is missing."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.stats import Looks
from mixedsched.lab.comparison import Verdict
from mixedsched.lab.study.gates import StudyQuestions
from mixedsched.lab.study.papers import paper_figures
from mixedsched.lab.study.results import StudyResult
from mixedsched.report.study import _words as words
from mixedsched.report.study import render_study, write_study
from mixedsched.report.study._document import render_html
from mixedsched.report.study._place import render_place, simulate_command
from tests.lab.study.made_up_study import ARMS, MadeUpStudy, load, made_up_definition
from tests.report.html_rules import html_problems
from tests.report.outline import Outline
from tests.report.terminal import printed

SITES = ("shop", "blog", "news", "wiki", "gupta2024/etsy")
FACTORS = {"mixed": 0.8, "eps": 1.0, ("wiki", "mixed"): 1.3}


def made_up(links: tuple[str, ...] = ("4g", "dsl"), **changes: Any) -> MadeUpStudy:
    return MadeUpStudy(made_up_definition(**changes), SITES, links, factors=FACTORS)


@pytest.fixture(scope="module")
def whole() -> StudyResult:
    return made_up().result()


def html(result: StudyResult, pages: dict[int, str] | None = None) -> str:
    return render_html(result, {"command": "mixedsched study run made-up.toml"}, pages or {})


def terminal(result: StudyResult, width: int = 110) -> str:
    return printed(render_study(result), width)


def exact(**lcp_ms: float) -> StudyResult:
    """By site: the LCP under mixed, with 1000 ms under all others, where nothing is random."""
    made = MadeUpStudy(made_up_definition(), list(lcp_ms), is_exact=True)
    return made.result(
        load(place, 1, arm, {"lcp_ms": lcp_ms[place.site] if arm == "mixed" else 1000.0})
        for place in made.places
        for arm in ARMS
    )


# --- in words


def test_each_link_has_a_sentence_on_the_scheme_that_does_best() -> None:
    (told,) = words.headlines(exact(a=800.0, b=900.0, c=1100.0, d=850.0, e=890.0, f=870.0))
    assert told.sentence == (
        "Over 4g, with mixed the main content appeared 12.0 % sooner than with sequential, in the median of 6 sites "
        "(LCP; 95 % interval over sites −17.5 % to 0.0 %). Better at 5 of 6 sites, worse at 1."
    )
    assert told.verdict is Verdict.UNDECIDED  # the interval holds zero


def test_where_no_scheme_beats_the_baseline_the_sentence_says_so() -> None:
    (told,) = words.headlines(exact(a=1200.0, b=1300.0, c=1100.0))
    assert told.sentence.startswith(
        "Over 4g, no other scheme does better than sequential in the median of 3 sites: "
        "with eps, the main content appeared unchanged"
    )
    assert told.verdict is Verdict.EQUIVALENT


def test_what_rounds_to_nothing_is_told_as_a_sentence() -> None:
    (told,) = words.headlines(exact(a=999.9, b=999.9))
    assert "with mixed the main content appeared just as with sequential, in the median of 2 sites" in told.sentence


@pytest.mark.parametrize(
    ("lcp_ms", "verdict"), [((500.0, 600.0, 700.0), Verdict.BETTER), ((500.0, 600.0, 1700.0), Verdict.UNDECIDED)]
)
def test_sites_too_few_for_an_interval_are_summed_up_by_what_they_share(
    lcp_ms: tuple[float, ...], verdict: Verdict
) -> None:
    (told,) = words.headlines(exact(**dict(zip("abc", lcp_ms, strict=True))))
    assert told.verdict is verdict
    assert "interval" not in told.sentence


def test_a_single_site_is_told_without_a_median() -> None:
    (told,) = words.headlines(exact(shop=500.0))
    assert "than with sequential, on its one site (LCP). Better at 1 of 1 site." in told.sentence
    assert told.verdict is Verdict.BETTER


def test_the_best_scheme_everywhere_is_told_with_its_regret(whole: StudyResult) -> None:
    assert re.fullmatch(
        r"One scheme everywhere: mixed costs least, LCP being on average [\d.]+ % later than the best scheme of each place, "
        r"at worst [\d.]+ % \(wiki over (4g|dsl)\); it stays the best in \d+ % of resampled sets of sites\.",
        words.everywhere(whole),
    )


def test_what_is_missing_and_what_failed_is_told_first() -> None:
    made = made_up()
    loads = [
        replace(item, status="failed", reason="timed out") if number == 3 else item
        for number, item in enumerate(made.loads())
    ]
    partial = made.result(loads[:-1])
    assert words.alerts(partial) == [
        "Not finished: 2 of 100 blocks are missing, at 2 places. The same command continues.",
        "1 of 299 loads failed or do not count. A block counts once all of its loads do.",
    ]
    assert "timed out" in html(partial)
    assert "9 of 10 blocks" in html(partial)


def test_places_where_nothing_is_random_are_marked() -> None:
    result = exact(a=800.0, b=900.0)
    assert "All places are exact: nothing is random there" in html(result)
    assert ">exact<" in render_place(result, result.places[0], "../report.html")


def test_the_terminal_names_the_verdict_over_sites_not_by_its_colour_alone() -> None:
    text = terminal(exact(a=800.0, b=900.0, c=1100.0, d=850.0, e=890.0, f=870.0))
    assert "? undecided: Over 4g, with mixed the main content appeared 12.0 % sooner" in " ".join(text.split())
    assert re.search(r"mixed +\? −12\.0 % ", text)
    assert re.search(r"eps += 0\.0 % ", text)


# --- the document


def test_the_report_needs_nothing_but_itself_and_links_to_places(whole: StudyResult) -> None:
    pages = {place.id: f"places/{place.id}.html" for place in whole.places}
    outline = Outline(html(whole, pages))
    assert sorted(item for item in outline.loads if item != "data:,") == sorted(pages.values())
    assert not {"script", "iframe", "form", "img"} & set(outline.tags)
    assert outline.images_without_words == 0
    assert html_problems(html(whole, pages)) == []


def test_every_place_has_a_cell_with_the_best_scheme_its_change_and_verdict(whole: StudyResult) -> None:
    cells = Outline(html(whole)).cells
    assert len(cells) == len(SITES) * 2
    assert all(re.match(r"[\w/]+ over (4g|dsl): (mixed|eps) against sequential [−+]?\d", hint) for _, hint, _ in cells)
    by_place = {hint.partition(":")[0]: tone for tone, hint, _ in cells}
    assert (by_place["shop over 4g"], by_place["news over dsl"]) == ("better", "better")


def test_every_scheme_has_a_forest_and_every_link_its_curves(whole: StudyResult) -> None:
    labels = Outline(html(whole)).labels
    assert [item for item in labels if item.startswith(("mixed over", "eps over"))] == [
        f"{scheme} over {link}, LCP: {words.counts_in_words(summary)}"
        for link in ("4g", "dsl")
        for scheme in ("mixed", "eps")
        for summary in whole.summaries
        if (summary.scheme, summary.link, summary.metric.key) == (scheme, link, "lcp_ms")
    ]
    assert "LCP over dsl: share of sites by change, for mixed, eps" in labels


def test_verdicts_differ_in_shape_and_not_only_in_colour(whole: StudyResult) -> None:
    text = html(whole)
    assert re.search(r'<path d="[^"]+-4h?[^"]*9z" class="effect better"|<path d="[^"]+9z" class="effect better"', text)
    assert 'class="effect worse"' in text
    assert re.search(r'<circle [^>]*class="effect undecided"', text)
    assert re.search(r'<rect [^>]*class="effect equivalent"', text)


def test_other_metrics_are_there_and_marked_as_hints(whole: StudyResult) -> None:
    text = html(whole)
    assert "Other metrics, not among those declared beforehand: FCP, SI, TBT, CLS, TTI, HOL" in text
    assert "a hint for another study" in text


def test_how_verdicts_came_about_is_told_as_it_was(whole: StudyResult) -> None:
    assert "Wilcoxon signed-rank test, tightened by Holm" in html(whole)
    looked_at = html(replace(whole, questions=StudyQuestions(Looks(8, 24))))
    assert "each place got blocks until it was decided, 8 to 24 of them" in looked_at
    assert "Wilcoxon" not in looked_at


def test_names_from_files_cannot_do_anything_to_the_document() -> None:
    made = MadeUpStudy(made_up_definition(name="<script>alert(1)</script>"), ["<b>shop", "a&b"])
    text = html(made.result())
    assert "<script>" not in text
    assert "<b>shop" not in text


def test_the_order_of_loads_does_not_change_a_letter() -> None:
    made = made_up(("4g",))
    loads = made.loads()
    assert html(made.result(random.Random(1).sample(loads, len(loads)))) == html(made.result(loads))


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_study_with_little_or_nothing_has_a_report_too(blocks: int, tmp_path: Path) -> None:
    made = made_up()
    result = made.result([item for item in made.loads() if item.block <= blocks])
    assert write_study(result, {}, tmp_path).is_file()
    assert "Not finished" in terminal(result)


# --- places


def test_each_place_with_results_gets_a_page_of_its_own(whole: StudyResult, tmp_path: Path) -> None:
    report = write_study(whole, {}, tmp_path)
    names = {path.name for path in (tmp_path / "places").iterdir()}
    assert {"shop-4g.html", "gupta2024-etsy-dsl.html"} <= names
    assert len(names) == len(whole.places)
    for name in names:
        assert html_problems((tmp_path / "places" / name).read_text()) == []
    assert all((tmp_path / link).is_file() for link in Outline(report.read_text()).loads if link != "data:,")


@pytest.mark.parametrize(
    ("sites", "links"),
    [
        (["a/b", "a:b", "A/B"], ["4g"]),
        (["a/b", "a:b"], ["4g", "4g-2"]),
        ([f"{'ä' * 130}{n}" for n in range(3)], ["4g"]),
    ],
)
def test_places_whose_names_hardly_differ_get_pages_of_their_own(
    sites: list[str], links: list[str], tmp_path: Path
) -> None:
    made = MadeUpStudy(made_up_definition(), sites, links)
    report = write_study(made.result(), {}, tmp_path)
    titles = {re.findall("<title>.*</title>", path.read_text())[0] for path in (tmp_path / "places").iterdir()}
    assert len(titles) == len(sites) * len(links)
    assert len(set(Outline(report.read_text()).loads) - {"data:,"}) == len(titles)


def test_the_page_of_a_simulated_place_has_medians_changes_and_the_command_that_plays_it(whole: StudyResult) -> None:
    place = whole.places[0]
    text = render_place(whole, place, "../report.html")
    effect = place.effect("mixed", "lcp_ms")
    assert effect is not None
    assert f"<strong>{effect.metric.format(place.medians()[1]['lcp_ms'])}</strong>" in text
    assert "▼ better" in text
    assert "mixedsched simulate shop --schemes sequential,mixed,eps --link 4g --seed 1" in text
    assert 'href="../report.html"' in text


@pytest.mark.parametrize(
    ("changes", "words_of_command"),
    [
        ({"mapping": "chromium", "seed": 5}, "--mapping chromium --seed 5"),
        ({"hol_blocking": True, "congestion_control": "reno"}, "--hol-blocking --congestion-control reno"),
        ({"browser_model": "chromium"}, "--browser-model chromium"),
        ({"variation": True}, ""),  # each block plays another network, for which `simulate` has no words
        ({"rung": "browser"}, ""),
    ],
)
def test_the_command_says_what_differs_from_what_is_usual(changes: dict[str, Any], words_of_command: str) -> None:
    made = MadeUpStudy(made_up_definition(**changes), ["shop"])
    command = simulate_command(made.study, made.result().places[0])
    assert words_of_command in command
    assert bool(command) == bool(words_of_command)


def test_files_of_a_study_are_named_so_that_they_are_found(tmp_path: Path) -> None:
    network = 'name = "fast"\ndescription = "d"\nsource = "s"\nrtt_ms = 20\nrate_down_bps = 9e6\nrate_up_bps = 9e6\n'
    (tmp_path / "mine.toml").write_text(network.replace("9e6", "9000000"))
    definition = made_up_definition(
        links=["mine.toml"],
        mapping="table.toml",
        browser_model="own/model.toml",
        visits=3,
        arms=["sequential", "adaptive"],
    )
    study = definition.model_copy(update={"folder": tmp_path})
    command = simulate_command(study, MadeUpStudy(study, ["shop"], ["fast"]).result().places[0])
    assert command == (
        f"mixedsched simulate shop --schemes sequential,adaptive --link {tmp_path}/mine.toml --mapping {tmp_path}/table.toml "
        f"--browser-model {tmp_path}/own/model.toml --visits 3 --seed 1"
    )


# --- the terminal


@pytest.mark.parametrize("width", [60, 110])
def test_the_terminal_says_the_same_and_keeps_to_its_width(whole: StudyResult, width: int) -> None:
    text = terminal(whole, width)
    assert max(map(len, text.splitlines())) <= width
    joined = " ".join(text.split())
    assert all(item.sentence in joined for item in words.headlines(whole))
    assert re.search(r"mixed +\? −\d+\.\d %", text)
    assert re.search(r"▼\d ▲1", text)


# --- the papers' way


def test_papers_have_a_section_of_their_own_where_it_is_asked_for(whole: StudyResult, tmp_path: Path) -> None:
    figures = paper_figures(whole, level=0.01)
    text = write_study(whole, {}, tmp_path, figures).read_text()
    assert ("h2", "As in papers") in Outline(text).headings
    assert "p &lt; 0.01" in text
    assert html_problems(text) == []
    curve = figures.curve("lcp_ms", "4g", "mixed")
    assert curve is not None
    assert re.search(
        rf"<td>LCP</td><td>4g</td><td>mixed</td>.*>{curve.better(0.0)} / {curve.worse(0.0)}<.*"
        rf">{curve.better(5.0)} / {curve.worse(5.0)}<",
        text,
    )
    assert "LCP, HOL" in text  # of Spearman's coefficients
    assert "As in papers" not in html(whole)


def test_the_terminal_has_the_papers_counts_too(whole: StudyResult) -> None:
    text = printed(render_study(whole, paper_figures(whole)), 110)
    assert re.search(r"LCP +4g +mixed +−\d+\.\d % +\d / \d", text)


# --- machines


def test_machines_that_disagree_are_told_first_and_each_with_its_shift() -> None:
    made = MadeUpStudy(made_up_definition(rung="browser", blocks=20), ["shop", "blog"], factors={"mixed": 0.8})
    loads = [
        replace(item, machine="slow", values={**item.values, "lcp_ms": (item.values["lcp_ms"] or 0) * 1.3})
        if item.block % 2 and item.arm == "mixed"
        else replace(item, machine="slow" if item.block % 2 else "fast")
        for item in made.loads()
    ]
    result = made.result(loads)
    assert "The machines do not agree on the size of effects; see Machines." in words.alerts(result)
    assert re.search(r"<li>slow: \+\d", html(result))


def test_a_change_that_rounds_to_nothing_has_no_sign() -> None:
    made = MadeUpStudy(made_up_definition(rung="browser", blocks=20), ["shop", "blog"], noise=0.0)
    result = made.result(replace(item, machine="slow" if item.block % 2 else "fast") for item in made.loads())
    text = render_html(result, {}, {}, paper_figures(result))
    assert "<li>slow: 0.0\N{NO-BREAK SPACE}%" in text
    assert not re.search(r"[−+-]0\.0\s%", text)
