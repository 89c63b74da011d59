"""A page in a real browser, for tests: keys, clicks, scripts, screenshots."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mixedsched.world.browser.find import find_chromium

Step = tuple[
    Literal[
        "evaluate",
        "press",
        "click",
        "type",
        "goto",
        "wait",
        "screenshot",
        "full_screenshot",
        "dark",
        "scripts_off",
        "frames",
        "paper",
    ],
    str,
]
_DRIVER = Path(__file__).with_name("browsing.mjs")


@dataclass(frozen=True, slots=True)
class Browsed:
    """What a visit gave."""

    results: list[Any]
    """Of each step "evaluate", "frames" and "paper" (its number of pages), in order."""
    console: list[str]
    """What the page wrote to its console, errors of its policy included."""


def browse(
    profile: Path, *steps: Step, browser: Literal["chrome", "firefox"] = "chrome", width_px: int = 1280
) -> Browsed:
    """Do the steps in one page of a fresh browser. Raises AssertionError with the browser's words if one cannot be done."""
    launch = {
        "browser": browser,
        "executablePath": str(
            find_chromium() if browser == "chrome" else shutil.which("firefox-esr") or shutil.which("firefox")
        ),
        "headless": True,
        "userDataDir": str(profile),
        "defaultViewport": {"width": width_px, "height": 900},
        "args": ["--no-sandbox"] if browser == "chrome" and os.getuid() == 0 else [],
    }
    done = subprocess.run(
        ["node", str(_DRIVER)],
        input=json.dumps({"launch": launch, "steps": steps}),
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return Browsed(**json.loads(done.stdout))
