"""Rules of the HTML report: complete, self-contained, safe with hostile text, readable in a real browser."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.stats import Looks
from mixedsched.lab.analysis import analyse
from mixedsched.lab.model import Plan, Run, RunStatus
from mixedsched.report._scripts import PLAYER
from mixedsched.report.compare import write_comparison
from tests.report.html_rules import html_problems
from tests.report.made_up_reports import FACTS, experiment, report
from tests.report.made_up_runs import GREY_JPEG, MadeUp, made_up_plan
from tests.report.outline import Outline

HOSTILE = '"><script>alert(1)</script><img src=https://evil.test/x onerror=alert(2)>'


@cache
def usual_report() -> str:
    return report(*experiment())


def test_sections_come_in_the_order_of_questions() -> None:
    outline = Outline(usual_report())
    assert outline.headings == [
        ("h1", "made-up shop over sander-loss2"),
        ("h2", "All metrics"),
        ("h2", "Paired differences, block by block"),
        ("h2", "What people saw"),
        ("h2", "Why: requests and bytes"),
        ("h3", "Request waterfall"),
        ("h3", "The order in which bytes of each response arrived"),
        ("h2", "Failures and the health of the runs"),
        ("h2", "How it was measured"),
        ("h2", "How to repeat it"),
    ]


def test_it_is_html_that_screen_readers_can_follow() -> None:
    assert html_problems(usual_report()) == []
    assert html_problems(report(*hostile_experiment())) == []
    plan, runs = experiment()
    assert html_problems(report(plan, runs[:1])) == []


def test_headline_names_change_interval_and_blocks() -> None:
    assert re.search(
        r"With mixed, the main content appeared 1\d\.\d\s% sooner than with round-robin "
        r"\(LCP; 95\s% interval 1\d\.\d\s% to 1\d\.\d\s% sooner; 12 blocks\)\.",
        usual_report(),
    )


def test_scores_are_told_in_words_and_are_no_metric() -> None:
    plan, runs = experiment()
    scored = [replace(run, page_load={**run.page_load, "score": 88}) for run in runs]
    assert "Lighthouse&#39;s performance score, median: round-robin 88, mixed 88" in report(plan, scored)
    assert "performance score" not in report(plan, runs)


def test_an_undecided_comparison_says_so_first() -> None:
    text = report(*experiment(blocks=4))
    assert "Undecided: whether mixed is better or worse than round-robin is not known yet" in text
    assert text.count("4 blocks cannot decide anything") == 1


def test_equal_arms_are_called_equal() -> None:
    text = report(*experiment(blocks=30, factors={}, noise=0.01))
    assert "mixed and round-robin do equally well: the typical difference is within ±2.0" in text


def test_nothing_is_loaded_and_nothing_runs_but_the_player() -> None:
    outline = Outline(usual_report())
    assert outline.stands_alone
    assert outline.scripts == [PLAYER.text]
    text = usual_report()
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text


def test_every_picture_has_words_for_those_who_cannot_see_it() -> None:
    assert Outline(usual_report()).images_without_words == 0


def hostile_experiment() -> tuple[Plan, list[Run], dict[str, Any]]:
    """Every text that comes from outside tries to break out."""
    plan = replace(made_up_plan(7, ("round-robin", HOSTILE)), site=HOSTILE, link=HOSTILE, link_facts={HOSTILE: HOSTILE})
    runs = MadeUp(plan).runs()
    last = runs[-1]
    requests = [
        {**item, "url": f"https://shop.test/{HOSTILE}", "priority": HOSTILE} for item in last.page_load["requests"]
    ]
    frames = [
        {"at_ms": 5, "jpeg_base64": HOSTILE},
        {"at_ms": 6, "jpeg_base64": base64.b64encode(HOSTILE.encode()).decode()},
    ]
    spoiled = {**last.page_load, "requests": requests, "frames": frames, "warnings": [HOSTILE], "lcp_element": HOSTILE}
    placements = tuple({**item, "signal": HOSTILE, "placement": HOSTILE, "kind": HOSTILE} for item in last.placements)
    runs = [replace(run, page_load=spoiled, placements=placements) for run in runs]
    failed = replace(last, attempt=0, status=RunStatus.FAILED, reason=HOSTILE, page_load={})
    return (
        plan,
        [*runs, failed],
        {
            "command": HOSTILE,
            "history": [8, HOSTILE],
            "machine": {HOSTILE: HOSTILE},
            "title": HOSTILE,
            "notes": [HOSTILE],
        },
    )


def test_hostile_text_stays_text() -> None:
    text = report(*hostile_experiment())
    outline = Outline(text)
    assert "<script" not in text
    assert not {"script", "img"} & set(outline.tags)
    assert all(load.startswith(("data:", "#")) for load in outline.loads)
    assert "&lt;script&gt;" in text


def test_text_that_no_file_can_hold_does_not_keep_a_report_from_being_written(tmp_path: Path) -> None:
    plan, runs = experiment(2)
    runs = [replace(run, page_load={**run.page_load, "lcp_element": '<img alt="\ud83d">'}) for run in runs]
    write_comparison(analyse(plan, runs), runs, FACTS, tmp_path / "report.html")
    assert "&lt;img alt=&#34;?&#34;&gt;" in (tmp_path / "report.html").read_text()


def test_what_is_no_jpeg_is_never_embedded() -> None:
    plan, runs, facts = hostile_experiment()
    assert "data:image" not in report(plan, runs, facts)
    assert "No complete block has pictures." in report(plan, runs, facts)


def test_failures_are_counted_with_their_reasons_and_blocks() -> None:
    plan, runs = experiment()
    victim = next(run for run in runs if run.block == 3 and run.arm == "mixed")
    lost = [
        replace(victim, attempt=0, status=RunStatus.INVALID, reason="1 of 13 requests was not h3"),
        replace(victim, block=0, attempt=0, status=RunStatus.INVALID, reason="1 of 13 requests was not h3"),
    ]
    text = re.sub(r"<[^>]+>", "|", report(plan, [*runs, *lost]))
    assert re.search(r"mixed\|+invalid\|+1 of 13 requests was not h3\|+2\|+0 \(warm-up\), 3\|", text)
    assert "No run failed" in report(plan, runs)


def test_the_command_network_and_machine_are_there_to_repeat_it() -> None:
    text = usual_report()
    for fact in (
        FACTS["command"],
        "2 Mbit/s, 30 ms, queue 37.5 kB, loss 2 %",
        "no rate limit, 30 ms, queue without limit, no random loss",
        "LCP, SI</td>",
        "4 GB",
        "12.8.2",
        "CC0-1.0",
        "the relay emulated",
    ):
        assert fact in text, fact


def words(text: str) -> str:
    """What a reader reads, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text.partition("<body>")[2]))


def test_columns_of_long_films_are_labelled_exactly() -> None:
    plan, runs = experiment()
    slow = [
        replace(run, page_load={**run.page_load, "metrics": {**run.page_load["metrics"], "lcp_ms": 24_000.0}})
        for run in runs
    ]
    labels = re.findall(r'<th scope="col">([\d.]+) s</th>', report(plan, slow))
    assert labels == ["0", "2.5", "5", "7.5", "10", "12.5", "15", "17.5", "20", "22.5", "25"]


def test_losses_are_the_same_for_all_arms_only_where_there_are_random_ones() -> None:
    plan, runs = experiment()
    assert "over the same link with the same random losses" in words(report(plan, runs))
    clean = {name: {**facts, "loss": {"model": "random", "ratio": 0.0}} for name, facts in plan.link_facts.items()}
    text = words(report(replace(plan, link_facts=clean), runs))
    assert "over the same link" in text
    assert "same random losses" not in text
    assert "Packets that overflow the link's queue are each arm's own" in text.replace("&#39;", "'")


def test_health_tells_random_losses_from_overflows() -> None:
    plan, runs = experiment(blocks=2)
    counted = [
        replace(run, relay={"down": {"packets": 900, "size_bytes": 1, "overflowed": 40 + run.block, "lost": 0}})
        for run in runs
    ]
    text = words(report(plan, counted))
    assert "random losses queue overflows" in text
    assert re.search(r"mixed 3 3 0 0 2 0 41 \(40 to 42\) \S+ \S+ s 0 of 3 runs", text)
    assert re.search(r"round-robin 3 3 0 0 2 – – ", words(report(plan, [replace(run, relay={}) for run in runs])))


def test_health_tells_how_long_this_machine_held_up_packets_and_programs() -> None:
    plan, runs = experiment(blocks=2)
    held = [
        replace(
            run,
            relay={"punctuality": {"stalls_us": [[0, 4000 * (1 + run.block)]]}},
            waited_ms={"server": 7.0, "worker": None},
        )
        for run in runs
    ]
    assert "8 ms, at most 12 ms 7 ms, –" in words(report(plan, held))


def test_what_could_be_noticed_is_said_only_where_nothing_was_found() -> None:
    plan, runs = experiment()
    rows = re.findall(r'<span class="chip (\w+)">.*?<span class="note">(.*?)</span>', report(plan, runs), re.DOTALL)
    said = dict(rows)
    assert {"better", "undecided"} <= set(said)
    assert "notice" not in said["better"]
    assert "these 12 blocks would likely notice a change of" in said["undecided"]


@pytest.mark.parametrize("history", [None, [], [8], [8, 8], "8", {"first": 8}, ["8", "20"]])
def test_an_experiment_that_was_not_extended_says_nothing_of_it(history: object) -> None:
    assert "First planned with" not in report(*experiment(), {**FACTS, "history": history})


def test_an_extended_experiment_says_so_and_why_it_matters() -> None:
    text = words(report(*experiment(), {**FACTS, "history": [8, 12, 20]}))
    assert "First planned with 8 blocks, extended to 12, then to 20." in text
    assert "until a verdict appears" in text


def test_how_a_verdict_came_about_is_told_as_it_was() -> None:
    plan, runs = experiment()
    assert "Wilcoxon signed-rank test, tightened by Holm" in words(report(plan, runs))
    looked_at = words(report(replace(plan, looks=Looks(8, 12)), runs))
    assert "hold together at every look" in looked_at
    assert "Wilcoxon" not in looked_at


def test_the_element_of_the_lcp_is_shown_for_every_arm() -> None:
    text = usual_report()
    assert text.count("<code>&lt;img class=&#34;hero&#34; src=&#34;/img/hero.jpg&#34;&gt;</code>") == 2
    assert "LCP does not compare like with like" not in text


def test_an_lcp_that_is_not_always_the_same_element_is_remarked() -> None:
    plan, runs = experiment()
    mixed_up = [
        replace(run, page_load={**run.page_load, "lcp_element": "<h1>"})
        if (run.arm, run.block) == ("mixed", 3)
        else run
        for run in runs
    ]
    text = words(report(plan, mixed_up))
    assert "LCP does not compare like with like" in text
    assert "&lt;h1&gt; in 1 run." in text
    assert re.search(r"hero.jpg&#34;&gt; in 11 runs\s*,", text)


def test_sequential_and_interleaved_delivery_can_be_told_apart() -> None:
    shown = re.findall(r"([\d.]+) responses in progress on average", usual_report())
    interleaved, sequential = map(float, shown)
    assert interleaved > 4
    assert sequential < 1.5


def test_more_than_two_arms_are_compared_with_the_baseline_each() -> None:
    plan = made_up_plan(8, ("fifo", "round-robin", "mixed", "ip:alpha=0.5"))
    text = report(plan, MadeUp(plan).runs())
    assert text.count('class="headline ') == 3
    assert len(re.findall(r'aria-label="Waterfall of [^"]*, scrolls"', text)) == 4
    assert text.count("Paired differences in Speed Index") == 3


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_an_unfinished_experiment_still_gives_a_report(kept: int) -> None:
    plan, runs = experiment()
    text = report(plan, runs[:kept])
    assert "no block is complete yet" in text
    assert "No block is complete yet." in text


def test_runs_with_gaps_in_their_data_still_give_a_report() -> None:
    plan, runs = experiment()
    bare = [replace(run, page_load={"metrics": {"lcp_ms": 1000.0}}, arrivals=(), placements=()) for run in runs]
    text = report(plan, bare, {})
    assert "the browser left no log of arrivals" in text
    assert "The command was not recorded." in text


def test_what_had_to_wait_for_lost_packets_is_dark_in_the_arrivals_and_told_in_words() -> None:
    text = usual_report()
    assert re.search(
        r"mixed</span>: 1\.\d responses in progress on average; \d+ of 600 packets were lost on the way, \S+ kB had",
        text,
    )
    assert 'class="blocked"' in text
    assert "packets lost: " in text
    assert "had to wait for lost packets" in text


def test_without_losses_nothing_is_said_of_waiting() -> None:
    plan, runs = experiment()
    calm = [
        replace(
            run,
            arrivals=tuple(replace(item, blocked_bytes=0) for item in run.arrivals),
            quic=(replace(run.quic[0], hol_bytes=0, packets_lost=0, losses=()),),
        )
        for run in runs
    ]
    text = report(plan, calm)
    assert "no packet was lost on the way" in text
    assert 'class="blocked"' not in text
    assert "packets lost: " not in text


def test_the_same_runs_give_the_same_bytes() -> None:
    assert report(*experiment()) == report(*experiment())


def test_real_sized_pictures_keep_the_report_below_three_megabytes() -> None:
    def bulky(arm: str, progress: float) -> bytes:
        head = GREY_JPEG[:2]
        fill = f"{arm}{progress}".encode().ljust(20_000, b".")
        return head + b"\xff\xfe" + (len(fill) + 2).to_bytes(2, "big") + fill + GREY_JPEG[2:]

    plan = made_up_plan(7, ("a", "b", "c", "d"))
    assert len(report(plan, MadeUp(plan, jpeg_of=bulky).runs())) < 3_000_000


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    assert found, "the browser tests need Chromium"
    return found


def browse(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a file in headless Chromium; its DOM comes on stdout, its console on stderr."""
    as_root = ["--no-sandbox"] if os.getuid() == 0 else []
    command = [
        chromium(),
        "--headless",
        "--disable-gpu",
        *as_root,
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
    ]
    return subprocess.run(
        [*command, "--host-resolver-rules=MAP * ~NOTFOUND", *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )


@pytest.mark.usefixtures("chromium")
def test_chromium_shows_it_without_a_word_on_the_console(tmp_path: Path) -> None:
    plan, runs, facts = hostile_experiment()
    write_comparison(analyse(plan, runs), runs, facts, tmp_path / "deep" / "hostile.html")
    healthy_plan, healthy_runs = experiment()
    write_comparison(analyse(healthy_plan, healthy_runs), healthy_runs, FACTS, tmp_path / "healthy.html")
    for page in (tmp_path / "deep" / "hostile.html", tmp_path / "healthy.html"):
        seen = browse(page, tmp_path / "profile")
        assert "How to repeat it" in seen.stdout
        assert "CONSOLE" not in seen.stderr


@pytest.mark.usefixtures("chromium")
def test_a_page_that_breaks_its_own_policy_would_be_noticed(tmp_path: Path) -> None:
    plan, runs = experiment(blocks=2)
    broken = report(plan, runs).replace("</main>", "<script>alert(1)</script><img src='https://evil.test/x'></main>")
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    assert browse(tmp_path / "broken.html", tmp_path / "profile").stderr.count("Content Security Policy") >= 2


@pytest.mark.usefixtures("chromium")
def test_the_page_never_scrolls_sideways(tmp_path: Path) -> None:
    plan, runs = experiment()
    write_comparison(analyse(plan, runs), runs, FACTS, tmp_path / "report.html")
    widths_px = (400, 880, 1024, 1050, 1280)
    frames = "".join(
        f"<iframe src=report.html width={width_px} height=900 style='border:0'></iframe>" for width_px in widths_px
    )
    (tmp_path / "frames.html").write_text(
        f"{frames}<p id=answer></p><script>onload = () => {{ answer.textContent = 'widths ' + "
        "[...document.querySelectorAll('iframe')].map(frame => frame.contentDocument.documentElement.scrollWidth) }</script>",
        encoding="utf-8",
    )
    seen = browse(tmp_path / "frames.html", tmp_path / "profile", "--allow-file-access-from-files")
    answer = re.search(r"widths ([\d,]+)", seen.stdout.partition('id="answer"')[2])
    assert answer is not None
    found_px = [int(found) for found in answer.group(1).split(",")]
    assert all(found <= width for found, width in zip(found_px, widths_px, strict=True)), found_px
