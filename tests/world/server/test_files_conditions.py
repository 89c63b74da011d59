"""Conditional requests, content coding, and HTTP dates (RFC 9110 sections 13, 12.5.3 and 5.6.7)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.codings import UndecodableError, decode
from mixedsched.world.server import _contents as contents
from mixedsched.world.server._conditions import format_http_date, parse_http_date
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server.site import SiteEntry
from tests.world.server.asking import NOW_S, TEXT, ask, site_files, written, zipped

MODIFIED_S = 784_111_777  # Sun, 06 Nov 1994 08:49:37 GMT
MODIFIED = "Sun, 06 Nov 1994 08:49:37 GMT"
EARLIER = "Sun, 06 Nov 1994 08:49:36 GMT"
LATER = "Mon, 07 Nov 1994 08:49:37 GMT"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SiteFiles:
    folder = tmp_path_factory.mktemp("site")
    plain = written(folder, "a.txt", TEXT)
    entries = {
        "/a.txt": SiteEntry(plain, "text/plain"),
        "/a.html": SiteEntry(written(folder, "a.html.gz", zipped()), "text/html", "gzip"),
        "/broken": SiteEntry(written(folder, "broken.gz", zipped()[:-9]), "text/html", "gzip"),
        "/brotli": SiteEntry(written(folder, "x.br", b"brotli"), "text/html", "br"),
        "/large": SiteEntry(written(folder, "large", bytes(300_000)), "text/plain"),
        "/huge": SiteEntry(written(folder, "huge", bytes(contents.HASHED_BYTES + 1)), "text/plain"),
        "/moved": SiteEntry(plain, "text/plain", status=301, headers=((b"location", (b"/a.txt",)),)),
        "/mine": SiteEntry(plain, "text/plain", headers=((b"cache-control", (b"no-store",)), (b"x-a", (b"1",)))),
    }
    for entry in entries.values():
        os.utime(entry.file, (MODIFIED_S, MODIFIED_S))
    return site_files(entries)


@pytest.fixture(scope="module")
def etag(files: SiteFiles) -> str:
    return ask(files, "/a.txt").headers["etag"]


def test_files_say_how_to_tell_their_state(files: SiteFiles) -> None:
    for path in ("/a.txt", "/a.html", "/large", "/huge"):
        headers = ask(files, path).headers
        assert headers["last-modified"] == MODIFIED
        assert headers["etag"][0] == headers["etag"][-1] == '"'
        assert headers["accept-ranges"] == "bytes"
        assert headers["date"] == "Tue, 14 Nov 2023 22:13:20 GMT"


def test_the_tag_follows_the_content_not_its_date(tmp_path: Path) -> None:
    def tag(content: bytes, modified_s: int) -> str:
        file = written(tmp_path, f"{modified_s}", content)
        os.utime(file, (modified_s, modified_s))
        return ask(site_files({"/": SiteEntry(file, "text/plain")}), "/").headers["etag"]

    for content in (b"small", bytes(300_000)):
        assert tag(content, 1) == tag(content, 2)
        assert tag(content, 1) != tag(content[1:] + b"x", 1)


def test_a_date_in_the_future_is_not_told(tmp_path: Path) -> None:
    file = written(tmp_path, "a", b"a")
    os.utime(file, (NOW_S + 100, NOW_S + 100))
    headers = ask(site_files({"/": SiteEntry(file, "text/plain")}), "/").headers
    assert headers["last-modified"] == headers["date"]


class TestIfNoneMatch:
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    @pytest.mark.parametrize("form", ["{}", "W/{}", '"x", {}', '"a,b" , W/{},', ',{},"z"', "*"])
    def test_what_the_client_has_is_not_sent_again(self, files: SiteFiles, etag: str, method: str, form: str) -> None:
        answer = ask(files, "/a.txt", method, if_none_match=form.format(etag))
        assert (answer.status, answer.response.body) == (304, None)
        assert {"etag", "date", "cache-control", "last-modified"} <= answer.headers.keys()
        assert not {"content-length", "content-type", "content-encoding"} & answer.headers.keys()

    @pytest.mark.parametrize("form", ['"x"', "{0}{0}", "x{0}", "w/{0}", '"*"', "", "{0} x", '"x{0}'])
    def test_anything_else_gets_it(self, files: SiteFiles, etag: str, form: str) -> None:
        assert ask(files, "/a.txt", if_none_match=form.format(etag)).status == 200

    def test_several_lines_are_one_list(self, files: SiteFiles, etag: str) -> None:
        assert ask(files, "/a.txt", if_none_match=('"x"', etag)).status == 304

    def test_it_counts_more_than_a_date(self, files: SiteFiles, etag: str) -> None:
        assert ask(files, "/a.txt", if_none_match='"x"', if_modified_since=LATER).status == 200
        assert ask(files, "/a.txt", if_none_match=etag, if_modified_since=EARLIER).status == 304

    def test_it_counts_before_the_range(self, files: SiteFiles, etag: str) -> None:
        assert ask(files, "/a.txt", if_none_match=etag, range="bytes=0-1").status == 304
        assert ask(files, "/a.txt", if_none_match=etag, range="bytes=9999-").status == 304

    def test_each_encoding_has_its_own_tag(self, files: SiteFiles) -> None:
        stored = ask(files, "/a.html", accept_encoding="gzip").headers["etag"]
        again = ask(files, "/a.html", accept_encoding="gzip", if_none_match=stored)
        assert (again.status, again.headers["vary"]) == (304, "accept-encoding")
        assert ask(files, "/a.html", accept_encoding="identity", if_none_match=stored).status == 200

    def test_what_the_site_sets_is_said_with_304_too(self, files: SiteFiles, etag: str) -> None:
        headers = ask(files, "/mine", if_none_match=etag).headers
        assert (headers["cache-control"], headers["x-a"]) == ("no-store", "1")

    def test_it_is_ignored_where_the_answer_is_no_success(self, files: SiteFiles) -> None:
        assert ask(files, "/moved", if_none_match="*").status == 301
        assert ask(files, "/nothing", if_none_match="*").status == 404


@pytest.mark.parametrize(
    ("since", "status"),
    [(MODIFIED, 304), (LATER, 304), (EARLIER, 200), ("Sunday, 06-Nov-94 08:49:37 GMT", 304),
     ("Sun Nov  6 08:49:37 1994", 304), ("rubbish", 200), ("", 200), ("784111777", 200),
     ("Sun, 06 Nov 1994 08:49:37 +0000", 200)],
)  # fmt: skip
def test_if_modified_since(files: SiteFiles, since: str, status: int) -> None:
    assert ask(files, "/a.txt", if_modified_since=since).status == status


def test_two_dates_are_none(files: SiteFiles) -> None:
    assert ask(files, "/a.txt", if_modified_since=(LATER, LATER)).status == 200


@pytest.mark.parametrize(
    ("form", "status"),
    [("{}", 200), ('"x",{}', 200), ("*", 200), ("W/{}", 412), ('"x"', 412), ("rubbish", 412), ("", 412)],
)
def test_if_match_insists_strongly(files: SiteFiles, etag: str, form: str, status: int) -> None:
    answer = ask(files, "/a.txt", if_match=form.format(etag))
    assert answer.status == status
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_if_match_counts_more_than_a_date_and_comes_first(files: SiteFiles, etag: str) -> None:
    assert ask(files, "/a.txt", if_match=etag, if_unmodified_since=EARLIER).status == 200
    assert ask(files, "/a.txt", if_match='"x"', if_none_match=etag).status == 412
    assert ask(files, "/a.txt", if_match=etag, if_none_match=etag).status == 304


@pytest.mark.parametrize(("since", "status"), [(MODIFIED, 200), (LATER, 200), (EARLIER, 412), ("rubbish", 200)])
def test_if_unmodified_since(files: SiteFiles, since: str, status: int) -> None:
    assert ask(files, "/a.txt", if_unmodified_since=since).status == status


@given(st.sampled_from(["if_match", "if_none_match", "if_range", "if_modified_since", "if_unmodified_since",
                        "accept_encoding", "range"]), st.text(st.characters(max_codepoint=255), max_size=40))  # fmt: skip
def test_no_field_value_raises(files: SiteFiles, name: str, value: str) -> None:
    assert ask(files, "/a.html", **{name: value}).status in {200, 206, 304, 406, 412, 416}


class TestEncodings:
    @pytest.mark.parametrize(
        "accepted",
        ["gzip", "GZIP", "x-gzip", "*", "br, gzip;q=0.5", "gzip, deflate, br, zstd", "gzip;q=0.001", "identity;q=0, gzip",
         "*;q=0.1", "identity;q=0.5, gzip;q=1.0", "gzip ; Q=1.000"],
    )  # fmt: skip
    def test_who_takes_the_stored_encoding_gets_it(self, files: SiteFiles, accepted: str) -> None:
        answer = ask(files, "/a.html", accept_encoding=accepted)
        assert (answer.body, answer.headers["content-encoding"]) == (zipped(), "gzip")
        assert answer.headers["vary"] == "accept-encoding"

    @pytest.mark.parametrize(
        "accepted",
        ["", "identity", "br", "gzip;q=0", "gzip;q=0.000, *", "gzip;q=0.4, identity;q=0.5", "gzip;q=2", "gzip q=1"],
    )
    def test_who_does_not_gets_it_decoded(self, files: SiteFiles, accepted: str) -> None:
        answer = ask(files, "/a.html", accept_encoding=accepted)
        assert (answer.status, answer.body) == (200, TEXT)
        assert "content-encoding" not in answer.headers
        assert (answer.headers["vary"], answer.headers["content-length"]) == ("accept-encoding", "1200")

    def test_who_says_nothing_gets_it_decoded(self, files: SiteFiles) -> None:
        assert ask(files, "/a.html").body == TEXT

    @pytest.mark.parametrize("accepted", ["identity;q=0", "*;q=0", "br, *;q=0"])
    def test_who_takes_nothing_that_there_is_is_told(self, files: SiteFiles, accepted: str) -> None:
        for path in ("/a.html", "/a.txt"):
            assert ask(files, path, accept_encoding=accepted).status == 406

    @pytest.mark.parametrize("path", ["/broken", "/brotli"])
    def test_what_cannot_be_decoded_goes_as_it_is_unless_it_was_refused(self, files: SiteFiles, path: str) -> None:
        assert ask(files, path).headers["content-encoding"] in {"gzip", "br"}
        assert ask(files, path, accept_encoding="deflate").status == 406

    def test_files_in_one_form_do_not_vary(self, files: SiteFiles) -> None:
        assert "vary" not in ask(files, "/a.txt").headers

    @given(st.lists(st.binary(max_size=50), min_size=1, max_size=3))
    def test_decoding_undoes_gzip_of_any_number_of_members(self, members: list[bytes]) -> None:
        assert decode(b"".join(zipped(member) for member in members), "gzip", 1000) == b"".join(members)

    @given(st.binary(max_size=60))
    def test_rubbish_is_told_as_such(self, data: bytes) -> None:
        with pytest.raises(UndecodableError):
            decode(data, "gzip", 1000)

    def test_a_bomb_is_not_unpacked(self) -> None:
        assert len(decode(zipped(bytes(1000)), "gzip", 1000)) == 1000
        with pytest.raises(UndecodableError, match="too large"):
            decode(zipped(bytes(50_000_000)), "gzip", 1000)


class TestDates:
    @given(st.integers(0, 253_402_300_799))
    def test_what_is_written_is_read(self, at_s: int) -> None:
        assert parse_http_date(format_http_date(at_s), NOW_S) == at_s

    @pytest.mark.parametrize(
        "text", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    )
    def test_all_three_forms_are_read(self, text: str) -> None:
        assert parse_http_date(text, NOW_S) == MODIFIED_S

    @pytest.mark.parametrize(("year", "full"), [("94", 1994), ("23", 2023), ("70", 2070), ("80", 1980), ("00", 2000)])
    def test_years_of_two_digits_are_at_most_fifty_years_ahead(self, year: str, full: int) -> None:
        read = parse_http_date(f"Sunday, 06-Nov-{year} 08:49:37 GMT", NOW_S)
        assert read == parse_http_date(f"Sun, 06 Nov {full} 08:49:37 GMT", NOW_S)
        assert read is not None

    @pytest.mark.parametrize(
        "text",
        ["Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
         "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
         "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 0000 08:49:37 GMT"],
    )  # fmt: skip
    def test_what_is_no_date_is_refused(self, text: str) -> None:
        assert parse_http_date(text, NOW_S) is None

    def test_a_leap_second_is_a_date(self) -> None:
        assert parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", NOW_S) == 1_483_228_799


REFUSED = ({"if_match": '"other"'}, {"range": "bytes=9999-"}, {"accept_encoding": "identity;q=0, br"})
OPEN = {"access-control-allow-origin": "*", "timing-allow-origin": "*"}


class TestWhoMaySeeErrors:
    """A page of another origin that may read a file is told why it does not get it; else it would see a network error."""

    def test_an_error_about_a_file_may_be_seen_by_who_may_read_it(self, files: SiteFiles) -> None:
        answers = [ask(files, "/a.txt", **fields) for fields in REFUSED]
        assert [answer.status for answer in answers] == [412, 416, 406]
        for answer in answers:
            assert OPEN.items() <= answer.headers.items()
            assert not {"cache-control", "etag", "content-encoding"} & answer.headers.keys()

    def test_and_by_nobody_else(self, tmp_path: Path) -> None:
        plain = written(tmp_path, "a.txt", TEXT)
        own = ((b"access-control-allow-origin", (b"https://y.test",)), (b"x-a", (b"1",)))
        entries = {
            "/bare": SiteEntry(plain, "text/plain", bare=True),
            "/closed": SiteEntry(plain, "text/plain", headers=((b"access-control-allow-origin", ()),)),
            "/own": SiteEntry(plain, "text/plain", headers=own),
        }
        for fields in REFUSED:
            asked = {path: ask(site_files(entries), path, **fields).headers for path in entries}
            allowed = {path: headers.get("access-control-allow-origin") for path, headers in asked.items()}
            assert allowed == {"/bare": None, "/closed": None, "/own": "https://y.test"}
            assert "x-a" not in asked["/own"]

    def test_a_file_that_is_gone_is_told_of_like_the_others(self, tmp_path: Path) -> None:
        gone = site_files({"/": SiteEntry(tmp_path.resolve() / "gone", "text/plain")})
        answer = ask(gone, "/")
        assert answer.status == 404
        assert OPEN.items() <= answer.headers.items()
