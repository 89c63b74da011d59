"""Any folder with an index.html is a site: what is served, how it travels, and what is refused."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, SiteError
from mixedsched.model.request import Flag
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site
from tests.sites.folders import write_files

TEXT = "hello " * 200
FILES = {
    "index.html": f'<img src="a.png"><script src="js/a.js"></script>{TEXT}',
    "a.png": b"\x89PNG" + bytes(500),
    "js/a.js": f"/* {TEXT} */",
    "late.json": "{}",
    "late.txt": TEXT,
}


def refusal(folder: Path, build_dir: Path | None = None) -> SiteError:
    with pytest.raises(SiteError) as caught:
        load_site(folder, build_dir)
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    assert caught.value.fix
    return caught.value


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and modification time of every file."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def paths(site: Site) -> set[str]:
    return {path for _host, path in site.files}


def test_a_plain_folder_is_a_site_named_after_it(tmp_path: Path) -> None:
    site = load_site(write_files(tmp_path / "My Shop", {**FILES, ".git/config": "x", ".env": "x"}))
    assert (site.name, site.hosts) == ("my-shop", ("my-shop.test",))
    assert [item.path for item in site.page.resources] == ["/", "/a.png", "/js/a.js"]
    assert paths(site) == {"/", "/index.html", "/a.png", "/js/a.js", "/late.json", "/late.txt"}
    assert site.page.main.flags == {Flag.MAIN, Flag.CRITICAL}


def test_an_image_of_the_document_is_not_critical_because_a_style_shows_it_too(tmp_path: Path) -> None:
    html = "<link rel=stylesheet href=a.css><img src=a.png>"
    folder = write_files(tmp_path / "shop", {"index.html": html, "a.css": "p { background: url(a.png) }", "a.png": "x"})
    assert load_site(folder).page.by_path()[0, "/a.png"].flags == frozenset()


def test_a_file_that_is_referred_to_with_a_query_is_served_without_and_with_any_other_too(tmp_path: Path) -> None:
    """As by any server of files: scripts may ask so."""
    site = load_site(write_files(tmp_path / "shop", {"index.html": "<img src=a.png?v=1>", "a.png": "x"}))
    assert paths(site) == {"/", "/index.html", "/a.png?v=1", "/a.png"}
    assert [item.path for item in site.page.resources] == ["/", "/a.png?v=1"]


class TestCompression:
    """With a build folder, text travels as real servers send it."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return write_files(tmp_path / "shop", FILES)

    @pytest.fixture
    def build_dir(self, tmp_path: Path) -> Path:
        return tmp_path / "build"

    def test_text_is_sent_as_gzip_and_counts_with_its_compressed_size(self, folder: Path, build_dir: Path) -> None:
        site = load_site(folder, build_dir)
        encoded = {(0, path) for path in ("/", "/index.html", "/js/a.js", "/late.txt")}
        assert dict(site.encodings) == dict.fromkeys(encoded, "gzip")
        for host, path in encoded:
            original = (folder / (path.lstrip("/") or "index.html")).read_bytes()
            assert gzip.decompress(site.files[host, path].read_bytes()) == original
        for item in site.page.resources:
            assert item.body_bytes == site.files[0, item.path].stat().st_size
        assert site.page.main.body_bytes < len(FILES["index.html"])
        assert site.mimes[0, "/js/a.js"] == "text/javascript; charset=utf-8"

    def test_all_else_is_sent_from_the_folder_itself(self, folder: Path, build_dir: Path) -> None:
        site = load_site(folder, build_dir)
        assert site.root == folder
        assert site.files[0, "/a.png"] == folder / "a.png"
        assert site.files[0, "/late.json"] == folder / "late.json", "gzip would make two bytes longer"

    def test_without_a_build_folder_text_is_sent_as_it_is(self, folder: Path) -> None:
        site = load_site(folder)
        assert not site.encodings
        assert site.page.main.body_bytes == len(FILES["index.html"])

    def test_references_are_found_in_proportion_to_the_compressed_text(self, folder: Path, build_dir: Path) -> None:
        write_files(folder, {"index.html": f'{TEXT}<img src="a.png">'})
        page = load_site(folder, build_dir).page
        assert 0.95 * page.main.body_bytes < page.by_path()[0, "/a.png"].found_at_bytes <= page.main.body_bytes

    def test_the_folder_is_not_changed(self, folder: Path, build_dir: Path) -> None:
        before = contents(folder)
        load_site(folder, build_dir)
        assert contents(folder) == before

    def test_unchanged_copies_are_reused(self, folder: Path, build_dir: Path) -> None:
        first = load_site(folder, build_dir)
        before = contents(build_dir)
        assert load_site(folder, build_dir).files == first.files
        assert contents(build_dir) == before

    def test_changed_texts_get_a_folder_of_their_own_so_that_a_running_server_keeps_its_files(
        self, folder: Path, build_dir: Path
    ) -> None:
        before = load_site(folder, build_dir).files[0, "/late.txt"]
        write_files(folder, {"late.txt": TEXT + "more"})
        after = load_site(folder, build_dir).files[0, "/late.txt"]
        assert gzip.decompress(before.read_bytes()).decode() == TEXT
        assert gzip.decompress(after.read_bytes()).decode() == TEXT + "more"
        assert sorted(path.name[:6] for path in build_dir.iterdir()) == ["plain-"] * 2, "nothing half-done stays"

    @pytest.mark.parametrize("damaged", [b"", b"\x1f\x8b nonsense", None])
    def test_damaged_copies_are_made_again(self, folder: Path, build_dir: Path, damaged: bytes | None) -> None:
        copy = load_site(folder, build_dir).files[0, "/js/a.js"]
        copy.unlink() if damaged is None else copy.write_bytes(damaged)
        again = load_site(folder, build_dir).files[0, "/js/a.js"]
        assert again == copy
        assert gzip.decompress(again.read_bytes()).decode() == FILES["js/a.js"]

    def test_a_build_folder_inside_the_site_is_no_part_of_it(self, folder: Path) -> None:
        first = load_site(folder, folder / "build")
        second = load_site(folder, folder / "build")
        assert first.files == second.files
        assert not any(path.startswith("/build/") for path in paths(second))

    def test_a_site_inside_the_build_folder_is_served_whole(self, folder: Path) -> None:
        assert "/late.txt" in paths(load_site(folder, folder.parent))

    def test_text_behind_a_query_or_in_a_hidden_folder_is_compressed_too(self, folder: Path, build_dir: Path) -> None:
        write_files(folder, {"index.html": '<link rel=stylesheet href=".x/a.css?v=2">x', ".x/a.css": f"/*{TEXT}*/"})
        assert load_site(folder, build_dir).encodings[0, "/.x/a.css?v=2"] == "gzip"

    def test_a_build_folder_that_cannot_be_written_is_told(self, folder: Path) -> None:
        assert "cannot be written" in str(refusal(folder, folder / "a.png"))


class TestOtherHosts:
    """A lab site is complete."""

    def test_what_must_come_from_other_hosts_is_refused_by_name_all_at_once(self, tmp_path: Path) -> None:
        html = '<script src="//cdn.example/x.js"></script><link rel=stylesheet href=a.css>'
        write_files(tmp_path, {"index.html": html, "a.css": "p{background:url(https://x.example/b.png)}"})
        error = refusal(tmp_path)
        assert "//cdn.example/x.js in index.html; https://x.example/b.png in a.css" in error.what
        assert "copy each file into the folder" in error.fix
        assert "recipe" not in str(error)

    @pytest.mark.parametrize(
        "html",
        [
            '<link rel=preconnect href="https://cdn.example">',
            '<link rel=dns-prefetch href="//cdn.example">',
            '<link rel=preconnect href="http://[x">',
            '<link rel=apple-touch-icon href="//cdn.example/i.png">',
            "<style>@font-face{src:url(a.woff2),url(//cdn.example/a.eot)}</style>",
        ],
    )
    def test_hints_that_load_nothing_may_point_anywhere(self, tmp_path: Path, html: str) -> None:
        site = load_site(write_files(tmp_path, {"index.html": html, "a.woff2": "font"}))
        assert site.page.main.path == "/"

    def test_what_is_no_url_is_refused_by_name(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"index.html": '<img src="http://[x/a.png">'})
        assert "http://[x/a.png in index.html" in refusal(tmp_path).what


class TestStrangeInput:
    """Nothing in a folder ends in a traceback."""

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("a" * 300 + ".png", "name too long"),
            ("a/" * 3000, "name too long"),
            ("gone.png", "does not exist"),
            ("%00.png", "not a path inside"),
            ("%2e%2e/x.png", "not a path inside"),
            ("%FF.png", "does not exist"),
            ("circle/a.png", "does not exist"),
            ("circle", "leads nowhere"),
            ("folder", "not a regular file"),
            ("pipe", "not a regular file"),
            ("out", "leads out of"),
        ],
    )
    @pytest.mark.parametrize("compressed", [False, True])
    def test_a_reference_without_servable_file_is_named_with_the_reason(
        self, tmp_path: Path, url: str, words: str, compressed: bool
    ) -> None:
        folder = write_files(tmp_path / "shop", {"index.html": f'<img src="{url}">', "folder/x": "x"})
        (folder / "circle").symlink_to("circle")
        (folder / "out").symlink_to("/etc/passwd")
        os.mkfifo(folder / "pipe")
        assert words in refusal(folder, tmp_path / "build" if compressed else None).why

    @pytest.mark.parametrize(
        ("file", "url"),
        [
            ("a b.txt", "/a%20b.txt"),
            ("100%.txt", "/100%25.txt"),
            ("a%20b.txt", "/a%2520b.txt"),
            ("what?.txt", "/what%3F.txt"),
            ("a#b.txt", "/a%23b.txt"),
            ("two\nlines.txt", "/two%0Alines.txt"),
            ("ü.txt", "/%C3%BC.txt"),
            ("a" * 251 + ".txt", f"/{'a' * 251}.txt"),
        ],
    )
    def test_any_file_name_in_utf_8_can_be_asked_for_and_compressed(self, tmp_path: Path, file: str, url: str) -> None:
        write_files(tmp_path / "shop", {"index.html": f'<iframe src="{url}"></iframe>', file: TEXT})
        for html in (f'<iframe src="{url}"></iframe>', "not named"):
            write_files(tmp_path / "shop", {"index.html": html})
            site = load_site(tmp_path / "shop", tmp_path / "build")
            assert gzip.decompress(site.files[0, url].read_bytes()).decode() == TEXT

    def test_files_without_a_url_are_left_out(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"index.html": "hi", "back\\slash.txt": "x"})
        (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("x")
        assert paths(load_site(tmp_path)) == {"/", "/index.html"}

    def test_a_folder_whose_name_is_not_utf_8_is_a_site(self, tmp_path: Path) -> None:
        site = load_site(write_files(tmp_path / os.fsdecode(b"caf\xe9"), FILES), tmp_path / "build")
        assert site.name == "caf"
        assert site.source.isprintable()

    def test_links_out_of_the_folder_and_circles_are_not_served(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"secret": "x", "shop/index.html": "hi"})
        (tmp_path / "shop/key").symlink_to(tmp_path / "secret")
        (tmp_path / "shop/circle").symlink_to("circle")
        (tmp_path / "shop/again").symlink_to(".")
        assert paths(load_site(tmp_path / "shop")) == {"/", "/index.html"}

    @pytest.mark.parametrize("text", ["", " \n"])
    def test_an_empty_page_is_refused(self, tmp_path: Path, text: str) -> None:
        write_files(tmp_path, {"index.html": text})
        assert "index.html is empty" in refusal(tmp_path).what

    def test_an_index_that_is_a_folder_is_told(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"index.html/x": "x"})
        assert "index.html is not a file" in refusal(tmp_path).why

    def test_an_index_that_is_a_link_out_is_refused(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"secret": "x", "shop/y": "x"})
        (tmp_path / "shop/index.html").symlink_to(tmp_path / "secret")
        assert "leads out of" in refusal(tmp_path / "shop").why

    @pytest.mark.parametrize("body", [b"\xff<img src=a.png>", b"\x81\x8d\0<img src=a.png>", b"\x00" * 10])
    def test_bytes_that_are_no_text_in_any_encoding_do_no_harm(self, tmp_path: Path, body: bytes) -> None:
        site = load_site(write_files(tmp_path / "shop", {"index.html": body, "a.png": "x"}), tmp_path / "build")
        assert ((0, "/a.png") in site.page.by_path()) == (b"a.png" in body)

    @pytest.fixture
    def ordinary_user(self) -> Iterator[Path]:
        """A folder of the test's own, and a user whom permissions bind, which they do not for root."""
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)
            before = os.geteuid()
            if before == 0:
                os.chown(name, 65534, -1)
                os.seteuid(65534)
            try:
                yield Path(name)
            finally:
                os.seteuid(before)

    def test_an_unreadable_file_is_refused_if_the_page_needs_it_and_left_out_otherwise(
        self, ordinary_user: Path
    ) -> None:
        folder = write_files(ordinary_user / "shop", {"index.html": "<img src=a.png>", "a.png": "x"})
        (folder / "a.png").chmod(0)
        error = refusal(folder)
        assert "a.png" in error.what
        assert "Permission denied" in error.why
        write_files(folder, {"index.html": "no image"})
        assert paths(load_site(folder, ordinary_user / "build")) == {"/", "/index.html"}
        (folder / "index.html").chmod(0)
        assert "Permission denied" in refusal(folder).why

    def test_an_unreadable_folder_is_refused(self, ordinary_user: Path) -> None:
        folder = write_files(ordinary_user / "shop", FILES)
        folder.chmod(0)
        assert "Permission denied" in refusal(folder).why
        folder.chmod(0o755)
