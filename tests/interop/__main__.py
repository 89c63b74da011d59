"""`python -m tests.interop`: all clients, with and without loss, and the frame rules; prints what docs/interop.md holds.

Progress goes to standard error. Ends with 1 if anything failed; what could not be run is told as such and is no failure.
"""

from __future__ import annotations

import argparse
import datetime as dt
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop import frame_rules
from tests.interop.clients import CLIENTS, Client, NotRun
from tests.interop.target import FILES, InteropSite, Target, lossy, make_site, served, through_link

_LOSS_RATIOS = (None, 0.0, 0.02)  # None: straight to the server


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table of clients. has_failed: not if it could not be run."""

    client: str
    version: str
    link: str
    result: str
    has_failed: bool = False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop", description=__doc__)
    parser.add_argument("--write", type=Path, help="the file that gets the page, instead of standard output")
    parser.add_argument("--only", help="one client, or h3i")
    options = parser.parse_args()
    chosen = [client for client in CLIENTS if options.only in (None, client.name)]
    with tempfile.TemporaryDirectory() as folder:
        site = make_site(Path(folder))
        rows = [row for client in chosen for row in _rows(client, site)]
        verdicts, why_not = _frame_rules(site) if options.only in (None, "h3i") else ([], "not asked for")
    page = _page(rows, verdicts, why_not, site)
    if options.write is None:
        sys.stdout.write(page)
    else:
        options.write.write_text(page)
    has_failed = any(row.has_failed for row in rows) or not all(verdict.is_right for verdict in verdicts)
    return 1 if has_failed else 0


def _rows(client: Client, site: InteropSite) -> Iterator[Row]:
    _tell(f"{client.name}: getting ready")
    try:
        version = client.prepare()
    except NotRun as reason:
        _tell(f"{client.name}: not run: {reason}")
        yield Row(client.name, "-", "-", f"not run: {reason}")
        return
    for loss_ratio in _LOSS_RATIOS:
        link = "none" if loss_ratio is None else f"relay, {loss_ratio:.0%} loss"
        problem = _problem(client, site, loss_ratio)
        result = f"all {len(site.paths)} files intact" if problem is None else f"**failed**: {problem}"
        _tell(f"{client.name}, {link}: {result}")
        yield Row(client.name, version, link, result, problem is not None)


def _problem(client: Client, site: InteropSite, loss_ratio: float | None) -> str | None:
    """What went wrong, None if nothing did."""
    with served(site) as (near, _), _behind_link(near, loss_ratio) as target:
        try:
            got = client.fetch(target)
        except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            return str(error)
    missing = [path for path in site.paths if path not in got]
    wrong = [
        path for path, answer in got.items() if answer.status not in (0, 200) or answer.sha256 != site.digests[path]
    ]
    if missing or wrong:
        return f"missing: {', '.join(missing) or 'none'}; wrong: {', '.join(wrong) or 'none'}"
    return None


@contextmanager
def _behind_link(target: Target, loss_ratio: float | None) -> Iterator[Target]:
    if loss_ratio is None:
        yield target
    else:
        with through_link(target, lossy(loss_ratio)) as far:
            yield far


def _frame_rules(site: InteropSite) -> tuple[list[frame_rules.Verdict], str]:
    _tell("h3i: getting ready; its first build takes minutes")
    try:
        frame_rules.prepare()
    except NotRun as reason:
        _tell(f"h3i: not run: {reason}")
        return [], str(reason)
    verdicts = frame_rules.judge(site)
    right = sum(verdict.is_right for verdict in verdicts)
    _tell(f"h3i: {right} of {len(verdicts)} scripts came out as they must")
    return verdicts, ""


def _page(rows: list[Row], verdicts: list[frame_rules.Verdict], why_not: str, site: InteropSite) -> str:
    today = dt.datetime.now(dt.UTC).date().isoformat()
    lines = [
        "# Interoperation",
        "",
        f"Written by `make interop` on {today}; {platform.system()}, Python {platform.python_version()}.",
        "",
        "## Clients",
        "",
        f"`mixedsched serve` with a site of {FILES} files from 1 byte to 5 MB, {site.size_bytes / 1e6:.1f} MB in all. They are",
        "requested all at once, and every body's SHA-256 is compared. The relay delays by 2 ms and drops packets in both",
        "directions.",
        "",
        "| client | version | link | result |",
        "|---|---|---|---|",
        *(f"| {row.client} | {row.version} | {row.link} | {row.result} |" for row in rows),
        "",
        "gtlsclient also runs in `make test` where it is installed, with its own loss and with tiny flow-control windows",
        "(`tests/world/server/test_interop.py`).",
        "",
        "## Frame rules",
        "",
    ]
    if not verdicts:
        return "\n".join([*lines, f"h3i {frame_rules.H3I}: not run: {why_not}", ""])
    right = sum(verdict.is_right for verdict in verdicts)
    lines += [
        f"h3i {frame_rules.H3I} sends the frames, one connection for each line. {right} of {len(verdicts)} are right.",
        "Plain numbers are rules of [conformance.md](conformance.md), the others sections of RFCs. Rules 25 and 29 are not",
        "tested this way: the first is about what a server never does, the second needs a server that is shutting down;",
        "`tests/core/h3` tests both.",
        "",
        "| rule | what the client does | what the server did | |",
        "|---|---|---|---|",
    ]
    for verdict in verdicts:
        mark = "right" if verdict.is_right else "**wrong**"
        lines.append(f"| {verdict.script.rule} | {verdict.script.what} | {verdict.got} | {mark} |")
    return "\n".join([*lines, ""])


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
