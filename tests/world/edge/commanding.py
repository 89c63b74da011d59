"""The command `edge` as a process of its own, for tests."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from mixedsched.world.edge.settings import EdgeFacts

FACTS: TypeAdapter[EdgeFacts] = TypeAdapter(EdgeFacts)


@contextlib.contextmanager
def edge_command(*options: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The process, and the first line that it prints."""
    command = [sys.executable, "-m", "mixedsched", "edge", "--port", str(port), "--json", "--stop-with-stdin", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            assert first, process.stderr.read() if process.stderr else ""
            yield process, json.loads(first)
        finally:
            process.stdin.close()
            process.wait(60)
