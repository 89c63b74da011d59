"""What may be served, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import ExitCode, SiteError
from mixedsched.sites.opening import folder_of, load_site, open_site
from mixedsched.sites.site.folders import make_folder
from tests.sites.folders import built, manifest, resource, write_files


def refusal(folder: Path) -> SiteError:
    with pytest.raises(SiteError) as caught:
        load_site(folder)
    return caught.value


def test_a_built_site_gives_its_files_types_and_encodings(tmp_path: Path) -> None:
    image = resource("/img/a%20b.png?v=1", 3, mime="image/png")
    style = resource("/a.css", 4, kind="stylesheet", file="a.css.gz", encoding="gzip")
    site = load_site(built(tmp_path, manifest(image, style), {"img/a b.png": "png", "a.css.gz": "gzip"}))
    assert site.url == "https://shop.test/"
    assert site.files[0, "/img/a%20b.png?v=1"] == site.root / "img/a b.png"
    assert site.files[0, "/"] == site.root / "index.html"
    assert dict(site.encodings) == {(0, "/a.css"): "gzip"}


@pytest.mark.parametrize("problem", [OSError("disk"), KeyboardInterrupt()])
def test_a_folder_that_cannot_take_its_place_leaves_the_one_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    write_files(tmp_path / "site", {"old": "x"})
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise problem
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises((SiteError, KeyboardInterrupt)):
        make_folder(tmp_path / "site", lambda _folder: None, lambda: False)
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["site", "site/old"]


def left_behind(aside: Path, *, hours: float) -> None:
    """What a process that was killed so long ago has written."""
    write_files(aside, {"new/index.html": "half"})
    long_ago_s = time.time() - hours * 3600
    os.utime(aside, (long_ago_s, long_ago_s))


def test_what_a_killed_process_left_is_removed_a_day_later_and_nothing_else(tmp_path: Path) -> None:
    left_behind(tmp_path / ".site-k1ll3d_1.unfinished", hours=25)
    left_behind(tmp_path / ".site-w0rk1ng_.unfinished", hours=23)
    left_behind(tmp_path / ".site-settings", hours=99)
    left_behind(tmp_path / ".site-two-k1ll3d_1.unfinished", hours=99)
    make_folder(tmp_path / "site", lambda folder: write_files(folder, {"index.html": "x"}), lambda: False)
    assert {path.name for path in tmp_path.iterdir()} == {
        "site",
        ".site-w0rk1ng_.unfinished",
        ".site-settings",
        ".site-two-k1ll3d_1.unfinished",
    }


def test_a_folder_that_a_killed_process_had_moved_away_comes_back(tmp_path: Path) -> None:
    aside = tmp_path / ".site-k1ll3d_1.unfinished"
    write_files(aside, {"old/index.html": "the only copy"})
    left_behind(aside, hours=25)

    def fill(_: Path) -> None:
        raise SiteError("there is nothing new")

    with pytest.raises(SiteError):
        make_folder(tmp_path / "site", fill, lambda: False)
    assert (tmp_path / "site" / "index.html").read_text() == "the only copy"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_bundled_site_comes_before_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"agency/index.html": "x", "other/index.html": "x"})
    assert (folder_of("agency"), folder_of("./agency"), folder_of("other")) == (None, Path("agency"), Path("other"))


def test_one_file_may_answer_many_queries(tmp_path: Path) -> None:
    twins = [resource(f"/a.jpg?{number}", 1) for number in (1, 2)]
    site = load_site(built(tmp_path, manifest(*twins), {"a.jpg": "x"}))
    assert site.files[0, "/a.jpg?1"] == site.files[0, "/a.jpg?2"]


def test_resources_of_other_hosts_are_kept_apart(tmp_path: Path) -> None:
    other = resource("/a.jpg", 1, host=1, file="cdn/a.jpg")
    site = load_site(built(tmp_path, manifest(other, hosts=["shop.test", "cdn.test"]), {"cdn/a.jpg": "x"}))
    assert (1, "/a.jpg") in site.files
    assert (0, "/a.jpg") not in site.files


def test_one_path_on_two_hosts_is_two_files(tmp_path: Path) -> None:
    twins = [
        resource("/a.jpg", 1, id="own", mime="image/jpeg"),
        resource("/a.jpg", 2, id="cdn", host=1, file="cdn/a.png"),
    ]
    files = {"a.jpg": "x", "cdn/a.png": "xx"}
    site = load_site(built(tmp_path, manifest(*twins, hosts=["shop.test", "cdn.test"]), files))
    assert [site.files[host, "/a.jpg"].read_text() for host in (0, 1)] == ["x", "xx"]
    assert [site.mimes[host, "/a.jpg"] for host in (0, 1)] == ["image/jpeg", "image/png"]


@pytest.mark.parametrize("file", ["../secret", "/etc/passwd", "a/../../secret", "..\\secret", "", ".", "a\0b"])
def test_files_outside_the_root_are_refused(tmp_path: Path, file: str) -> None:
    write_files(tmp_path, {"secret": "x"})
    error = refusal(built(tmp_path, manifest(resource("/a", 1, file=file)), {"a/b": "x"}))
    assert "resource '/a'" in str(error)
    assert error.exit_code == ExitCode.BAD_INPUT
    assert error.fix


def test_a_path_with_encoded_dots_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret": "x"})
    assert "inside the served folder" in str(refusal(built(tmp_path, manifest(resource("/%2e%2e/secret", 1)), {})))


def test_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret/key": "x"})
    folder = built(tmp_path, manifest(resource("/out/key", 1)), {})
    (folder / "www/out").symlink_to(tmp_path / "secret")
    assert "leads out of" in str(refusal(folder))


def test_a_link_within_the_root_is_fine(tmp_path: Path) -> None:
    folder = built(tmp_path, manifest(resource("/b", 1)), {"a": "x"})
    (folder / "www/b").symlink_to(folder / "www/a")
    assert load_site(folder).files[0, "/b"] == (folder / "www/a").resolve(), "the server opens no link"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (resource("/gone.png", 1), "does not exist"),
        (resource(f"/{'a' * 300}", 1), "File name too long"),
        (resource("/circle", 1), "a link that leads nowhere"),
        (resource("/%FF.png", 1), "does not exist"),
        (resource("/b", 1, file="\ud800"), "file"),
        (resource("/a.png", 7), "should have 7 bytes: its file 'a.png' has 1"),
        (resource("/", 2, id="again"), "the path '/' is listed twice"),
        (resource("/folder", 1), "not a regular file"),
        (resource("/a.png", 1, host=1), "is on host 1"),
        (resource("/a.png", 1, kind="picture"), "kind"),
        (resource("/a.png", 1, found_by="nobody"), "its parent 'nobody' is not listed"),
        (resource("a.png", 1), "path"),
        (resource("/a.png", 1, encoding="lzma"), "encoding"),
    ],
)
def test_a_resource_that_breaks_a_rule_is_named_with_the_reason(
    tmp_path: Path, entry: dict[str, Any], words: str
) -> None:
    folder = built(tmp_path, manifest(entry), {"a.png": "x", "folder/x": "x"})
    (folder / "www/circle").symlink_to("circle")
    assert words in str(refusal(folder))


@pytest.mark.parametrize("hosts", [[], ["Shop.test"], ["shop.test", "shop.test"], ["a b"], ["a..b"], ["-a.test"]])
def test_host_names_must_be_usable(tmp_path: Path, hosts: list[str]) -> None:
    assert "host" in str(refusal(built(tmp_path, manifest(hosts=hosts), {})))


def test_the_entry_must_be_served(tmp_path: Path) -> None:
    assert "entry '/start'" in str(refusal(built(tmp_path, manifest(entry="/start"), {})))


def test_a_manifest_that_is_no_json_is_refused(tmp_path: Path) -> None:
    for text in ("{", "[" * 100_000, b"\xff\xfe\xff"):
        write_files(tmp_path, {"page.json": text})
        assert "is not JSON" in str(refusal(tmp_path))


def test_a_folder_without_page_is_no_site(tmp_path: Path) -> None:
    assert "neither page.json nor index.html" in str(refusal(tmp_path))
    assert "no such folder" in str(refusal(tmp_path / "gone"))
    assert "name too long" in str(refusal(tmp_path / ("a" * 300)))
    (tmp_path / "circle").symlink_to("circle")
    assert "no such folder" in str(refusal(tmp_path / "circle"))


@given(file=st.text(alphabet="./\\ab", max_size=12))
def test_no_file_name_leads_out_of_the_root(file: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "names"
    built(folder, manifest(resource("/a", 1, file=file)), {"a/b": "x", "b": "x"})
    write_files(folder, {"a": "x"})
    try:
        site = load_site(folder)
    except SiteError:
        return
    assert site.files[0, "/a"].resolve().is_relative_to((folder / "www").resolve())


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running some code."""
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    return set(subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout.split())


def test_a_site_as_a_value_brings_nothing_that_reads_documents_or_draws() -> None:
    loaded = modules_after("from mixedsched.sites.site import Connections, Site")
    rooms = {name.split(".")[2] for name in loaded if name.startswith("mixedsched.sites.")}
    assert rooms == {"site"}
    assert not loaded & {"numpy", "PIL", "fontTools", "scipy", "selectolax", "tinycss2"}


def test_opening_a_built_site_for_a_server_brings_nothing_that_draws() -> None:
    open_site("three-hosts")  # builds it, if it is not there
    loaded = modules_after(
        "from mixedsched.sites.opening import open_site; from mixedsched.sites.serving import served_site\n"
        "served_site(open_site('three-hosts'))"
    )
    assert not loaded & {"numpy", "PIL", "fontTools", "scipy"}
