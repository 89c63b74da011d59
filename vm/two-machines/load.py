"""Loads a page from a server elsewhere, again and again: `python load.py IP:PORT SPKI URL HOST,... LOADS`.

Prints a line of JSON for each load: {"load": n, "metrics": {...}}, or {"load": n, "failed": reason}. Exit code 5 if one failed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mixedsched.errors import ExitCode
from mixedsched.report.papers.script import run_script
from mixedsched.world.browser.pageload import PageLoadFailed, PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner


async def load(server: str, spki_sha256: str, url: str, hosts: str, loads: int) -> int:
    """Returns the exit code."""
    address, _, port = server.rpartition(":")
    failures = 0
    async with LighthouseRunner() as runner:
        for number in range(1, loads + 1):
            outcome = await _one(runner, address, int(port), spki_sha256, url, hosts.split(","))
            failures += "failed" in outcome
            sys.stdout.write(json.dumps({"load": number, **outcome}) + "\n")
            sys.stdout.flush()
    return ExitCode.INVALID_RUNS if failures else ExitCode.DONE


async def _one(
    runner: LighthouseRunner, address: str, port: int, spki_sha256: str, url: str, hosts: list[str]
) -> dict[str, Any]:
    job = PageLoadJob(url, dict.fromkeys(hosts, port), (spki_sha256,), address=address)
    try:
        page = await runner.run(job)
    except PageLoadFailed as error:
        return {"failed": f"{error.reason}: {error.detail}"}
    others = page.answered_without_h3()
    if others:
        return {"failed": f"{others[0].url} did not come over HTTP/3"}
    return {"metrics": dict(page.metrics), "requests": len(page.requests)}


def main() -> None:
    """Entry point."""
    server, spki_sha256, url, hosts, loads = sys.argv[1:]
    sys.exit(asyncio.run(load(server, spki_sha256, url, hosts, int(loads))))


if __name__ == "__main__":
    run_script(main)
