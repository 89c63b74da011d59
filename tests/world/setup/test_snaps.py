"""Browsers that are snaps are passed over: they cannot see the profiles of measured browsers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.errors import MissingPartError
from mixedsched.world import places
from mixedsched.world.browser.find import browsers_in_path, find_chromium, is_snap
from tests.world.setup.mirror import program

# As Ubuntu's package chromium-browser has it.
STUB = """
if ! [ -x /snap/bin/chromium ]; then
    echo "Command '$0' requires the chromium snap to be installed." >&2
    exit 1
fi
exec /snap/bin/chromium "$@"
"""
# As Debian and Google start theirs.
WRAPPER = (
    'export CHROME_WRAPPER="$(readlink -f "$0")"\n# a snapshot of the profile is kept\nexec /usr/lib/chromium "$@"'
)


@pytest.fixture
def ubuntu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only Chromium is a snap: usr/bin has the stub, snap/bin a link to snap itself."""
    snap = program(tmp_path / "usr" / "bin", "snap", "true")
    program(tmp_path / "usr" / "bin", "chromium-browser", STUB)
    (tmp_path / "snap" / "bin").mkdir(parents=True)
    (tmp_path / "snap" / "bin" / "chromium").symlink_to(snap)
    monkeypatch.setenv("PATH", f"{tmp_path / 'usr' / 'bin'}:{tmp_path / 'snap' / 'bin'}")
    monkeypatch.setenv(places.CACHE_VARIABLE, str(tmp_path / "kept"))
    monkeypatch.delenv("CHROME_PATH", raising=False)
    return tmp_path


def test_links_to_snap_and_scripts_that_hand_over_to_one_are_snaps(ubuntu: Path) -> None:
    assert is_snap(ubuntu / "snap" / "bin" / "chromium")
    assert is_snap(ubuntu / "usr" / "bin" / "chromium-browser")
    assert is_snap(program(ubuntu, "own", 'snap run chromium "$@"'))


def test_programs_scripts_of_other_packages_and_what_is_not_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF /snap/bin/")
    (tmp_path / "loop").symlink_to("loop")
    for path in (program(tmp_path, "wrapper", WRAPPER), tmp_path / "binary", tmp_path / "loop", tmp_path / "none"):
        assert not is_snap(path)


def test_where_there_is_nothing_but_a_snap_the_reason_and_the_remedy_are_told(ubuntu: Path) -> None:
    assert browsers_in_path() == (None, [ubuntu / "snap/bin/chromium", ubuntu / "usr/bin/chromium-browser"])
    with pytest.raises(MissingPartError, match="cannot be used: it is a snap") as caught:
        find_chromium()
    assert "mixedsched setup" in caught.value.fix


def test_another_browser_is_taken_instead_wherever_it_is_in_the_path(ubuntu: Path) -> None:
    chrome = program(ubuntu / "snap" / "bin", "google-chrome", WRAPPER)
    assert find_chromium() == chrome


def test_a_snap_is_refused_also_when_chrome_path_names_it(ubuntu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(ubuntu / "usr" / "bin", "google-chrome", "true")
    monkeypatch.setenv("CHROME_PATH", "chromium-browser")
    with pytest.raises(MissingPartError, match="CHROME_PATH is chromium-browser, which cannot be used"):
        find_chromium()
