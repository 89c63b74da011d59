"""Scripts below results/ and scripts/: what they are asked for is there, or they say what there is, and change nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode

pytestmark = pytest.mark.slow  # each script runs in a process of its own

RESULTS = Path(__file__).parents[2] / "results"


def run(script: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """In a folder that is not the project's: whatever it needs, it finds."""
    command = [sys.executable, RESULTS / script, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("script", "words", "code", "said"),
    [
        (
            "gupta2024/play.py",
            ("--studies", "cels"),
            ExitCode.USAGE,
            "no study 'cels' in stack, only cells, stack-work",
        ),
        ("gupta2024/play.py", ("--studies", "browser"), ExitCode.USAGE, "no study 'browser' in stack"),
        (
            "sander2022/play.py",
            ("bundeld",),
            ExitCode.USAGE,
            "no collection of pages 'bundeld', only bundled, generated",
        ),
        (
            "sander2022/play.py",
            ("--studies", "loss,bandwith"),
            ExitCode.USAGE,
            "no study 'bandwith', only bandwidth, bursts",
        ),
        ("sander2022/loss_runs.py", ("bundeld",), ExitCode.USAGE, "no collection of pages 'bundeld'"),
        ("marx2019/collect.py", (), ExitCode.USAGE, "NAME=FOLDER"),
        ("marx2019/collect.py", ("bundled", "recorded"), ExitCode.USAGE, "as recorded=FOLDER"),
        ("marx2019/collect.py", ("recorded=nowhere",), ExitCode.BAD_INPUT, "folder nowhere holds no page"),
        ("marx2019/causes.py", ("nowhere",), ExitCode.BAD_INPUT, "folder nowhere holds no page"),
        ("../scripts/measure_pages.py", ("nowhere",), ExitCode.BAD_INPUT, "folder nowhere holds no page"),
        ("marx2019/redraw.py", ("--keeep",), ExitCode.USAGE, "unrecognized arguments: --keeep"),
        ("edge/measure.py", ("--only", "agency@5g"), ExitCode.USAGE, "invalid choice: 'agency@5g'"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(
    script: str, words: tuple[str, ...], code: ExitCode, said: str, tmp_path: Path
) -> None:
    done = run(script, *words, folder=tmp_path)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
