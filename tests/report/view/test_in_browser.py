"""The pages of `view` in a real browser: progress as it is, keys, scripts off, a report that cannot reach them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mixedsched.lab import underway
from mixedsched.lab.results import owned
from tests.browsing import browsing
from tests.report.view.made_up_folders import address, served, write_compare

pytestmark = pytest.mark.usefixtures("chromium")

# A page that tells what a report of somebody's could do from where it is served.
HOSTILE_REPORT = """<!DOCTYPE html><title>report</title><link rel="icon" href="data:,"><body><script>
const tries = {};
try { localStorage.x = 1; tries.storage = 'reached'; } catch { tries.storage = 'refused'; }
fetch('/').then(() => 'reached', () => 'refused').then(found => {
  tries.fetch = found;
  document.title = JSON.stringify(tries);
});
</script>"""
UNREACHABLE = (
    "return [...document.querySelectorAll('a, button, input, select')].filter(item => item.tabIndex < 0).length"
)
TRIED = "while (document.title === 'report') await new Promise(done => setTimeout(done, 50)); return document.title"
SAID = "document.querySelector('.running .said').textContent"


@contextmanager
def working(folder: Path) -> Iterator[None]:
    """Work that goes on by one load a tenth of a second, until it is left."""
    is_over = threading.Event()

    def work() -> None:
        with owned(folder):
            for done in range(10_000):
                underway.tell(f"load {done}", done, 10_000, "loads", 1000.0 - done / 10)
                if is_over.wait(0.1):
                    return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_a_page_lives_obeys_keys_and_says_all_without_scripts(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    write_compare(root, "shop-4g", change=-5.0)
    hostile = write_compare(root, "blog-4g", change=5.0)
    (hostile / "report.html").write_text(HOSTILE_REPORT)
    with served(root) as (port, secrets), browsing(tmp_path / "profile") as browse:
        url = address(port, secrets)
        with working(root / "at-work"):
            seen = browse(
                ("goto", url),
                ("wait", ".running"),
                # Progress moves, and what was ticked stays so; every control can be reached by keys.
                ("evaluate", f"window.before = {SAID}; document.querySelector('[name=r]').click()"),
                ("evaluate", f"while ({SAID} === before) await new Promise(done => setTimeout(done, 50)); return {SAID}"),
                ("evaluate", "return document.querySelectorAll('[name=r]:checked').length"),
                ("evaluate", UNREACHABLE),
                ("goto", f"{url}?q=blog"),
                ("click", "a[aria-label='Report of blog-4g']"),
                ("wait", "body"),
                ("evaluate", TRIED),
                ("goto", url),
            )  # fmt: skip
        moved, ticked, unreachable, tried = seen.results[-4:]
        assert "of 10000 loads" in moved
        assert (ticked, unreachable) == (1, 0)
        assert tried == '{"storage":"refused","fetch":"refused"}'
        assert [line for line in seen.console if "Refused" not in line and "policy" not in line.lower()] == []
        plain = browse(
            ("scripts_off", ""),
            ("goto", url),
            ("click", ".results tr:nth-child(1) [name=r]"),
            ("click", ".results tr:nth-child(2) [name=r]"),
            ("press", "Enter"),
            ("wait", ".pair"),
        )
        assert plain.console == []
