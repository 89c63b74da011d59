"""The pages of `view`, as they are served."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from mixedsched.lab import underway
from mixedsched.lab.results import owned
from mixedsched.world.local_page import ADDRESS, Secrets
from tests.command import HOME
from tests.report.html_rules import html_problems
from tests.report.made_up_reports import store_experiment
from tests.report.outline import Outline
from tests.report.view.made_up_folders import DAY_S, served, write_compare, write_many, write_record

HOSTILE = "<img src=x onerror=alert(1)>&\"'{{77*77}}"


@dataclass(frozen=True, slots=True)
class Pages:
    """A served folder of results."""

    root: Path
    port: int
    secrets: Secrets

    def ask(self, path: str, method: str = "GET") -> tuple[int, str, Mapping[str, str]]:
        """By a whole path, without following redirects."""
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=30)
        connection.request(method, path, headers={"Origin": f"http://{ADDRESS}:{self.port}"})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(errors="replace"), {k.lower(): v for k, v in answer.getheaders()}
        connection.close()
        return found

    def page(self, path: str = "", status: int = 200) -> str:
        found, text, _ = self.ask(f"/{self.secrets.page}/{path}")
        assert found == status, text
        return text

    def ids(self) -> list[str]:
        """Of the results that are listed."""
        return re.findall(r'name="r" value="(\w+)"', self.page())


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    (tmp_path / "runs").mkdir()
    with served(tmp_path / "runs") as (port, secrets):
        yield Pages(tmp_path / "runs", port, secrets)


def test_all_results_are_listed_with_verdict_and_report(pages: Pages) -> None:
    write_compare(pages.root, "shop-4g", change=-5.0)
    text = pages.page()
    assert "mixed: LCP 5.0\N{NO-BREAK SPACE}% sooner than sequential" in text
    assert '<span class="chip better">better</span>' in text
    (report,) = re.findall(r'href="([^"]+)" aria-label="Report of shop-4g"', text)
    status, report_text, headers = pages.ask(report)
    assert (status, "A report" in report_text) == (200, True)
    assert headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")


def test_an_empty_folder_says_how_to_begin(pages: Pages) -> None:
    assert "mixedsched compare agency" in pages.page()
    assert "No page was measured yet" in pages.page("history")


def test_a_hundred_at_a_time_and_those_that_are_asked_for(pages: Pages) -> None:
    write_many(pages.root, 130)
    assert "1 to 100 of 130 results" in pages.page()
    assert "101 to 130 of 130 results" in pages.page("?first=100")
    assert pages.page("?q=site-07+3g&kind=compare").count('name="r"') == sum(
        number % 20 == 7 and number % 4 == 3 for number in range(130)
    )
    assert "None of the 130 results is like that" in pages.page("?q=nowhere")
    assert "1 to 100 of 130" in pages.page(f"?first={quote('-1')}")


def test_progress_is_told_as_it_is(pages: Pages) -> None:
    with owned(pages.root / "at-work"):
        underway.tell("block 3, mixed", 12, 34, "runs", 125.0)
        text = pages.page()
        assert "12 of 34 runs, 35\N{NO-BREAK SPACE}%, 2 min 5\N{NO-BREAK SPACE}s left" in text
        underway.tell("block 3, sequential", 17, 34, "runs", 60.0)
        (item,) = json.loads(pages.page("live"))["running"]
    assert (item["what"], item["share"]) == ("block 3, sequential", 0.5)
    assert json.loads(pages.page("live"))["running"] == []


def test_names_are_shown_and_do_nothing(pages: Pages) -> None:
    bad = HOSTILE.replace("/", "")
    folder = write_compare(pages.root, bad, site=HOSTILE, link="</script><script>alert(1)</script>", arms=[HOSTILE])
    (folder / f"{bad}.txt").write_text(HOSTILE)
    (folder / "\udcff\n.txt").write_text("")
    write_record(folder, command=("compare", HOSTILE), cwd=HOSTILE, why=HOSTILE, ended="failed")
    (one,) = pages.ids()
    (history,) = set(re.findall(r"history/(\w+)", pages.page("history")))
    for text in (pages.page(), pages.page(f"result/{one}"), pages.page("history"), pages.page(f"history/{history}")):
        assert "<img" not in text
        assert "5929" not in re.sub(r"[\w-]{16,}", "", text.split("<main")[1])
        assert len(Outline(text).scripts) == 1, "our own"
    addresses = re.findall(rf'href="(/{pages.secrets.files}/[^"]+txt)"', pages.page(f"result/{one}"))
    assert len(addresses) == 2
    assert [pages.ask(item)[0] for item in addresses] == [200, 200]
    assert pages.ask(addresses[0])[2]["content-type"].startswith("text/plain")


def test_text_that_no_page_can_hold_does_no_harm_to_the_others(pages: Pages) -> None:
    write_compare(pages.root, "shop")
    facts = json.loads((HOME / "results/tuned/agency-slow-4g/tune.json").read_text())
    (pages.root / "foreign").mkdir()
    (pages.root / "foreign/tune.json").write_text(json.dumps({**facts, "site": "blog\ud83d"}))
    assert "<td>blog?" in pages.page()


@pytest.mark.parametrize(
    "name",
    ["../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "%2fetc%2fpasswd", "/etc/passwd", "link", "linked/secret.txt",
     "a%00b", "", "pipe", "x" * 5000],
)  # fmt: skip
def test_only_files_of_the_folder_are_given(pages: Pages, name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (pages.root / "secret.txt").write_text("secret")
    folder = write_compare(pages.root, "shop")
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(folder / "pipe")
    (one,) = pages.ids()
    status, text, _ = pages.ask(f"/{pages.secrets.files}/{one}/{name}")
    assert status in (400, 404)
    assert "secret" not in text.replace("mixedsched view", "")


def test_a_folder_that_is_removed_while_one_looks_is_said(pages: Pages) -> None:
    folder = write_compare(pages.root, "shop")
    (one,) = pages.ids()
    report = f"/{pages.secrets.files}/{one}/report.html"
    assert pages.ask(report)[0] == 200
    shutil.rmtree(folder)
    assert "not here any more" in pages.page(f"result/{one}", 404)
    assert pages.ask(report)[0] == 404
    assert pages.ask(f"/{pages.secrets.page}/result/{one}/stop", "POST")[0] == 404
    assert "There are none yet" in pages.page()
    shutil.rmtree(pages.root)
    assert "There are none yet" in pages.page()


def test_the_report_of_what_is_not_finished_is_made_on_the_way(pages: Pages) -> None:
    folder = store_experiment(pages.root / "unfinished")
    before = sorted(item.name for item in folder.iterdir())
    (one,) = pages.ids()
    assert "Report of the loads so far" in pages.page(f"result/{one}")
    status, told, headers = pages.ask(f"/{pages.secrets.files}/{one}")
    assert status == 303, told
    status, text, headers = pages.ask(headers["location"])
    assert (status, "made up" in text, "not finished" in text) == (200, True, True)
    assert headers["content-security-policy"].startswith("sandbox")
    assert sorted(item.name for item in folder.iterdir()) == before, "nothing is changed"


@pytest.mark.parametrize("damage", ["no database", "other tables", "no plan", "bad run"])
def test_loads_that_cannot_be_read_are_said(pages: Pages, damage: str) -> None:
    folder = store_experiment(pages.root / "unfinished", 3)
    file = folder / "results.sqlite"
    match damage:
        case "no database":
            file.write_bytes(b"no database")
        case "other tables":
            file.unlink()
            sqlite3.connect(file).execute("CREATE TABLE x (y)").connection.close()
        case _:
            with sqlite3.connect(file) as connection:
                connection.execute(
                    "UPDATE experiment SET plan = '{}'" if damage == "no plan" else "UPDATE run SET record = '[1]'"
                )
            connection.close()
    (one,) = pages.ids()
    status, text, _ = pages.ask(f"/{pages.secrets.files}/{one}")
    assert status == 409
    assert "<h1>" in text


def test_two_results_stand_side_by_side(pages: Pages) -> None:
    write_compare(pages.root, "first", change=-5.0)
    folder = write_compare(pages.root, "second", change=6.0)
    summary = json.loads((folder / "summary.json").read_text())
    summary["facts"] = [["chromium", "157"]]
    (folder / "summary.json").write_text(json.dumps(summary))
    one, other = pages.ids()
    text = pages.page(f"pair?r={one}&r={other}")
    assert "intervals are apart" in text
    assert re.search(r"chromium</th><td>(156.0.1|157)</td><td>(156.0.1|157)</td>", text)
    assert "Choose two results" in pages.page(f"pair?r={one}&r={one}", 404)
    assert "not here any more" in pages.page(f"pair?r={one}&r=x", 404)


def test_one_page_over_weeks_by_its_ratio_to_the_baseline(pages: Pages) -> None:
    for week in range(4):
        write_compare(pages.root, f"week-{week}", time.time() - week * 7 * DAY_S, change=-5.0 + week)
    (history,) = set(re.findall(r"history/(\w+)", pages.page("history")))
    text = pages.page(f"history/{history}")
    assert Outline(text).labels == [
        "LCP of mixed against sequential: 4 results, the latest −5.0 %; the table says the same"
    ]
    assert "4 results over time" in text
    assert pages.page("history/x", 404)


def test_what_nobody_may_stop_or_start_is_left_alone(pages: Pages) -> None:
    write_compare(pages.root, "shop")
    (one,) = pages.ids()
    status, text, _ = pages.ask(f"/{pages.secrets.page}/result/{one}/stop", "POST")
    assert (status, "nothing was stopped" in text) == (409, True)
    status, text, _ = pages.ask(f"/{pages.secrets.page}/result/{one}/go-on", "POST")
    assert (status, "cannot be given again" in text) == (409, True)
    assert pages.ask(f"/{pages.secrets.page}/result/{one}/stop")[0] == 405, "a link does nothing"


def test_pages_can_be_used_without_seeing_them(pages: Pages) -> None:
    """What a machine can check of it: names of fields, buttons, pictures and tables, one heading, none left out."""
    write_many(pages.root, 3)
    with owned(pages.root / "at-work"):
        underway.tell("block 1", 1, 4, "runs", None)
        one, other, *_ = pages.ids()
        (history, *_) = set(re.findall(r"history/(\w+)", pages.page("history")))
        paths = ["", f"result/{one}", f"result/{other}", "history", f"history/{history}", f"pair?r={one}&r={other}"]
        for path in paths:
            text = pages.page(path)
            assert html_problems(text) == [], path
            assert '<html lang="en">' in text
            assert "<title></title>" not in text
            assert Outline(text).images_without_words == 0
            for field in re.findall(r"<(?:input|select|progress)[^>]*>", text):
                is_labelled = "aria-label" in field or re.search(rf"<label[^>]*>[^<]*{re.escape(field)}", text)
                assert is_labelled, field
            assert all(re.sub("<[^>]*>", "", inner).strip() for inner in re.findall(r"<t?h[^>]*>(.*?)</t?h", text))
