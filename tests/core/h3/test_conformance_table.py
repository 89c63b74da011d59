"""docs/conformance.md names a rule once, with tests that exist; and no test of a rule is missing from it."""

from __future__ import annotations

import re
from pathlib import Path

HOME = Path(__file__).resolve().parents[3]
TABLE = (HOME / "docs" / "conformance.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| .* \| (`test_\S.*`) \| (yes|choice|partly|no) \|", TABLE, re.MULTILINE)


def functions_of(*folders: str) -> set[str]:
    files = [file for folder in folders for file in sorted((HOME / "tests" / folder).glob("test_*.py"))]
    return {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}


def test_every_rule_has_its_row() -> None:
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 57))


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", TABLE))
    assert named - functions_of("core/h3", "core/schedulers") == set()


def test_every_test_of_a_rule_is_named_in_its_row() -> None:
    rows = {int(number): set(re.findall(r"`(test_\w+)`", tests)) for number, tests, _ in ROWS}
    for name in functions_of("core/h3"):
        numbered = re.match(r"test_rule_(\d+)_", name)
        if numbered is not None:
            assert name in rows[int(numbered[1])]
