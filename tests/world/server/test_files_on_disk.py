"""Files that change, vanish or turn into something else while they are served; links, FIFOs, devices; bounds."""

from __future__ import annotations

import errno
import os
import socket
import threading
from pathlib import Path

import pytest

from mixedsched.core.h3.response import BodyLostError, RequestHead
from mixedsched.model.codings import decode
from mixedsched.world.server import _contents as contents
from mixedsched.world.server._contents import ContentCache
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server._openfile import CHUNK_BYTES, FileBody, open_regular
from mixedsched.world.server.site import SiteEntry
from tests.world.server.asking import ask, body_of, site_files, written, zipped

LARGE = bytes(range(256)) * 4000
SECRET = b"secret" * 100_000  # as large as what a page may send in its place


def one_file(file: Path, encoding: str | None = None) -> SiteFiles:
    return site_files({"/a": SiteEntry(file, "text/plain", encoding)})


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return written(tmp_path, "outside/a", SECRET)


class TestLinks:
    """A site's files were free of links when it was loaded; none that comes later is followed."""

    @pytest.mark.parametrize("size_bytes", [10, 1_000_000])
    @pytest.mark.parametrize("asked_before", [False, True])
    def test_a_file_that_becomes_a_link(
        self, tmp_path: Path, secret: Path, size_bytes: int, asked_before: bool
    ) -> None:
        files = one_file(file := written(tmp_path, "site/a", bytes(size_bytes)))
        if asked_before:
            assert ask(files, "/a").status == 200
        file.unlink()
        file.symlink_to(secret)
        assert ask(files, "/a").status == 404

    @pytest.mark.parametrize("asked_before", [False, True])
    @pytest.mark.parametrize("relative", ["site/deep/er/a", "site/deep/a"])
    def test_a_folder_that_becomes_a_link(
        self, tmp_path: Path, secret: Path, asked_before: bool, relative: str
    ) -> None:
        files = one_file(written(tmp_path, relative, b"inside"))
        written(tmp_path, "outside/er/a", SECRET)
        if asked_before:
            assert ask(files, "/a").status == 200
        (tmp_path / "site/deep").rename(tmp_path / "away")
        (tmp_path / "site/deep").symlink_to(secret.parent)
        assert ask(files, "/a").status == 404

    def test_a_link_to_a_twin_within_the_site_is_not_followed_either(self, tmp_path: Path) -> None:
        files = one_file(file := written(tmp_path, "site/a", b"x"))
        file.rename(tmp_path / "site/b")
        file.symlink_to("b")
        assert ask(files, "/a").status == 404

    def test_a_file_that_becomes_one_again_is_served_again(self, tmp_path: Path, secret: Path) -> None:
        files = one_file(file := written(tmp_path, "site/a", b"x"))
        file.unlink()
        file.symlink_to(secret)
        assert ask(files, "/a").status == 404
        file.unlink()
        written(tmp_path, "site/a", b"back")
        assert ask(files, "/a").body == b"back"

    def test_relative_paths_are_refused(self) -> None:
        with pytest.raises(OSError, match="not absolute"):
            open_regular(Path("setup.cfg"))


class TestOtherThanFiles:
    """None of them is opened, so nothing hangs."""

    def test_a_fifo_without_a_writer(self, tmp_path: Path) -> None:
        files = one_file(file := written(tmp_path, "a", b"x"))
        file.unlink()
        os.mkfifo(file)
        answers: list[int] = []
        asking = threading.Thread(target=lambda: answers.append(ask(files, "/a").status), daemon=True)
        asking.start()
        asking.join(10)
        assert answers == [404]

    @pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/tty", "/proc", "/"])
    def test_devices_and_folders(self, path: str) -> None:
        assert ask(one_file(Path(path)), "/a").status == 404

    def test_sockets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # the names of sockets must be short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("a")
            assert ask(one_file(tmp_path / "a"), "/a").status == 404

    def test_a_file_as_folder(self, tmp_path: Path) -> None:
        assert ask(one_file(written(tmp_path, "a", b"x") / "b"), "/a").status == 404

    def test_a_name_too_long_for_a_file(self, tmp_path: Path) -> None:
        assert ask(one_file(tmp_path / ("a" * 300)), "/a").status == 404

    def test_refusals_leave_nothing_open(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        (tmp_path / "link").symlink_to("fifo")
        before = open_descriptors()
        for name in ("fifo", "link", "gone", "gone/a", "link/a"):
            assert ask(one_file(tmp_path / name), "/a").status == 404
        assert open_descriptors() == before


class TestChanges:
    @pytest.mark.parametrize("size_bytes", [10, 1_000_000])
    def test_a_changed_file_is_sent_as_it_is_now_with_another_tag(self, tmp_path: Path, size_bytes: int) -> None:
        files = one_file(written(tmp_path, "a", b"a" * size_bytes))
        before = ask(files, "/a")
        written(tmp_path, "a", b"b" * (size_bytes + 1))
        after = ask(files, "/a")
        assert (before.body, after.body) == (b"a" * size_bytes, b"b" * (size_bytes + 1))
        assert before.headers["etag"] != after.headers["etag"]

    def test_a_changed_file_is_decoded_anew(self, tmp_path: Path) -> None:
        files = one_file(written(tmp_path, "a", zipped(b"old")), "gzip")
        assert ask(files, "/a").body == b"old"
        written(tmp_path, "a", zipped(b"newer"))
        assert ask(files, "/a").body == b"newer"

    def test_a_file_that_vanishes_and_returns(self, tmp_path: Path) -> None:
        files = one_file(file := written(tmp_path, "a", b"x"))
        assert ask(files, "/a").status == 200
        file.unlink()
        assert ask(files, "/a").status == 404
        written(tmp_path, "a", b"y")
        assert ask(files, "/a").body == b"y"

    @pytest.mark.parametrize("way", ["shrinks", "empties", "grows", "is rewritten"])
    def test_a_response_whose_file_changes_under_it_is_broken_off(self, tmp_path: Path, way: str) -> None:
        body = one_file(file := written(tmp_path, "a", LARGE)).respond(RequestHead("GET", "x.test", "/a", [])).body
        assert body is not None
        assert body.read(100) == LARGE[:100]
        match way:
            case "shrinks":
                os.truncate(file, 50_000)
            case "empties":
                os.truncate(file, 0)
            case "grows":
                with file.open("ab") as appended:
                    appended.write(b"more")
            case _:
                file.write_bytes(LARGE[::-1])
        body.read(CHUNK_BYTES - 100)  # was read ahead before
        with pytest.raises(BodyLostError):
            body.read(1)

    @pytest.mark.parametrize("way", ["unlinked", "replaced", "moved"])
    def test_a_response_whose_file_is_gone_is_finished(self, tmp_path: Path, way: str) -> None:
        response = one_file(file := written(tmp_path, "a", LARGE)).respond(RequestHead("GET", "x.test", "/a", []))
        if way == "replaced":
            written(tmp_path, "b", b"other").replace(file)
        elif way == "moved":
            file.rename(tmp_path / "b")
        else:
            file.unlink()
        assert body_of(response) == LARGE

    def test_a_small_file_is_sent_as_it_was_when_asked_for(self, tmp_path: Path) -> None:
        response = one_file(file := written(tmp_path, "a", b"whole")).respond(RequestHead("GET", "x.test", "/a", []))
        os.truncate(file, 0)
        assert body_of(response) == b"whole"


class TestBounds:
    def test_large_files_are_open_once_while_a_response_needs_them(self, tmp_path: Path) -> None:
        files = one_file(written(tmp_path, "a", LARGE))
        before = open_descriptors()
        responses = [files.respond(RequestHead("GET", "x.test", "/a", [])) for _ in range(5)]
        assert open_descriptors() == before + 1
        bodies = [response.body for response in responses]
        assert all(isinstance(body, FileBody) for body in bodies)
        for response in responses[1:]:
            assert body_of(response) == LARGE
        assert open_descriptors() == before + 1
        assert body_of(responses[0]) == LARGE
        assert open_descriptors() == before

    @pytest.mark.parametrize(
        ("method", "fields"),
        [
            ("HEAD", {}),
            ("GET", {"if_none_match": "*"}),
            ("GET", {"if_match": '"x"'}),
            ("GET", {"range": "bytes=9999999-"}),
            ("GET", {"range": "bytes=0-1,5-6"}),
        ],
    )
    def test_answers_without_the_whole_leave_nothing_open(
        self, tmp_path: Path, method: str, fields: dict[str, str]
    ) -> None:
        files = one_file(written(tmp_path, "a", LARGE))
        before = open_descriptors()
        ask(files, "/a", method, **fields)
        assert open_descriptors() == before

    def test_a_body_that_is_dropped_without_a_word_closes_its_file(self, tmp_path: Path) -> None:
        before = open_descriptors()
        response = one_file(written(tmp_path, "a", LARGE)).respond(RequestHead("GET", "x.test", "/a", []))
        assert open_descriptors() == before + 1
        del response
        assert open_descriptors() == before

    def test_a_closed_body_gives_nothing_more_and_may_be_closed_again(self, tmp_path: Path) -> None:
        body = one_file(written(tmp_path, "a", LARGE)).respond(RequestHead("GET", "x.test", "/a", [])).body
        assert isinstance(body, FileBody)
        body.read(10)
        body.close()
        body.close()
        with pytest.raises(BodyLostError):
            body.read(10)

    def test_a_response_holds_no_more_than_a_chunk(self, tmp_path: Path) -> None:
        body = one_file(written(tmp_path, "a", LARGE)).respond(RequestHead("GET", "x.test", "/a", [])).body
        assert isinstance(body, FileBody)
        body.read(1)
        assert len(body._chunk) == CHUNK_BYTES

    def test_too_many_large_files_under_way_are_put_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(contents, "MAX_OPEN_FILES", 2)
        names = [f"/{number}" for number in range(3)]
        files = site_files({name: SiteEntry(written(tmp_path, name[1:], LARGE), "text/plain") for name in names})
        held = [files.respond(RequestHead("GET", "x.test", name, [])) for name in names[:2]]
        before = open_descriptors()
        busy = ask(files, names[2])
        assert (busy.status, busy.headers["retry-after"]) == (503, "1")
        assert open_descriptors() == before
        assert ask(files, names[0]).status == 200, "this one is open already"
        body_of(held[0])
        assert ask(files, names[2]).body == LARGE

    def test_a_process_without_descriptors_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_file: Path) -> int:
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(contents, "open_regular", refuse)
        assert ask(one_file(written(tmp_path, "a", b"x")), "/a").status == 503

    def test_small_files_are_cached_within_a_bound_and_the_oldest_leave(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[str] = []

        def noting(file: Path) -> int:
            opened.append(file.name)
            return open_regular(file)

        monkeypatch.setattr(contents, "open_regular", noting)
        monkeypatch.setattr(contents, "CACHE_TOTAL_BYTES", 2500)
        store = ContentCache()
        for name in ("a", "b", "a", "c", "a", "b"):
            content = store.of(written(tmp_path, name, name.encode() * 1000) if name not in opened else tmp_path / name)
            assert content.body(0, 1000).read(1000) == name.encode() * 1000
        assert opened == ["a", "b", "c", "b"]

    def test_decoded_files_count_and_one_that_is_too_large_stays_encoded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(contents, "DECODED_BYTES", 1000)
        for size_bytes, encoding in ((1000, None), (1001, "gzip")):
            answer = ask(one_file(written(tmp_path, f"{size_bytes}", zipped(bytes(size_bytes))), "gzip"), "/a")
            assert answer.headers.get("content-encoding") == encoding

    def test_decoding_in_vain_is_tried_once_per_state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tries: list[bytes] = []

        def noting(data: bytes, coding: str, limit_bytes: int) -> bytes:
            tries.append(data)
            return decode(data, coding, limit_bytes)

        monkeypatch.setattr(contents, "decode", noting)
        files = one_file(written(tmp_path, "a", b"no gzip"), "gzip")
        assert [ask(files, "/a").headers.get("content-encoding") for _ in range(3)] == ["gzip"] * 3
        assert len(tries) == 1
        written(tmp_path, "a", zipped(b"mended"))
        assert ask(files, "/a").body == b"mended"

    def test_a_large_gzip_file_can_be_decoded(self, tmp_path: Path) -> None:
        noise = os.urandom(contents.CACHE_FILE_BYTES + 1)
        before = open_descriptors()
        assert ask(one_file(written(tmp_path, "a", zipped(noise)), "gzip"), "/a").body == noise
        assert open_descriptors() == before
