"""Scripts that reproduce papers."""

from __future__ import annotations

from typing import NoReturn

import pytest

from mixedsched.errors import ExitCode, MixedschedError, StudyError, UsageError
from mixedsched.report.papers.script import run_script


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
