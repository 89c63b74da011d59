"""`python -m tests.fuzz --minutes N`: hostile connections one after another, counted by what became of them.

By default against the HTTP/3 layer alone; with --sessions against whole sessions behind QUIC, every second one with 10 % loss.
A connection that breaks a rule is told with its number, and `--first NUMBER --connections 1` plays it again.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import traceback
from collections import Counter

import psutil

from tests.fuzz.session import try_session
from tests.fuzz.trial import Outcome, Trial

_REPORT_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long at most")
    parser.add_argument("--connections", type=int, default=sys.maxsize, help="how many at most")
    parser.add_argument("--first", type=int, default=0, help="the first connection's number")
    parser.add_argument("--sessions", action="store_true", help="behind QUIC, which takes longer")
    options = parser.parse_args()

    started_s = time.monotonic()
    next_report_s = started_s + _REPORT_S
    closed: Counter[int | None] = Counter()
    inputs = requests = connections = 0
    memory_bytes: list[int] = []
    failures = 0
    for number in range(options.first, min(options.first + options.connections, sys.maxsize)):
        try:
            outcome = _session(number) if options.sessions else Trial(number).run()
        except Exception:  # whatever the server raises is a finding
            failures += 1
            print(f"connection {number}:\n{traceback.format_exc()}")  # noqa: T201
            if failures == 10:
                break
            continue
        inputs += outcome.inputs
        requests += outcome.requests
        connections += 1
        closed[outcome.error_code] += 1
        if connections % (10 if options.sessions else 1000) == 0 and (now_s := time.monotonic()) > next_report_s:
            next_report_s += _REPORT_S
            gc.collect()
            memory_bytes.append(psutil.Process().memory_info().rss)
            _report(started_s, connections, inputs, requests, failures, closed, memory_bytes)
            if now_s - started_s > options.minutes * 60:
                break
    _report(started_s, connections, inputs, requests, failures, closed, memory_bytes)
    return 1 if failures else 0


def _session(number: int) -> Outcome:
    """inputs are not counted there."""
    return Outcome(0, try_session(number, 0.1 * (number % 2)), 0)


def _report(
    started_s: float,
    connections: int,
    inputs: int,
    requests: int,
    failures: int,
    closed: Counter[int | None],
    memory_bytes: list[int],
) -> None:
    codes = ", ".join(
        f"{'lived' if code is None else hex(code)} {count:,}"
        for code, count in sorted(closed.items(), key=lambda item: item[0] or 0)
    )
    memory = (
        f"; memory {memory_bytes[0] / 1e6:.1f} MB at first, now {memory_bytes[-1] / 1e6:.1f} MB" if memory_bytes else ""
    )
    print(  # noqa: T201
        f"{time.monotonic() - started_s:.0f} s: {inputs:,} mutated streams on {connections:,} connections, "
        f"{requests:,} requests read, {failures} failures{memory}\n  {codes}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
