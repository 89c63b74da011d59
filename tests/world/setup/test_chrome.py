"""Chrome for Testing from a mirror: brought once, whatever interrupts it, and used where no other browser can be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import MissingPartError, UsageError
from mixedsched.world import places
from mixedsched.world.browser.find import OwnBrowser, find_chromium, find_node, find_package, own_browser
from mixedsched.world.setup import checked_mirror
from mixedsched.world.setup._chrome import bring_chrome
from tests.world.setup.mirror import BROWSER, archive, mirror, program

pytestmark = pytest.mark.slow  # a mirror, archives, and programs that fetch and unpack them

LARGE = archive(filling_bytes=3_000_000)


class Silent:
    """Hears of progress, and keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.told: list[tuple[int, int]] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def tell(self, _what: str, done: int, total: int) -> None:
        self.told.append((done, total))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to keep things in, and a PATH with Node and npm, but without a browser."""
    monkeypatch.setenv(places.CACHE_VARIABLE, str(tmp_path / "kept"))
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setenv("PATH", str(path_without_browser(tmp_path)))
    return tmp_path / "kept"


def path_without_browser(folder: Path) -> Path:
    names = folder / "bin"
    names.mkdir()
    for name in ("node", "npm", "sh", "ldd"):
        if found := shutil.which(name):
            (names / name).symlink_to(found)
    return names


def bring(url: str | None, progress: Silent | None = None) -> OwnBrowser:
    return bring_chrome(find_node(), find_package(), url, progress or Silent())


def left_behind(kept: Path) -> list[str]:
    return sorted(path.name for path in (kept / "browser" / "chrome").iterdir())


def test_it_is_brought_with_progress_and_found_from_then_on(kept: Path) -> None:
    with pytest.raises(MissingPartError, match="Chromium is missing"):
        find_chromium()
    progress = Silent()
    with mirror() as serving:
        browser = bring(serving.url, progress)
    assert find_chromium() == browser.program
    assert browser.program.read_text() == BROWSER
    assert serving.downloads == [None]
    assert progress.told[-1] == (len(archive()), len(archive()))
    assert left_behind(kept) == [f"linux-{browser.build}"]


def test_a_browser_in_the_path_goes_before_it_and_chrome_path_before_that(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mirror() as serving:
        bring(serving.url)
    in_path = program(tmp_path / "bin", "chromium", "true")
    assert find_chromium() == in_path
    chosen = program(tmp_path, "mine", "true")
    monkeypatch.setenv("CHROME_PATH", str(chosen))
    assert find_chromium() == chosen


def test_the_build_is_the_one_that_belongs_to_the_runner_unless_the_mirror_names_another(kept: Path) -> None:
    with mirror() as serving:
        ours = bring(serving.url).build
    assert serving.requests[-1][0] == f"/cft/{ours}/linux64/chrome-linux64.zip"
    shutil.rmtree(kept)
    index = {"channels": {"Stable": {"version": "150.0.1.2"}}}
    files = {"chrome-linux64.zip": archive(), "last-known-good-versions.json": json.dumps(index).encode()}
    with mirror(**files) as serving:
        assert bring(serving.url).build == "150.0.1.2"
    assert serving.requests[-1][0] == "/cft/150.0.1.2/linux64/chrome-linux64.zip"


def test_a_download_that_was_cut_off_is_gone_on_with(kept: Path) -> None:
    with mirror(**{"chrome-linux64.zip": LARGE}) as serving:
        serving.files["chrome-linux64.zip"] = LARGE
        serving.cut_bytes = 1_000_000
        bring(serving.url)
    assert serving.downloads == [None, "bytes=1000000-", "bytes=2000000-", "bytes=3000000-"]
    assert own_browser() is not None


def test_what_was_half_unpacked_is_unpacked_again(kept: Path) -> None:
    with mirror() as serving:
        browser = bring(serving.url)
        (kept / "browser" / "browser.json").unlink()  # it is written last
        browser.program.write_text("hal")
        assert own_browser() is None
        assert bring(serving.url).program.read_text() == BROWSER


@pytest.mark.parametrize("damage", ["program", "note", "format"])
def test_what_was_damaged_later_is_not_taken_for_a_browser_and_brought_again(kept: Path, damage: str) -> None:
    with mirror() as serving:
        browser = bring(serving.url)
        note = kept / "browser" / "browser.json"
        if damage == "program":
            browser.program.unlink()
        else:
            note.write_text("{" if damage == "note" else note.read_text().replace("browser/1", "browser/0"))
        with pytest.raises(MissingPartError, match="Chromium is missing"):
            find_chromium()
        assert bring(serving.url) == browser
    assert find_chromium() == browser.program


def test_a_damaged_archive_is_never_unpacked_and_fetched_again_the_next_time(kept: Path) -> None:
    body = bytearray(LARGE)
    body[len(body) // 2] ^= 1
    with mirror(**{"chrome-linux64.zip": bytes(body)}) as serving:
        with pytest.raises(MissingPartError, match="damaged"):
            bring(serving.url)
        assert left_behind(kept) == []
        serving.files["chrome-linux64.zip"] = LARGE
        assert bring(serving.url).program.read_text() == BROWSER


def test_leavings_of_other_builds_are_removed(kept: Path) -> None:
    folder = kept / "browser" / "chrome"
    (folder / "linux-1.2.3.4").mkdir(parents=True)
    (folder / "1.2.3.4-chrome-linux64.zip.part").write_text("x")
    with mirror() as serving:
        build = bring(serving.url).build
    assert left_behind(kept) == [f"linux-{build}"]


def test_without_a_network_it_says_how_to_bring_it_by_hand_and_that_works(kept: Path) -> None:
    with pytest.raises(MissingPartError, match="could not be downloaded") as caught:
        bring("http://127.0.0.1:9/cft")
    place = caught.value.fix.partition("copy the file here as ")[2].partition(";")[0]
    Path(place).write_bytes(archive())
    assert bring("http://127.0.0.1:9/cft").program.read_text() == BROWSER


def test_for_other_processors_the_distributions_browser_is_named(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(MissingPartError, match="no Chrome for Testing for aarch64") as caught:
        bring(None)
    assert "apt-get install chromium" in caught.value.fix


@pytest.mark.parametrize(
    "address",
    [
        *(
            "mirror.example",
            "ftp://mirror.example/x",
            "file:///tmp",
            "http://",
            "http://:80/",
            "http://[",
            "http://[::1",
        ),
        *("http://mirror.example:port/", "http://mirror.example:99999", "http://mirror.example/a b", "http://x/\u00e4"),
    ],
)
def test_what_is_no_address_is_no_mirror(address: str) -> None:
    with pytest.raises(UsageError, match="is not an address"):
        checked_mirror(address)
    assert checked_mirror("https://mirror.example/cft/") == "https://mirror.example/cft"


# The command itself, as people run and interrupt it.


def setup(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mixedsched", "setup", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200", **environment},
        cwd=Path(__file__).parents[3],
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def parts(out: str) -> Mapping[str, Any]:
    facts = json.loads(out)
    return {"ok": facts["ok"], **{part["name"]: part for part in facts["parts"]}}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_set_up_that_is_interrupted_goes_on_and_a_third_one_has_nothing_to_do(kept: Path, how: signal.Signals) -> None:
    with mirror(**{"chrome-linux64.zip": LARGE}) as serving:
        serving.cut_bytes, serving.release = 1_000_000, threading.Event()
        first = setup("--browser-mirror", serving.url)
        part_bytes = await_part(kept)
        first.send_signal(how)
        assert ended(first)[0] == (130 if how is signal.SIGINT else -how)
        assert own_browser() is None
        serving.cut_bytes = None
        serving.release.set()
        code, out, err = ended(setup("--json", MIXEDSCHED_BROWSER_MIRROR=serving.url))
        assert code == 0, err
        assert parts(out)["browser"]["brought"]
        assert serving.downloads == [None, f"bytes={part_bytes}-"]
        asked = len(serving.requests)
        code, out, _ = ended(setup("--json", "--browser-mirror", serving.url))
        assert (code, parts(out)["ok"], parts(out)["browser"]["brought"]) == (0, True, False)
        assert Path(parts(out)["browser"]["path"]) == find_chromium()
        assert len(serving.requests) == asked


def await_part(kept: Path) -> int:
    """Wait until all that the mirror sends at first has come; its size."""
    for _ in range(600):
        found = next(iter(kept.glob("browser/chrome/*.part")), None)
        if found is not None and found.stat().st_size >= 1_000_000 - (1 << 18):
            return found.stat().st_size
        time.sleep(0.05)
    raise AssertionError("nothing came")


def test_where_the_only_chromium_is_a_snap_another_browser_is_brought(kept: Path, tmp_path: Path) -> None:
    snap = program(tmp_path / "usr" / "bin", "snap", "true")
    (tmp_path / "bin" / "chromium").symlink_to(snap)
    program(tmp_path / "bin", "chromium-browser", 'exec /snap/bin/chromium "$@"')
    with pytest.raises(MissingPartError, match="snap") as caught:
        find_chromium()
    assert "mixedsched setup" in caught.value.fix
    with mirror() as serving:
        code, out, err = ended(setup("--json", "--browser-mirror", serving.url))
    assert code == 0, err
    assert find_chromium() == Path(parts(out)["browser"]["path"])
    assert find_chromium().is_relative_to(kept)


def test_without_node_set_up_says_how_to_get_it_and_what_else_hangs_on_it(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "node").unlink()
    code, out, _ = ended(setup("--json"))
    assert code == 4
    told = parts(out)
    assert "Node.js 20 or later" in told["Node"]["fix"]
    assert not told["browser"]["ok"]
    assert "fix what is said above" in told["browser"]["fix"]


def test_without_a_network_set_up_says_what_is_missing_and_where_it_belongs(kept: Path) -> None:
    code, out, _ = ended(setup("--browser-mirror", "http://127.0.0.1:9/cft"))
    assert code == 4
    assert "Chrome for Testing could not be downloaded" in out
    assert str(kept / "browser" / "chrome") in out
    assert "by hand" in out
