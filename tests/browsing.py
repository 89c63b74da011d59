"""Pages in Chromium, for tests: keys, clicks, scripts."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mixedsched.world.browser.find import find_chromium

Step = tuple[Literal["evaluate", "press", "click", "goto", "wait", "scripts_off", "frames", "paper"], str]
_DRIVER = Path(__file__).with_name("browsing.mjs")


@dataclass(frozen=True, slots=True)
class Browsed:
    """What a visit gave."""

    results: list[Any]
    """Of each step "evaluate", "frames" and "paper" (its number of pages), in order."""
    console: list[str]
    """What the page wrote to its console, errors of its policy included."""


Browse = Callable[..., Browsed]
"""Does its steps in a new page. Raises AssertionError with the browser's words if one cannot be done."""


@contextmanager
def browsing(profile: Path) -> Iterator[Browse]:
    """A fresh Chromium for visit after visit."""
    launch = {
        "executablePath": str(find_chromium()),
        "userDataDir": str(profile),
        "defaultViewport": {"width": 1280, "height": 900},
        "args": ["--no-sandbox"] if os.getuid() == 0 else [],
    }
    with subprocess.Popen(
        ["node", _DRIVER, json.dumps(launch)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        orders, answers = driver.stdin, driver.stdout

        def browse(*steps: Step) -> Browsed:
            orders.write(json.dumps(steps) + "\n")
            orders.flush()
            answer = json.loads(answers.readline() or '{"error": "the browser, or what drives it, has ended"}')
            assert "error" not in answer, answer["error"]
            return Browsed(**answer)

        yield browse


def browse(profile: Path, *steps: Step) -> Browsed:
    """The only visit of a fresh browser."""
    with browsing(profile) as once:
        return once(*steps)
