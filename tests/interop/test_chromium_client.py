"""The Chromium of the interop clients."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from mixedsched.world.browser.find import find_chromium, find_node
from tests.interop.clients import HERE
from tests.patience import wait_until

pytestmark = pytest.mark.usefixtures("chromium")


def test_it_ends_with_the_process_that_started_it_even_if_that_is_killed(tmp_path: Path) -> None:
    """As happens to a client that takes too long."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        job = {
            "chromium": str(find_chromium()),
            "profile_dir": str(tmp_path),
            "url": "https://interop.test/",
            "hosts": {"interop.test": silent.getsockname()[1]},
            "address": "127.0.0.1",
            "spki_sha256": [],
            "paths": [],
        }
        with subprocess.Popen([str(find_node()), str(HERE / "chromium.mjs"), json.dumps(job)]) as client:
            assert wait_until(lambda: _running(tmp_path), 60)
            client.send_signal(signal.SIGKILL)
        assert wait_until(lambda: not _running(tmp_path), 60)


def _running(profile: Path) -> bool:
    """Whether a process has the profile among its words."""
    words = f"--user-data-dir={profile}".encode()
    return any(words in _command(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit())


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""
