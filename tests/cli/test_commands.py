"""The command line: contracts for machines, words for people, exit codes for scripts."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mixedsched.model.request import Kind
from tests.command import HOME, run
from tests.report.made_up_reports import store_experiment


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("schemes", {"sequential", "stock", "nip", "ip", "mixed", "eps"}),
        ("mappings", {"gupta2024", "chromium"}),
        ("networks", {"cdn", "fiber", "cable", "4g", "slow-4g", "3g"}),
        ("sites", {"agency", "davies-meenan"}),
    ],
)
def test_lists_tell_machines_name_source_and_description(command: str, names: set[str]) -> None:
    ended = run(command, "--json")
    entries: list[dict[str, Any]] = json.loads(ended.stdout)
    assert names <= {entry["name"] for entry in entries}
    assert all(entry["source"] and entry["description"] for entry in entries)
    told = run(command)
    assert (told.exit_code, ended.exit_code) == (0, 0)
    assert all(name in told.stdout for name in names)


def test_what_a_mapping_says_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    offsets = ", ".join(f"{kind} = 0" for kind in Kind)
    (tmp_path / "mapping").mkdir()
    (tmp_path / "mapping" / "x.toml").write_text(
        'format = "mixedsched.mapping/1"\nname = "x"\n'
        'description = "\\u001b[2J"\nsource = "first\\nsecond\\u0007"\n'
        f"[fill]\noffset = {{ {offsets} }}\n"
        '[switches."\\u001b[31m"]\ndescription = "s"\ndefault = "I"\nvalues = { I = {} }\n',
        encoding="utf-8",
    )
    shown = run("mappings", env={"MIXEDSCHED_HOME": str(tmp_path)}).stdout
    assert not any(sign in shown for sign in "\x1b\x07")
    assert all(text in shown for text in (r"\x1b[2J", r"second\x07", r"\x1b[31m=I"))


@pytest.mark.parametrize(
    "command",
    ["compare", "setup", "doctor", "schemes", "mappings", "networks", "sites", "report", "netlog", "lab", "serve"],
)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    told = run(command, "--help")
    assert told.exit_code == 0
    assert re.search(f"Examples?: mixedsched {command}", " ".join(told.stdout.split()))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["compare", "agency", "--schemes", "sequential,mixd"], 2, "did you mean 'mixed'?"),
        (["compare", "agency", "--schemes", "sequential"], 2, "name two or more schemes"),
        (["compare", "agency", "--schemes", "sequential,sequential"], 2, "use --aa"),
        (["compare", "agency", "--aa", "--schemes", "sequential,mixed"], 2, "name one scheme only"),
        (["compare", "agency", "--link", "slow4g"], 3, "did you mean 'slow-4g'?"),
        (["compare", "agncy"], 3, "did you mean 'agency'?"),
        (["compare", "a" * 300], 3, "there is no site"),
        (["compare", "a" * 300 + ".har"], 3, "a.har"),
        (["compare", "agency", "--mapping", "gupta"], 3, "did you mean 'gupta2024'?"),
        (["compare", "agency", "--primary", "lcpp"], 2, "did you mean"),
        (["compare", "agency", "--blocks", "0"], 2, "--blocks"),
        (["compare", "agency", "--congestion-control", "bbr"], 2, "'bbr' is not one of"),
        (["compare", "agency", "--cpu-slowdown", "0.5"], 2, "cannot be slowed down 0.5 times"),
        (["compare", "agency", "--throttling", "devtools"], 2, "'devtools' is not one of"),
        (["compare", "agency", "--throttling", "simulate", "--cpu-slowdown", "4"], 2, "slowed down twice"),
        (["compare", "agency", "--form-factor", "watch"], 2, "'watch' is not one of"),
        (["audit", "agency", "--form-factor", "watch"], 2, "'watch' is not one of"),
        (["calibrate", "agency", "--form-factor", "watch"], 2, "'watch' is not one of"),
        (["tune", "agency", "--form-factor", "watch"], 2, "'watch' is not one of"),
        (["compare", "agency", "--baseline", "eps"], 2, "choose one of sequential, mixed"),
        (["serve", "agency", "--scheme", "ip:alpha=7"], 2, "a number from 0 to 1"),
        (["serve", "agency", "--port", "99999"], 2, "--port"),
        (["serve", "agency", "--congestion-control", "bbr"], 2, "cubic"),
        (["serve", "."], 3, "index.html"),
        (["report", "nowhere"], 3, "name a folder that compare made"),
        (["worker", "--store", "sqlite:///none/x.sqlite", "--lease", "0s"], 2, "2s at least"),
        (["frobnicate"], 2, "No such command"),
        (["compare"], 2, "SITE"),
    ],
)
def test_bad_input_is_refused_with_a_hint_and_the_right_exit_code(arguments: list[str], code: int, says: str) -> None:
    ended = run(*arguments)
    assert says in " ".join(ended.stderr.split())
    assert ended.exit_code == code
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_a_mapping_with_urgency_nine_or_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    text = (HOME / "mapping" / "gupta2024.toml").read_text()
    for old, new, says in (('"1,N"', '"9,N"', "'9,N'"), ('["font"]', '["fonts"]', "did you mean 'font'?")):
        file = tmp_path / "bad.toml"
        file.write_text(text.replace(old, new, 1))
        ended = run("compare", "agency", "--mapping", str(file))
        assert says in ended.stderr
        assert ended.exit_code == 3


def test_a_site_with_a_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "www").mkdir()
    resource = {"id": "html", "path": "/", "kind": "document", "body_bytes": 5, "found_by": None, "found_when": "start"}
    resource["file"] = "index.html"
    page = {"format": "mixedsched.page/1", "name": "x", "hosts": ["x.test"], "entry": "/", "resources": [resource]}
    (tmp_path / "page.json").write_text(json.dumps(page))
    ended = run("serve", str(tmp_path))
    assert ended.exit_code == 3
    assert "html" in ended.stderr
    assert "index.html" in ended.stderr


def test_without_node_or_chromium_it_says_what_to_install(tmp_path: Path) -> None:
    for variables, says in (({"PATH": str(tmp_path)}, "Node"), ({"CHROME_PATH": str(tmp_path / "none")}, "Chrom")):
        ended = run("compare", "davies-meenan", "--out", tmp_path / "out", env=variables)
        assert ended.exit_code == 4, ended.stderr
        assert says in ended.stderr
        assert "fix:" in ended.stderr


def test_a_folder_that_is_not_the_projects_is_told_as_such(tmp_path: Path) -> None:
    ended = run("mappings", env={"MIXEDSCHED_HOME": str(tmp_path)})
    assert ended.exit_code == 4
    assert "MIXEDSCHED_HOME" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["--help", "schemes", "schemes --json", "generate", "simulate agency --schemes all --json"]
)
def test_a_reader_that_has_enough_is_no_failure(command: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "mixedsched", *command.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HOME,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 0


def _by_shell(line: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """line: for a shell, in which "$@" is the command with its arguments."""
    words = [sys.executable, "-m", "mixedsched", *arguments]
    return subprocess.run(["sh", "-c", line, "sh", *words], capture_output=True, text=True, cwd=HOME, check=False)


@pytest.mark.slow
def test_results_for_which_there_is_no_room_are_an_error_that_says_so() -> None:
    ended = _by_shell('exec "$@" > /dev/full', "schemes", "--json")
    assert ended.returncode == 1
    assert "error: results cannot be written to standard output" in ended.stderr
    assert "why: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_remarks_that_nobody_can_read_are_dropped_and_results_are_not(tmp_path: Path) -> None:
    words = "simulate", "davies-meenan", "--scheme", "rr", "--plot", str(tmp_path / "plot.svg")
    reader, pipe = os.pipe()
    os.close(reader)
    for errors in (pipe, os.open("/dev/full", os.O_WRONLY)):
        program = [sys.executable, "-m", "mixedsched", *words]
        ended = subprocess.run(program, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=HOME, check=False)
        os.close(errors)
        assert ended.returncode == 0
        assert "speed-up: BI of rr" in " ".join(ended.stdout.split())


@pytest.mark.slow
def test_a_command_without_standard_streams_keeps_its_files_apart_from_them(tmp_path: Path) -> None:
    """Their numbers are not given to the file that is opened next."""
    picture = tmp_path / "plot.svg"
    ended = _by_shell('exec "$@" <&- >&- 2>&-', "simulate", "davies-meenan", "--scheme", "rr", "--plot", str(picture))
    assert ended.returncode == 0
    assert picture.read_text().rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("facts_name", "report_name", "command"),
    [
        ("tune.json", "tune.html", "tune"),
        ("finder.json", "finder.html", "tune --schemes"),
        ("audit.json", "audit.html", "audit"),
        ("calibration.json", "calibration.svg", "calibrate"),
    ],
)
def test_of_a_folder_of_another_command_report_says_where_its_report_is(
    facts_name: str, report_name: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / facts_name).write_text('{"command": "mixedsched again"}')
    told = run("report", str(tmp_path))
    assert told.exit_code == 0
    assert told.stdout.splitlines()[-1] == f"report: {tmp_path / report_name}"
    assert f"made by `{command}`" in told.stdout
    assert "mixedsched again" in told.stdout
    assert json.loads(run("report", str(tmp_path), "--json").stdout) == {"command": "mixedsched again"}


@pytest.mark.parametrize("text", ['{"comm', "[1]", "3", '{"spent_s": NaN}', '{"reason": ' + "[" * 100_000])
def test_of_a_folder_with_torn_facts_report_says_how_to_mend_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text(text)
    ended = run("report", str(tmp_path), "--json")
    assert ended.exit_code == 3
    assert "run the tune command again" in " ".join(ended.stderr.split())


@pytest.mark.parametrize("name", ["[red]runs", "a[/b]"])
def test_the_name_of_a_folder_of_results_is_printed_as_it_is(name: str, tmp_path: Path) -> None:
    folder = store_experiment(tmp_path / name, 2)
    ended = run("report", folder)
    assert ended.exit_code == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == f"report: {folder / 'report.html'}"


@pytest.mark.parametrize("option", [(), ("--video", "taken/film.gif")])
def test_a_report_that_cannot_be_written_is_an_error_that_says_so(option: tuple[str, ...], tmp_path: Path) -> None:
    folder = store_experiment(tmp_path / "results", 2)
    if option:
        (tmp_path / "taken").touch()  # a file, below which there can be nothing
    else:
        (folder / "report.html").mkdir()
    ended = run("report", folder, *option, cwd=tmp_path)
    assert ended.exit_code == 1
    assert "error: cannot write to" in ended.stderr


@pytest.mark.parametrize(
    "damage", ["UPDATE experiment SET plan = '{}'", "UPDATE run SET record = '{}'", "UPDATE run SET record = '[1]'"]
)
def test_runs_that_were_damaged_are_an_error_that_says_so(damage: str, tmp_path: Path) -> None:
    folder = store_experiment(tmp_path / "results", 2)
    with sqlite3.connect(folder / "results.sqlite") as connection:
        connection.execute(damage)
    connection.close()
    ended = run("report", folder)
    assert ended.exit_code == 3
    assert "cannot be understood" in ended.stderr


def test_what_a_page_calls_itself_and_its_resources_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    resources = [{"id": "\x1b]0;id\x07", "kind": "document", "path": "/", "body_bytes": 9000}]
    page = {"format": "mixedsched.page/1", "name": "\x1b[2J[bold]page", "resources": resources}
    (tmp_path / "page.json").write_text(json.dumps(page))
    ended = run("simulate", tmp_path / "page.json", "--scheme", "rr", "--resources")
    assert ended.exit_code == 0, ended.stderr
    assert r"\x1b[2J[bold]page" in ended.stdout
    assert r"\x1b]0;id\x07" in ended.stdout
    assert not any(sign in ended.stdout + ended.stderr for sign in "\x1b\x07")


@pytest.mark.parametrize("command", ["report", "view", "audit agency --out", "tune agency --out", "memory show"])
def test_a_name_that_no_system_can_hold_is_refused_in_words(command: str) -> None:
    ended = run(*command.split(), "a" * 300)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "too long for this system" in ended.stderr.replace("\n", " ")
