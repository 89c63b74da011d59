"""Scripts that reproduce papers."""

from __future__ import annotations

from typing import NoReturn

import pytest

from mixedsched.errors import ExitCode, MixedschedError, StudyError, UsageError
from mixedsched.report.papers.script import Countdown, run_script


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (MixedschedError("no room"), ExitCode.FAILED, "no room\n"),
        (UsageError("no such place"), ExitCode.USAGE, "no such place\n"),
        (StudyError("no study"), ExitCode.BAD_INPUT, "no study\n"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, ""),
    ],
)
def test_a_script_ends_like_a_command(
    error: BaseException, code: ExitCode, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def script() -> NoReturn:
        raise error

    with pytest.raises(SystemExit) as ended:
        run_script(script)
    assert ended.value.code == code
    assert capsys.readouterr().err == says


def test_each_step_tells_how_long_the_others_will_take(capsys: pytest.CaptureFixture[str]) -> None:
    times_s = iter([1000.0, 1060.0, 1080.0, 1240.0])
    countdown = Countdown(3, lambda: next(times_s))
    for site in ("agency", "sb-admin", "paper-kit"):
        countdown.done(site)
    assert capsys.readouterr().err == ("1 of 3: agency; 2 min left\n2 of 3: sb-admin; 40 s left\n3 of 3: paper-kit\n")
