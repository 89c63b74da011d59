"""Parts of files: what Range asks for is what comes (RFC 9110 section 14)."""

from __future__ import annotations

from email.parser import BytesParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server._ranges import MAX_RANGES, ByteRange, parse_ranges
from mixedsched.world.server.site import SiteEntry
from tests.world.server.asking import TEXT, ask, site_files, written, zipped

LARGE = bytes(range(256)) * 2000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SiteFiles:
    folder = tmp_path_factory.mktemp("site")
    plain = written(folder, "a.txt", TEXT)
    return site_files(
        {
            "/a.txt": SiteEntry(plain, "text/plain"),
            "/a.html": SiteEntry(written(folder, "a.html.gz", zipped()), "text/html", "gzip"),
            "/large": SiteEntry(written(folder, "large", LARGE), "video/mp4"),
            "/empty": SiteEntry(written(folder, "empty", b""), "text/plain"),
            "/teapot": SiteEntry(plain, "text/plain", status=418),
        }
    )


@pytest.mark.parametrize(
    ("wanted", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        ("bytes=100-", 100, 1200),
        ("bytes=-5", 1195, 1200),
        ("bytes=-99999", 0, 1200),
        ("bytes=1199-99999", 1199, 1200),
        ("BYTES = 0-1", None, None),
        ("Bytes=0-1", 0, 2),
        (" bytes=3-4 ", 3, 5),
        (f"bytes=7-{'9' * 5000}", 7, 1200),
        ("bytes=0000-0001", 0, 2),
        ("bytes=0-9,5-19", 0, 20),
        ("bytes=0-9, ,10-19,", 0, 20),
        ("bytes=0-9,5000-6000", 0, 10),
    ],
)
def test_a_range_comes_with_its_place(files: SiteFiles, wanted: str, start: int | None, stop: int | None) -> None:
    answer = ask(files, "/a.txt", range=wanted)
    if start is None:
        assert (answer.status, answer.body) == (200, TEXT)
        return
    assert stop is not None
    assert (answer.status, answer.body) == (206, TEXT[start:stop])
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/1200"
    assert answer.headers["content-length"] == str(stop - start)
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["etag"] == ask(files, "/a.txt").headers["etag"]


@pytest.mark.parametrize(
    "wanted", ["bytes=1200-", "bytes=1200-1300", "bytes=-0", f"bytes={'9' * 5000}-", "bytes=5000-,-0"]
)
def test_a_range_beyond_the_end_is_told_the_size(files: SiteFiles, wanted: str) -> None:
    answer = ask(files, "/a.txt", range=wanted)
    assert (answer.status, answer.headers["content-range"]) == (416, "bytes */1200")
    assert int(answer.headers["content-length"]) == len(answer.body)


@pytest.mark.parametrize(
    "wanted",
    ["", "bytes", "bytes=", "bytes=,", "bytes=a-b", "bytes=5-2", "bytes=--5", "bytes=1", "bytes=1-2-3", "bytes=0-1,x",
     "lines=0-1", "bytes=+1-2", "bytes=0x1-2", "bytes=\xb2-3", "bytes=0 - 1", "0-1", "bytes:0-1"],
)  # fmt: skip
def test_a_malformed_or_unknown_range_is_ignored(files: SiteFiles, wanted: str) -> None:
    answer = ask(files, "/a.txt", range=wanted)
    assert (answer.status, answer.body) == (200, TEXT)


@pytest.mark.parametrize("path", ["/a.txt", "/large"])
def test_several_ranges_come_as_multipart_in_the_order_asked(files: SiteFiles, path: str) -> None:
    whole = ask(files, path).body
    answer = ask(files, path, range="bytes=100-109,0-4,-3")
    assert answer.status == 206
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert "content-range" not in answer.headers
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + answer.body)
    parts = [(part["content-range"], part.get_payload(decode=True)) for part in message.get_payload()]  # type: ignore[union-attr]
    size = len(whole)
    assert parts == [
        (f"bytes 100-109/{size}", whole[100:110]),
        (f"bytes 0-4/{size}", whole[:5]),
        (f"bytes {size - 3}-{size - 1}/{size}", whole[-3:]),
    ]


def test_overlapping_ranges_are_joined_so_that_no_byte_is_sent_twice(files: SiteFiles) -> None:
    answer = ask(files, "/large", range="bytes=" + ",".join(["0-"] * MAX_RANGES))
    assert (answer.status, len(answer.body)) == (206, len(LARGE))


def test_too_many_ranges_get_the_whole(files: SiteFiles) -> None:
    wanted = ",".join(f"{2 * number}-{2 * number}" for number in range(MAX_RANGES + 1))
    assert ask(files, "/a.txt", range=f"bytes={wanted}").status == 200


def test_ranges_of_encoded_content_mean_the_encoded_bytes(files: SiteFiles) -> None:
    answer = ask(files, "/a.html", range="bytes=2-9", accept_encoding="gzip")
    assert (answer.status, answer.body) == (206, zipped()[2:10])
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-range"] == f"bytes 2-9/{len(zipped())}"
    decoded = ask(files, "/a.html", range="bytes=2-9", accept_encoding="identity")
    assert (decoded.status, decoded.body) == (206, TEXT[2:10])
    assert decoded.headers["vary"] == answer.headers["vary"] == "accept-encoding"
    assert decoded.headers["etag"] != answer.headers["etag"]


def test_several_ranges_of_encoded_content_get_the_whole(files: SiteFiles) -> None:
    answer = ask(files, "/a.html", range="bytes=0-1,5-6", accept_encoding="gzip")
    assert (answer.status, answer.body) == (200, zipped())


def test_ranges_of_an_empty_file(files: SiteFiles) -> None:
    assert ask(files, "/empty", range="bytes=0-").headers["content-range"] == "bytes */0"
    assert ask(files, "/empty", range="bytes=-5").status == 200


def test_only_get_has_ranges_and_only_of_what_would_be_200(files: SiteFiles) -> None:
    head = ask(files, "/a.txt", "HEAD", range="bytes=0-1")
    assert (head.status, head.headers["content-length"], head.body) == (200, "1200", b"")
    assert ask(files, "/teapot", range="bytes=0-1").status == 418
    assert ask(files, "/nothing", range="bytes=0-1").status == 404


def test_if_range_sends_the_whole_of_what_has_changed(files: SiteFiles) -> None:
    current = ask(files, "/a.txt").headers
    for value, status in [
        (current["etag"], 206),
        (current["last-modified"], 206),
        (f"W/{current['etag']}", 200),
        ('"other"', 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ("rubbish", 200),
    ]:
        assert ask(files, "/a.txt", range="bytes=0-1", if_range=value).status == status, value
    assert ask(files, "/a.txt", range="bytes=5000-", if_range='"other"').status == 200


def test_a_date_of_this_very_second_is_too_weak_for_if_range(tmp_path: Path) -> None:
    file = written(tmp_path, "a", b"0123")
    modified_s = int(file.stat().st_mtime)
    for age_s, status in ((0.5, 200), (1.0, 206)):
        files = site_files({"/a": SiteEntry(file, "text/plain")}, modified_s + age_s)
        date = ask(files, "/a").headers["last-modified"]
        assert ask(files, "/a", range="bytes=0-1", if_range=date).status == status


SPECS = st.one_of(
    st.builds(lambda first, last: f"{first}-{last}", st.integers(0, 60), st.integers(0, 60)),
    st.builds("{}-".format, st.integers(0, 60)),
    st.builds("-{}".format, st.integers(0, 60)),
)


def positions(spec: str, size: int) -> set[int] | None:
    """Which bytes a range asks for, worked out one by one; None if it is malformed."""
    first, _, last = spec.partition("-")
    if not first:
        return {position for position in range(size) if size - position <= int(last)}
    if last and int(last) < int(first):
        return None
    return {position for position in range(size) if int(first) <= position and (not last or position <= int(last))}


@given(specs=st.lists(SPECS, min_size=1, max_size=6), size=st.integers(1, 50))
def test_the_parts_are_just_the_bytes_asked_for_each_once(specs: list[str], size: int) -> None:
    parts = parse_ranges("bytes=" + ",".join(specs), size)
    wanted = [positions(spec, size) for spec in specs]
    if any(item is None for item in wanted):
        assert parts is None
        return
    assert parts is not None
    got = [position for part in parts for position in range(part.start, part.stop)]
    assert sorted(got) == sorted(set().union(*(item for item in wanted if item)))
    assert all(0 <= part.start < part.stop <= size for part in parts)


@given(st.text(st.characters(max_codepoint=255), max_size=40), st.integers(0, 1000))
def test_no_value_raises_or_leads_past_the_end(value: str, size: int) -> None:
    for text in (value, f"bytes={value}"):
        for part in parse_ranges(text, size) or []:
            assert 0 <= part.start < part.stop <= size


def test_separate_parts_keep_the_clients_order() -> None:
    assert parse_ranges("bytes=8-9,0-1,4-5", 10) == [ByteRange(8, 10), ByteRange(0, 2), ByteRange(4, 6)]
