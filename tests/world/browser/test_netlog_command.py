"""`mixedsched netlog`: what it tells people and machines, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.command import MIXEDSCHED, Result, run
from tests.world.browser.netlog_script import FRAME, HEADER, Script


def netlog(file: Path, *options: str) -> Result:
    return run("netlog", file, *options, columns=160)


def netlog_from_pipe(name: str, text: str, *options: str) -> Result:
    """In a process of its own, which has this text as its standard input."""
    words = [*MIXEDSCHED, "netlog", name, *options]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=False, env={"PATH": ""})
    return Result(done.returncode, done.stdout, done.stderr)


def page() -> Script:
    script = Script().session(1, 100).session(2, 150, privacy_mode="enabled")
    script.event("HTTP3_PRIORITY_UPDATE_SENT", 109, prioritized_element_id=4, priority_field_value="u=2, i")
    script.request(0, "/", "priority: u=0, i").request(4, "/hero.jpg", "priority: u=2, i")
    script.event("HTTP3_PRIORITY_UPDATE_SENT", 130, prioritized_element_id=4, priority_field_value="u=1, i")
    script.packet(0, (3, 0, 12), (0, 0, 1000), time_ms=120).packet(2, (4, 1000, 500), time_ms=130)
    return script.packet(3, (4, 0, 1000), time_ms=160).close()


def stored(directory: Path, text: str) -> Path:
    file = directory / "net.json"
    file.write_text(text)
    return file


def facts(file: Path) -> dict[str, Any]:
    ended = netlog(file, "--json")
    assert (ended.exit_code, ended.stderr) == (0, "")
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def test_machines_get_hol_losses_connections_and_streams(tmp_path: Path) -> None:
    told = facts(stored(tmp_path, page().text()))
    assert (told["hol_bytes"], told["connection_hol_bytes"]) == (500, 500)
    assert (told["packets_seen"], told["packets_lost"]) == (3, 1)
    assert (told["chromium_version"], told["truncated"], told["unavailable"]) == ("156.0.1.2", False, [])
    assert [(item["id"], item["reason"], item["used"]) for item in told["connections"]] == [
        (1, "first", True),
        (2, "credentials", True),
    ]
    assert told["connections"][0]["close_error"] == "QUIC_CONNECTION_CANCELLED"
    control, document, hero = told["streams"]
    assert (control["stream_id"], control["path"]) == (3, None)
    assert (document["path"], document["first_byte_ms"], document["priority"]) == ("/", 20, "u=0, i")
    assert hero["priority_updates"] == ["u=2, i", "u=1, i"]
    assert (hero["received_bytes"], hero["hol_bytes"], hero["last_byte_ms"]) == (1500, 500, 60)
    assert [":path", "/hero.jpg"] in hero["headers"]


def test_people_get_the_same_in_words(tmp_path: Path) -> None:
    ended = netlog(stored(tmp_path, page().text()))
    assert ended.exit_code == 0
    for said in (
        "Chromium 156.0.1.2, 2 connections",
        "500 B within streams",
        "3 seen, 1 lost (25.0 %)",
        "#2 credentials: requests without credentials",
        "u=2, i → u=1, i",
        "/hero.jpg",
    ):
        assert said in ended.stdout
    assert ended.stdout.index("(control or QPACK)") < ended.stdout.index("/hero.jpg")


def test_a_log_of_a_killed_browser_is_read_as_far_as_it_goes_and_says_so(tmp_path: Path) -> None:
    text = page().text()
    file = stored(tmp_path, text[: text.index('"length": 1000, "fin": false}', text.index('"offset": 1000'))])
    assert facts(file)["truncated"] is True
    assert "the end of the log is missing" in netlog(file).stdout


@pytest.mark.parametrize(("missing", "fact"), [(HEADER, "packets seen and lost"), (FRAME, "arrivals")])
def test_what_another_browser_version_does_not_tell_is_named_and_null(tmp_path: Path, missing: str, fact: str) -> None:
    file = stored(tmp_path, page().text(without=(missing,)))
    told = facts(file)
    assert fact in told["unavailable"]
    assert (told["hol_bytes"], told["connection_hol_bytes"]) == (None, None)
    said = netlog(file).stdout
    assert "does not show: HOL bytes" in said
    assert "– within streams" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (Script().event("HTTP2_SESSION", 5, host="site.test:443").text(), "over HTTP/2, from site.test:443"),
        (Script().event("URL_REQUEST_START_JOB", 5).text(), "there is no QUIC session in it"),
        (Script().session(finished=False).close(details="timed out").text(), r"one attempt failed, to .*timed out"),
        (
            Script().session(1, finished=False).session(2, finished=False).close(2, details="timed out").text(),
            r"2 attempts failed, the last one to .*timed out",
        ),
    ],
)
def test_a_page_that_came_without_http3_is_refused(tmp_path: Path, text: str, why: str) -> None:
    ended = netlog(stored(tmp_path, text), "--json")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "shows no HTTP/3 connection" in ended.stderr
    assert re.search(why, ended.stderr)


@pytest.mark.parametrize("text", ["", "GIF89a", "{}", page().text(without=("QUIC_SESSION",))])
def test_what_is_no_log_is_refused_with_a_way_to_mend_it(tmp_path: Path, text: str) -> None:
    ended = netlog(stored(tmp_path, text))
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "why:" in ended.stderr
    assert "fix:" in ended.stderr


def test_numbers_that_no_connection_has_are_refused_before_anybody_counts_with_them(tmp_path: Path) -> None:
    ended = netlog(stored(tmp_path, Script().session().packet(0, (0, 0, 10**400)).text()))
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "is negative, or too large" in ended.stderr


def test_a_missing_file_or_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        ended = netlog(path)
        assert ended.exit_code == 3
        assert "cannot be read" in ended.stderr


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    text = page().text()
    told = facts(stored(tmp_path, text))
    for name in ("-", "/dev/stdin"):
        ended = netlog_from_pipe(name, text, "--json")
        assert (ended.exit_code, ended.stderr) == (0, "")
        assert json.loads(ended.stdout) == {**told, "file": "/dev/stdin"}


def test_a_named_pipe_is_read_once_so_that_no_second_writer_is_waited_for(tmp_path: Path) -> None:
    text = page().text()
    told = facts(stored(tmp_path, text))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    assert facts(pipe) == {**told, "file": str(pipe)}
    writer.join(timeout=10)
    assert not writer.is_alive()


def test_a_pipe_that_would_have_to_be_read_twice_is_refused_with_a_way_to_mend_it(tmp_path: Path) -> None:
    text = json.dumps(dict(reversed(page().document().items())))
    ended = netlog_from_pipe("-", text)
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "its constants come after its events" in ended.stderr
    assert "store it in a file" in ended.stderr
    assert facts(stored(tmp_path, text))["hol_bytes"] == 500


def test_what_a_page_wrote_cannot_reach_the_terminal(tmp_path: Path) -> None:
    script = Script().session(host="site.test\x1b[2J").request(0, "/\x1b]0;x\x07[bold]").packet(0, (0, 0, 10))
    said = netlog(stored(tmp_path, script.text())).stdout
    assert "\x1b" not in said
    assert "/\\x1b]0;x\\x07[bold]" in said
