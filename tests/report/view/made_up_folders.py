"""Folders of results as commands leave them, without the loads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mixedsched.lab.underway import UNDERWAY_NAME, Underway, WorkEnd
from mixedsched.report.view import ResultKind, write_summary
from mixedsched.report.view.app import ViewPages
from mixedsched.report.view.so_far import ReportsSoFar
from mixedsched.world.local_page import ADDRESS, Guard, Secrets, listen, server

DAY_S = 86_400.0
METRICS = ("lcp_ms", "fcp_ms", "si_ms", "tbt_ms", "cls", "tti_ms", "hol_bytes")


def comparison(
    site: str = "shop", link: str = "4g", change: float = -5.0, arms: Sequence[str] = ("mixed",)
) -> dict[str, Any]:
    """What `compare --json` prints, in short."""
    verdict = "better" if change < -2 else "worse" if change > 2 else "undecided"
    effects = [
        {
            "scheme": arm, "arm": arm, "baseline": "sequential", "baseline_arm": "sequential", "metric": metric,
            "family": "primary" if metric == "lcp_ms" else "exploratory", "change": change, "ci_low": change - 1.5,
            "ci_high": change + 1.5, "change_pct": change, "ci_low_pct": change - 1.5, "ci_high_pct": change + 1.5,
            "verdict": verdict, "blocks": 8,
        }
        for arm in arms
        for metric in METRICS
    ]  # fmt: skip
    return {
        "site": site, "link": link, "effects": effects, "blocks": {"complete": 8, "planned": 8}, "form_factor": "mobile",
        "versions": {"mixedsched": "0.1.0", "chromium": "156.0.1"}, "machine": {"processor": "made up", "cores": 2},
    }  # fmt: skip


def write_record(folder: Path, **changes: Any) -> None:
    facts = {"command": ("compare", "shop"), "cwd": "/", "ended": WorkEnd.DONE, "told_s": time.time(), **changes}
    text = json.dumps({"format": "mixedsched.underway/1", **asdict(Underway(**facts))})
    (folder / UNDERWAY_NAME).write_text(text)


def write_compare(root: Path, name: str, when_s: float | None = None, **facts: Any) -> Path:
    """A finished comparison."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "results.sqlite").write_bytes(b"not read for a summary")
    (folder / "report.html").write_text(
        "<!DOCTYPE html><title>A report</title><script>document.title = 'played'</script>"
    )
    write_record(folder, told_s=time.time() if when_s is None else when_s)
    write_summary(folder, ResultKind.COMPARE, comparison(**facts))
    return folder


def write_many(root: Path, count: int) -> None:
    """Of some twenty pages over four networks, one every six hours until now."""
    links = ("4g", "slow-4g", "cable", "3g")
    for number in range(count):
        site, link = f"site-{number % 20:02}", links[number % 4]
        when_s = time.time() - (count - number) * DAY_S / 4
        change = -6.0 + (number * 7 % 9) / 2
        write_compare(root, f"{site}-{link}-{number:08x}-c48ffc", when_s, site=site, link=link, change=change)


@contextmanager
def served(root: Path) -> Iterator[tuple[int, Secrets]]:
    """The pages of `view`: their port and what lets one in."""
    secrets, sock = Secrets(), listen(0)
    port = sock.getsockname()[1]
    with sock, ReportsSoFar() as so_far:
        running = server(Guard(ViewPages(root, secrets, so_far).application(), secrets, port))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield port, secrets
        finally:
            running.should_exit = True
            thread.join()


def address(port: int, secrets: Secrets, path: str = "") -> str:
    return f"http://{ADDRESS}:{port}/{secrets.page}/{path}"
