"""Each command once as people run it: an interpreter of its own, its exit code, and what goes to which stream."""

from __future__ import annotations

import subprocess

import pytest

from mixedsched.cli import COMMANDS
from tests.command import HOME, MIXEDSCHED

# Command -> its arguments, its exit code, a word that it writes to standard output, and one to standard error.
CASES: dict[str, tuple[tuple[str, ...], int, str, str]] = {
    "compare": (("agency", "--schemes", "sequential,mixd"), 2, "", "did you mean 'mixed'?"),
    "study": (("run", "absent.toml"), 3, "", "absent.toml"),
    "worker": (("--store", "nowhere"), 2, "", "not the address of a database"),
    "audit": (("agency", "--budget", "soon"), 2, "", "duration 'soon'"),
    "tune": (("agency", "--objective", "beauty"), 2, "", "there is no metric 'beauty'"),
    "calibrate": (("--schemes", "eps,stock"), 2, "", "2 schemes"),
    "serve": (("agency", "--scheme", "ip:alpha=7"), 2, "", "a number from 0 to 1"),
    "simulate": (("davies-meenan", "--scheme", "bucket", "--json"), 0, '"packets": 2510', ""),
    "edge": (("--origin", "ftp://shop.test"), 2, "", "is no origin"),
    "memory": (("show", "absent.sqlite"), 2, "", "there is no memory"),
    "servers": (("--json",), 0, '"caddy"', ""),
    "lab": (("run", "--", "true"), 2, "", "the relay needs to know its server"),
    "report": (("nowhere",), 3, "", "nowhere"),
    "view": (("nowhere",), 3, "", "there is no folder nowhere"),
    "record": (("shop.test",), 2, "", "try https://shop.test"),
    "import": (("absent.har",), 2, "", "absent.har"),
    "synth": (("absent.json",), 3, "", "absent.json"),
    "generate": (("--pages", "0"), 2, "", "--pages"),
    "conform": (("127.0.0.1",), 2, "", "HOST:PORT"),
    "netlog": (("absent.json",), 3, "", "cannot be read"),
    "setup": (("--help",), 0, "Example: mixedsched setup", ""),
    "doctor": (("--help",), 0, "Examples: mixedsched doctor", ""),
    "schemes": (("fifo",), 0, "HHHHCCC", ""),
    "mappings": (("--json",), 0, "gupta2024", ""),
    "networks": (("3g", "--json"), 0, '"3g"', ""),
    "sites": (("--json",), 0, "agency", ""),
}


def test_every_command_is_here() -> None:
    assert set(CASES) == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", CASES)
def test_a_command_ends_with_its_code_and_says_its_word(command: str) -> None:
    arguments, exit_code, out, err = CASES[command]
    words = [*MIXEDSCHED, command, *arguments]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=HOME)
    assert ended.returncode == exit_code, ended.stderr
    assert out in " ".join(ended.stdout.split())
    assert err in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
    if exit_code:
        assert ended.stdout == ""
