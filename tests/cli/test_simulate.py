"""`simulate`: the contract of its JSON, its tables, and how it refuses, fails and stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.schedulers import COMPARED
from mixedsched.sites.opening import open_site
from mixedsched.units import format_ms
from tests.command import HOME, MIXEDSCHED, run
from tests.families import all_gone, family
from tests.patience import wait_until

SIMULATE = (*MIXEDSCHED, "simulate")
simulate = partial(run, "simulate")


def lines(*arguments: str | Path, stdin: str = "") -> list[dict[str, Any]]:
    """The JSON lines of a run that must end well, and say nothing else."""
    ended = simulate(*arguments, "--json", stdin=stdin)
    assert (ended.exit_code, ended.stderr) == (0, "")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def resource(name: str, body_bytes: int = 1400, kind: str = "image", **changes: Any) -> dict[str, Any]:
    """A resource found when "html" is complete, unless it says otherwise."""
    found = {"found_by": "html", "found_when": "complete"}
    return {"id": name, "path": f"/{name}", "kind": kind, "body_bytes": body_bytes, **found, **changes}


def html(body_bytes: int = 2800) -> dict[str, Any]:
    return resource("html", body_bytes, "document", found_by=None, found_when="start", flags=["main"])


def page(*resources: dict[str, Any], name: str = "page") -> str:
    return json.dumps({"format": "mixedsched.page/1", "name": name, "resources": resources})


SMALL = page(html(), resource("a", 2800), resource("b", 4200, flags=["hero"]))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.json"
    file.write_text(SMALL)
    return file


# What is printed


def test_a_load_is_one_object_with_the_promised_keys(small: Path) -> None:
    assert lines(small, "--scheme", "fifo") == [
        {
            "page": "page",
            "scheme": "fifo",
            "rung": "pipe",
            "send_buffer_bytes": 0,
            "finished_ms": 70.0,
            "byte_index_ms": {"all": 47.143, "atf": 50.0},
            "estimate_ms": {"fcp": 10.0, "lcp": 70.0, "si": 49.0},
            "hol_bytes": 0,
            "packets": 7,
            "resources": [
                {"id": "html", "requested_ms": 0.0, "first_byte_ms": 10.0, "complete_ms": 20.0},
                {"id": "a", "requested_ms": 20.0, "first_byte_ms": 30.0, "complete_ms": 40.0},
                {"id": "b", "requested_ms": 20.0, "first_byte_ms": 50.0, "complete_ms": 70.0},
            ],
            "order": [["html", 2], ["a", 2], ["b", 3]],
        }
    ]


def test_options_of_the_pipe_reach_it(small: Path) -> None:
    (told,) = lines(small, "--scheme", "fifo", "--packet-bytes", "700", "--pace-ms", "2.5", "--request-slot-ms", "10")
    assert told["order"] == [["html", 4], ["a", 4], ["b", 6]]
    assert told["finished_ms"] == 35.0
    assert [item["requested_ms"] for item in told["resources"]] == [0.0, 10.0, 20.0]


@pytest.mark.parametrize("rung", ["pipe", "stack"])
def test_a_browser_model_delays_paints_and_is_named(tmp_path: Path, rung: str) -> None:
    style = resource("style", kind="stylesheet", flags=["in_head"])
    file = tmp_path / "styled.json"
    file.write_text(page(html(), style, resource("hero", 2800, flags=["hero"])))
    (ideal,) = lines(file, "--scheme", "fifo", "--rung", rung)
    (working,) = lines(file, "--scheme", "fifo", "--rung", rung, "--browser-model", "chromium")
    assert "browser_model" not in ideal
    assert working["browser_model"] == "chromium"
    for paint, before_ms in ideal["estimate_ms"].items():
        assert working["estimate_ms"][paint] > before_ms


def test_the_ideal_browser_model_changes_nothing(small: Path) -> None:
    assert lines(small, "--scheme", "fifo", "--browser-model", "ideal") == lines(small, "--scheme", "fifo")


def test_a_browser_model_that_there_is_not_is_refused(small: Path) -> None:
    ended = simulate(small, "--scheme", "fifo", "--browser-model", "chromum")
    assert ended.exit_code == 3
    assert "did you mean 'chromium'?" in ended.stderr


def test_byte_index_by_count_and_sampled(small: Path) -> None:
    (by_count,) = lines(small, "--scheme", "fifo", "--weight", "count")
    assert by_count["byte_index_ms"] == {"all": 43.333, "atf": 45.0}
    (sampled,) = lines(small, "--scheme", "fifo", "--sample-ms", "50")
    assert sampled["byte_index_ms"] == {"all": 71.429, "atf": 80.0}


def test_a_larger_send_buffer_makes_an_urgent_response_wait(tmp_path: Path) -> None:
    file = tmp_path / "late.json"
    late = resource("late", kind="stylesheet", flags=["critical"], found_when="bytes", found_at_bytes=1400)
    first = resource("first", 140_000, found_when="requested")
    file.write_text(page(html(), first, late))
    none, large = lines(file, "--scheme", "eps", "--send-buffer-bytes", "0,70000")
    assert [item["send_buffer_bytes"] for item in (none, large)] == [0, 70_000]
    waits_ms = [{item["id"]: item["complete_ms"] for item in told["resources"]}["late"] for told in (none, large)]
    assert waits_ms[0] < 50 <= 500 <= waits_ms[1]


def test_lines_come_by_page_then_scheme_as_named_then_send_buffer(tmp_path: Path, small: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(page(html(), name="other"))
    told = lines(other, small, "--scheme", "rr,ip:alpha=0.5,fifo", "--send-buffer-bytes", "14000,0")
    assert [(item["page"], item["scheme"], item["send_buffer_bytes"]) for item in told] == [
        (name, scheme, size)
        for name in ("other", "page")
        for scheme in ("rr", "ip:alpha=0.5", "fifo")
        for size in (14_000, 0)
    ]


def test_all_stands_for_every_scheme(small: Path) -> None:
    told = lines(small, "--scheme", "all")
    assert [item["scheme"] for item in told] == list(COMPARED)
    assert {item["packets"] for item in told} == {7}


@pytest.mark.slow
def test_any_number_of_jobs_prints_the_same(tmp_path: Path, small: Path) -> None:
    large = tmp_path / "large.json"
    large.write_text(page(html(), *(resource(f"r{i}", 140_000) for i in range(20)), name="large"))
    arguments = (large, small, "--scheme", "all", "--send-buffer-bytes", "0,14000", "--json")
    alone, together = simulate(*arguments, "--jobs", "1"), simulate(*arguments, "--jobs", "3")
    assert alone.stdout.count("\n") == 2 * 2 * len(COMPARED)
    assert together.stdout == alone.stdout
    assert (together.exit_code, together.stderr) == (0, "")


def test_jitter_repeats_with_its_seed(small: Path) -> None:
    arguments = (small, "--scheme", "rr,fifo", "--jitter", "random", "--jitter-packets", "2-5", "--hol-blocking")
    first, again, other = (lines(*arguments, "--seed", seed) for seed in ("3", "3", "4"))
    assert first == again
    assert first != other


def test_rung_stack_is_meant_by_link_and_tells_its_facts(small: Path) -> None:
    (told,) = lines(small, "--scheme", "eps", "--link", "cable", "--congestion-control", "reno", "--seed", "5")
    assert (told["rung"], told["link"], told["seed"], told["congestion_control"]) == ("stack", "cable", 5, "reno")
    assert (told["page"], told["scheme"], told["send_buffer_bytes"]) == ("page", "eps", 0)
    assert [item["id"] for item in told["resources"]] == ["html", "a", "b"]
    assert told["packets"] == sum(count for _, count in told["order"])
    assert lines(small, "--scheme", "eps", "--rung", "stack")[0]["link"] == "4g"


def test_rung_stack_plays_the_transport_of_2022_and_responses_in_one_line(small: Path) -> None:
    arguments = (small, "--scheme", "rr", "--link", "sander-loss2", "--congestion-control", "cubic-2022")
    (told,) = lines(*arguments, "--hol-blocking")
    assert (told["congestion_control"], told["hol_blocking"]) == ("cubic-2022", True)
    assert told["inter_stream_held_bytes"] >= 0
    assert "hol_blocking" not in lines(*arguments)[0]


@pytest.mark.slow
def test_rung_stack_prints_the_same_from_any_number_of_jobs(small: Path) -> None:
    arguments = (small, "--scheme", "eps,fifo,rr", "--link", "3g")
    assert lines(*arguments, "--jobs", "1") == lines(*arguments, "--jobs", "2")


# Where pages come from


def test_a_folder_stands_for_its_page_files_by_name(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.json").write_text(page(html(), name=name))
    (tmp_path / "notes.txt").write_text("no page")
    assert [item["page"] for item in lines(tmp_path, "--scheme", "rr")] == ["a", "b", "c"]


def test_a_sites_folder_stands_for_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text(page(html(), name="site"))
    (tmp_path / "other.json").write_text("{}")
    assert [item["page"] for item in lines(tmp_path, "--scheme", "rr")] == ["site"]


def test_a_plain_folder_is_taken_apart(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title><img src=a.png>")
    (tmp_path / "a.png").write_bytes(bytes(3000))
    (told,) = lines(tmp_path, "--scheme", "rr")
    assert len(told["resources"]) == 2


def test_a_bundled_site_is_known_by_name() -> None:
    open_site("davies-meenan")  # built, which is told the first time
    (told,) = lines("davies-meenan", "--scheme", "bucket")
    assert (told["page"], told["packets"], told["finished_ms"]) == ("davies-meenan", 2510, 25_100.0)


def test_a_page_may_come_from_standard_input(small: Path) -> None:
    assert lines("-", "--scheme", "rr", stdin=SMALL) == lines(small, "--scheme", "rr")


# Tables


def test_the_table_tells_speed_ups_against_rr(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    file.write_text(page(html(1400), resource("a", 1400), resource("b", 14_000)))
    ended = simulate(file, "--scheme", "fifo,rr")
    assert ended.exit_code == 0
    fifo, rr = lines(file, "--scheme", "fifo,rr")
    ratio = rr["byte_index_ms"]["all"] / fifo["byte_index_ms"]["all"]
    rows = {row.split()[0]: row.split() for row in ended.stdout.splitlines() if row.strip()}
    assert f"{ratio:.2f}" in rows["fifo"]
    assert rows["rr"].count("1.00") == 2
    assert "rr with the same send buffer" in " ".join(ended.stdout.split())


@pytest.mark.parametrize("columns", [20, 40, 80, 300])
def test_no_figure_is_lost_on_a_narrow_terminal(small: Path, columns: int) -> None:
    ended = simulate(small, "--scheme", "rr,bucket-html,zeroweight:other_image=1", columns=columns)
    shown = ended.stdout.replace("\n", " ")
    assert ended.exit_code == 0
    assert all(title in shown for title in ("finished", "BI all", "BI ATF", "speed-up", "FCP", "LCP"))
    assert "…" not in shown
    assert max(len(row.rstrip()) for row in ended.stdout.splitlines()) <= columns
    assert ended.stdout.count("70 ms") == 4  # finished of each of the three, and LCP of rr


def test_several_pages_end_with_mean_speed_ups_and_who_was_best(tmp_path: Path, small: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(page(html(), name="other"))
    ended = simulate(small, other, "--scheme", "rr,fifo,bucket")
    summary = ended.stdout.partition("2 pages, rung pipe")[2]
    assert [row.split()[-1] for row in summary.splitlines() if row.strip().startswith(("rr", "fifo", "bucket"))] == [
        "1",
        "1",
        "2",
    ]


def test_resources_are_listed_on_request(small: Path) -> None:
    ended = simulate(small, "--scheme", "rr,fifo", "--resources")
    table = ended.stdout.partition("times to completion")[2]
    rows = {row.split()[0]: row.split() for row in table.splitlines() if row.strip()}
    assert rows["html"][-4:] == ["20", "ms", "20", "ms"]
    assert rows["b"][-2:] == ["70", "ms"]


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_text(page(html(), resource("[bold]x[/bold]"), name="[red]odd[/red]"))
    ended = simulate(file, "--scheme", "rr", "--resources")
    assert "[red]odd[/red]" in ended.stdout
    assert "[bold]x[/bold]" in ended.stdout


def test_help_shows_an_example_and_the_rungs() -> None:
    told = " ".join(simulate("--help").stdout.split())
    for text in ("Example: mixedsched simulate", "Rung pipe", "Rung stack", "--link", "--pace-ms"):
        assert text in told


# What is refused


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--scheme", "rrr"], 2, "did you mean 'rr'?"),
        (["--scheme", ","], 2, "no scheme is named"),
        (["--scheme", "rr,fifo,rr"], 2, "scheme rr is named twice"),
        (["--scheme", "ip:alpha=7"], 2, "a number from 0 to 1"),
        (["--scheme", "ip:beta=1"], 2, "has no parameter 'beta'"),
        (["--scheme", "rr", "--mapping", "gupta"], 3, "did you mean 'gupta2024'?"),
        (["--scheme", "rr", "--rung", "browser"], 2, "'browser' is not one of 'pipe', 'stack'"),
        (["--scheme", "rr", "--rung", "stack", "--pace-ms", "5"], 2, "--pace-ms belongs to rung pipe"),
        (["--scheme", "rr", "--link", "4g", "--jitter", "fourth"], 2, "as --link says"),
        (["--scheme", "rr", "--rung", "pipe", "--link", "4g"], 2, "--link belongs to rung stack"),
        (["--scheme", "rr", "--congestion-control", "reno"], 2, "--congestion-control belongs to rung stack"),
        (["--scheme", "rr", "--link", "slow4g"], 3, "did you mean 'slow-4g'?"),
        (["--scheme", "rr", "--link", "4g", "--congestion-control", "bbr"], 2, "'bbr' is not one of 'cubic', 'reno', "),
        (["--scheme", "rr", "--pace-ms", "0"], 2, "--pace-ms 0 is not possible"),
        (["--scheme", "rr", "--pace-ms", "nan"], 2, "--pace-ms nan is not possible"),
        (["--scheme", "rr", "--pace-ms", "inf"], 2, "--pace-ms inf is not possible"),
        (["--scheme", "rr", "--request-slot-ms", "-1"], 2, "--request-slot-ms -1 is not possible"),
        (["--scheme", "rr", "--packet-bytes", "0"], 2, "greater than or equal to 1"),
        (["--scheme", "rr", "--packet-bytes", "65536"], 2, "less than or equal to 65535"),
        (["--scheme", "rr", "--send-buffer-bytes", "-1"], 2, "--send-buffer-bytes '-1'"),
        (["--scheme", "rr", "--send-buffer-bytes", "0,,1"], 2, "--send-buffer-bytes ''"),
        (["--scheme", "rr", "--send-buffer-bytes", "14k"], 2, "--send-buffer-bytes '14k'"),
        (["--scheme", "rr", "--send-buffer-bytes", "0,0"], 2, "send buffer 0 is named twice"),
        (["--scheme", "rr", "--sample-ms", "0"], 2, "--sample-ms 0 is not possible"),
        (["--scheme", "rr", "--weight", "stones"], 2, "'stones' is not one of 'bytes', 'count'"),
        (["--scheme", "rr", "--jitter", "often"], 2, "'often' is not one of 'none', 'fourth', 'random'"),
        (["--scheme", "rr", "--jitter-packets", "1-3"], 2, "add --jitter"),
        (["--scheme", "rr", "--hol-blocking"], 2, "add --jitter"),
        (["--scheme", "rr", "--jitter", "random", "--jitter-packets", "3-1"], 2, "write 1-3"),
        (["--scheme", "rr", "--jitter", "random", "--jitter-packets", "0"], 2, "write 1-3"),
        (["--scheme", "rr", "--jobs", "0"], 2, "--jobs"),
        (["--scheme", "rr", "--plot", "picture.png"], 2, ".svg or .html"),
        (["--scheme", "rr", "--plot", "/nowhere/picture.svg"], 2, "cannot write the picture"),
        (["--scheme", "rr", "--plot", "picture.svg", "--sample-ms", "100"], 2, "pictures show the ByteIndex unsampled"),
        (["davies-meenan", "--scheme", "rr", "--resources"], 2, "--resources is for one page"),
        (["-", "-", "--scheme", "rr"], 2, "'-' is named twice"),
        (["agncy", "--scheme", "rr"], 3, "did you mean 'agency'?"),
        (["nowhere/page.json", "--scheme", "rr"], 3, "there is no page 'nowhere/page.json'"),
        (["mapping/gupta2024.toml", "--scheme", "rr"], 3, "gupta2024.toml is not JSON"),
        (["mapping/", "--scheme", "rr"], 3, "holds no page"),
        (["x" * 300, "--scheme", "rr"], 3, "cannot read page"),
        (["-", "--scheme", "rr"], 3, "standard input is not JSON"),
        ([], 2, "--scheme"),
    ],
)
def test_bad_usage_is_refused_with_a_hint_before_any_work(
    small: Path, arguments: list[str], code: int, says: str
) -> None:
    ended = simulate(small, *arguments, "--json")
    assert says in " ".join(ended.stderr.split())
    assert ended.exit_code == code
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr


def test_a_refused_picture_leaves_no_file(small: Path) -> None:
    picture = small.with_name("picture.svg")
    assert simulate(small, "--scheme", "rrr", "--plot", picture).exit_code == 2
    assert simulate("nowhere", "--scheme", "rr", "--plot", picture).exit_code == 3
    assert not picture.exists()


@pytest.mark.parametrize(
    ("resources", "name", "reason"),
    [
        ([html(), resource("x", found_by="x")], "x", "it finds itself"),
        ([html(), resource("x", found_by="y"), resource("y", found_by="x")], "x", "x -> y -> x"),
        ([html(), resource("x", found_by="nobody")], "x", "its parent 'nobody' is not listed"),
        ([html(), resource("x", -1)], "x", "body_bytes"),
        ([html(), resource("x", header_bytes=-1)], "x", "header_bytes"),
        ([html(), resource("x", delay_ms=-1)], "x", "delay_ms"),
        ([html(), resource("x", delay_ms=float("nan"))], "x", "delay_ms"),
        ([html(), resource("x", kind="imago")], "x", "kind"),
        ([html(), resource("x", flags=["heroic"])], "x", "flags"),
        ([html(), resource("x", found_when="bytes", found_at_bytes=9999)], "x", "byte 9999"),
        ([html(), resource("x"), resource("x")], "x", "listed twice"),
        ([], "", "needs at least its main document"),
    ],
)
def test_a_bad_page_is_refused_with_file_resource_and_reason(
    tmp_path: Path, small: Path, resources: list[dict[str, Any]], name: str, reason: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(page(*resources))
    ended = simulate(small, file, "--scheme", "all", "--json")
    assert ended.exit_code == 3
    assert ended.stdout == ""  # although another page is fine
    for text in (str(file), name, reason, "fix:"):
        assert text in ended.stderr


def test_deeply_nested_json_is_no_page() -> None:
    ended = simulate("-", "--scheme", "rr", stdin="[" * 200_000)
    assert ended.exit_code == 3
    assert "Traceback" not in ended.stderr


# Sizes


@pytest.mark.slow
def test_a_page_of_ten_thousand_resources_is_played(tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(page(html(), *(resource(f"r{i}", 100) for i in range(9999))))
    for told in lines(file, "--scheme", "rr,bucket,fifo"):
        assert len(told["resources"]) == 10_000
        assert told["packets"] == 2 + 9999


def test_a_response_of_a_gigabyte_and_one_of_nothing_are_played(tmp_path: Path) -> None:
    file = tmp_path / "sizes.json"
    file.write_text(page(html(), resource("nothing", 0), resource("gigabyte", 10**9)))
    for told in lines(file, "--scheme", "rr,fifo,bucket"):
        times = {item["id"]: item for item in told["resources"]}
        assert times["nothing"]["complete_ms"] == times["nothing"]["requested_ms"] == 20.0
        assert told["order"] == [["html", 2], ["gigabyte", 714_286]]
        assert times["gigabyte"]["complete_ms"] == 20.0 + 7_142_860.0


def test_a_page_without_any_bytes_is_complete_at_once(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text(page(html(0)))
    (told,) = lines(file, "--scheme", "rr")
    assert (told["finished_ms"], told["byte_index_ms"], told["packets"]) == (0.0, {"all": 0.0, "atf": 0.0}, 0)
    assert simulate(file, "--scheme", "rr,fifo").exit_code == 0


# Failing and stopping

HOPELESS = """
name = "hopeless"
description = "loses nearly everything"
source = "made up"
rate_down_bps = 1_000_000
rtt_ms = 100
[loss.down]
model = "random"
ratio = 0.99
"""


def test_a_load_that_cannot_finish_is_told_counted_and_the_others_go_on(tmp_path: Path, small: Path) -> None:
    network = tmp_path / "hopeless.toml"
    network.write_text(HOPELESS)
    ended = simulate(small, "--scheme", "rr,fifo", "--link", network, "--json")
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(item["page"], item["scheme"], item["rung"]) for item in told] == [
        ("page", "rr", "stack"),
        ("page", "fifo", "stack"),
    ]
    assert all(item["error"] and "finished_ms" not in item for item in told)
    assert "2 of 2 loads could not be finished" in ended.stderr
    assert ended.exit_code == 5
    table = simulate(small, "--scheme", "rr,fifo", "--link", network)
    assert (table.exit_code, "–" in table.stdout) == (5, True)


def test_pictures_are_drawn(small: Path) -> None:
    for suffix, starts, jobs in ((".svg", "<svg", "1"), (".html", "<!doctype html>", "2")):
        picture = small.with_name("picture" + suffix)
        ended = simulate(small, "--scheme", "rr,fifo", "--plot", picture, "--json", "--jobs", jobs)
        assert ended.exit_code == 0
        assert picture.read_text().lower().lstrip().startswith((starts, "<?xml"))


def test_a_picture_shows_the_byte_index_that_was_asked_for(small: Path) -> None:
    picture = small.with_name("picture.svg")
    told = simulate(small, "--scheme", "rr,fifo", "--weight", "count", "--plot", picture, "--json").stdout.splitlines()
    drawn = picture.read_text()
    assert "the time that a response is waited for" in drawn
    for line in told:
        assert f"ByteIndex {format_ms(json.loads(line)['byte_index_ms']['atf'])}" in drawn


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("form", ["--json", "--resources"])
def test_a_reader_that_leaves_ends_it_quietly(small: Path, jobs: str, form: str) -> None:
    command = f"{sys.executable} -m mixedsched simulate {small} --scheme all --jobs {jobs} {form} | head -n 1"
    ended = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, cwd=HOME, timeout=60, check=False
    )
    assert ended.stdout
    assert ended.stderr == ""


@contextmanager
def long_simulation(tmp_path: Path, jobs: int) -> Iterator[subprocess.Popen[str]]:
    """One that has printed its first line and is busy with a page that takes long, as a process group of its own."""
    (tmp_path / "1.json").write_text(SMALL)
    (tmp_path / "2.json").write_text(page(html(), *(resource(f"r{i}", 10**9) for i in range(30))))
    running = subprocess.Popen(
        [*SIMULATE, str(tmp_path), "--scheme", "rr,wrr", "--json", "--jobs", str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HOME,
        start_new_session=True,
    )
    try:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["page"] == "page"
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_code_130_and_leaves_no_process(
    tmp_path: Path, jobs: int, number: signal.Signals
) -> None:
    with long_simulation(tmp_path, jobs) as running:
        children = family(running)
        assert bool(children) == (jobs > 1)
        os.killpg(running.pid, number) if number is signal.SIGINT else running.terminate()
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said
    assert wait_until(lambda: all_gone(children))


@pytest.mark.slow
def test_workers_end_when_the_parent_is_killed(tmp_path: Path) -> None:
    with long_simulation(tmp_path, 2) as running:
        children = family(running)
        assert len(children) >= 2
        running.kill()
        running.wait(timeout=60)
        assert wait_until(lambda: all_gone(children))


@pytest.mark.slow
def test_a_worker_that_dies_is_told_instead_of_waited_for(tmp_path: Path) -> None:
    with long_simulation(tmp_path, 2) as running:
        workers = [item for item in family(running) if "spawn_main" in " ".join(item.cmdline())]
        assert len(workers) == 2
        workers[0].kill()
        _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "a worker process died" in said
    assert wait_until(lambda: all_gone(workers))
