"""HARs that are broken, hostile or merely odd: a clear refusal, or a usable part and a word on what is missing."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import SiteError, UsageError
from mixedsched.sites.har import _bodies as bodies
from mixedsched.sites.har import _reading as reading
from mixedsched.sites.har import import_page, page_called, pages_of, read_har
from mixedsched.sites.recorded.records import RecordingSummary
from tests.sites.har.hars import PARTS, by_url, changed, chrome, entry_of, firefox, load, save, wire_bytes

HERO = "https://shop.test/hero.png"


def written(folder: Path, har: Any) -> RecordingSummary:
    from dataclasses import replace

    log = read_har(save(folder, har))
    target = folder / "sites" / "shop"
    return import_page(log, pages_of(log)[0], lambda facts: (target, replace(facts, name="shop")))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not JSON"),
        ("<html>", "not JSON"),
        ("[]", "no 'log'"),
        ('{"log": []}', "no 'log'"),
        ('{"log": {"version": "2.0", "entries": [{}]}}', "version '2.0'"),
        ('{"log": {"version": 1.2, "entries": []}}', "no entries"),
        ('{"log": {"entries": {"0": {}}}}', "no entries"),
        ('{"log": {"version": "1.2", "entries": [{}, 7, null, {"request": {"url": ""}}]}}', "no usable entry"),
        ('{"log": ' + "[" * 100_000, "nested too deeply"),
        ('{"log": {"version": "1.2", "entries": [' + "9" * 5000 + "]}}", "is not a HAR"),
    ],
)
def test_what_is_no_har_is_refused_with_the_reason(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(SiteError, match=what):
        read_har(save(tmp_path, text))


def test_a_har_that_was_cut_off_is_called_so(tmp_path: Path) -> None:
    text = json.dumps(chrome())
    for end in (len(text) // 3, len(text) - 1):
        with pytest.raises(SiteError, match="is cut off"):
            read_har(save(tmp_path, text[:end]))


def test_files_that_are_none_are_a_matter_of_usage(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.har", Path("/dev/zero"), Path("bad\0name")):
        with pytest.raises(UsageError):
            read_har(path)


def test_size_is_bounded_also_of_what_a_small_file_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_HAR_BYTES", 10_000)
    with pytest.raises(SiteError, match="too large"):
        read_har(save(tmp_path, " " * 10_001))
    path = tmp_path / "bomb.har.gz"
    path.write_bytes(gzip.compress(b" " * 10_000_000))
    with pytest.raises(SiteError, match="too large"):
        read_har(path)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda text: b"\xef\xbb\xbf" + text, bytes])
def test_compressed_hars_and_byte_order_marks_are_fine(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "page.har"
    path.write_bytes(pack(json.dumps(chrome()).encode()))
    assert len(read_har(path).entries) == len(PARTS)


def test_an_unknown_page_is_refused_and_the_known_ones_named(tmp_path: Path) -> None:
    pages = pages_of(read_har(save(tmp_path, chrome())))
    for wanted in ("page_9", "0", "2", "-1", "", "9" * 30, "0" * 8 + "19"):
        with pytest.raises(UsageError, match="known: page_1"):
            page_called(pages, wanted)


def test_numbers_that_are_none_count_as_not_told(tmp_path: Path) -> None:
    har = chrome()
    for entry, value in zip(
        har["log"]["entries"], [float("nan"), float("inf"), -1e300, "x", None, [], 1e308], strict=True
    ):
        entry["time"] = value
        entry["timings"] = dict.fromkeys(("blocked", "dns", "connect", "send", "wait", "receive"), value)
        entry["response"]["_transferSize"] = value
        entry["response"]["content"]["size"] = value
    assert written(tmp_path, har).resources == len(PARTS)


@pytest.mark.parametrize("date", ["", "yesterday", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", None, 12])
def test_dates_that_are_none_leave_the_order_of_the_file(tmp_path: Path, date: Any) -> None:
    har = chrome()
    for entry in har["log"]["entries"]:
        entry["startedDateTime"] = date
    assert [item.url for item in load(tmp_path, har).exchanges] == [part.url for part in PARTS]
    assert written(tmp_path, har).resources == len(PARTS)


def test_missing_sizes_are_said(tmp_path: Path) -> None:
    har = chrome()
    response = entry_of(har, "hero.png")["response"]
    response["content"] = {"mimeType": "image/png"}
    del response["_transferSize"]
    page = load(tmp_path, har)
    assert by_url(page)[HERO].body == b""
    assert page.facts.notes == ("1 responses have neither body nor size in the HAR and are empty",)


def test_damaged_base64_is_synthesised_at_its_size(tmp_path: Path) -> None:
    har = chrome()
    entry_of(har, "hero.png")["response"]["content"]["text"] = "no base64!"
    page = load(tmp_path, har)
    hero = by_url(page)[HERO]
    assert (len(hero.body), hero.body_origin) == (2056, "synthesised")
    assert hero.body.startswith(b"\x89PNG")
    assert any("no base64" in note for note in page.facts.notes)


def test_a_body_that_was_cut_short_has_its_size_all_the_same(tmp_path: Path) -> None:
    """Firefox cuts bodies beyond a limit, and the size is still that of the whole."""
    har = firefox()
    response = entry_of(har, "data.json")["response"]
    response["content"].update({"text": '{"a":', "size": 4000})
    response["headers"].append({"name": "Content-Length", "value": "4000"})
    page = load(tmp_path, har)
    assert by_url(page)["https://shop.test/data.json"].body == b'{"a":' + b" " * 3995
    assert any("cut short" in note for note in page.facts.notes)


def test_a_byte_order_mark_that_the_tool_took_away_is_put_back(tmp_path: Path) -> None:
    har = chrome()
    response = entry_of(har, "style.css")["response"]
    response["content"]["size"] += 3
    response["headers"] = [item for item in response["headers"] if item["name"] != "Content-Encoding"]
    assert by_url(load(tmp_path, har))["https://shop.test/style.css"].body.startswith(b"\xef\xbb\xbf@font-face")


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16-le", "no-such-charset", "\0", "undefined", "base64"])
def test_text_goes_back_into_its_charset_where_that_has_the_recorded_size(tmp_path: Path, charset: str) -> None:
    har = chrome()
    response = entry_of(har, "data.json")["response"]
    wanted = {"iso-8859-1": b"caf\xe9", "utf-16-le": "café".encode("utf-16-le")}.get(charset, "café".encode())
    response["content"].update({"text": "café", "size": len(wanted)})
    response["headers"] = [{"name": "content-type", "value": f"application/json; charset={charset}"}]
    assert by_url(load(tmp_path, har))["https://shop.test/data.json"].body == wanted


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"request": {"url": "data:image/png;base64,AAAA"}}, "data: addresses are not fetched from a server"),
        ({"request": {"url": "blob:https://shop.test/1"}}, "blob: addresses are not fetched from a server"),
        (
            {"request": {"url": "chrome-extension://abc/a.js"}},
            "chrome-extension: addresses are not fetched from a server",
        ),
        ({"request": {"url": "wss://shop.test/live"}}, "it is a web socket"),
        ({"request": {"url": "https://shop.test/a b"}}, "its address is malformed"),
        ({"request": {"url": "https://shop.test:99999/"}}, "its address is malformed"),
        ({"request": {"url": "https://[::1"}}, "its address is malformed"),
        ({"request": {"url": f"https://a{chr(0x345) * 300_000}{chr(0x316) * 300_000}"}}, "its address is malformed"),
        ({"request": {"method": "OPTIONS"}}, "the server answers CORS preflights by itself"),
        ({"response": {"status": 0}}, "it was blocked or failed: there is no response"),
        ({"response": {"status": -1}}, "it was blocked or failed: there is no response"),
    ],
)
def test_what_is_left_out_is_said_with_its_reason(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    har = chrome()
    entry = entry_of(har, "hero.png")
    for part, values in change.items():
        entry[part].update(values)
    page = load(tmp_path, har)
    assert [item.why for item in page.facts.left_out] == [why]
    assert len(page.exchanges) == len(PARTS) - 1


def test_half_surrogates_are_no_address_and_no_harm_elsewhere(tmp_path: Path) -> None:
    har = chrome()
    entry_of(har, "low.png")["request"]["url"] = "https://shop.test/\ud800"
    data = entry_of(har, "data.json")["response"]
    data["content"].update({"text": '"\ud800"', "size": 3})
    data["headers"].append({"name": "x-odd", "value": "\udfff"})
    page = load(tmp_path, har)
    assert by_url(page)["https://shop.test/data.json"].body == b'"?"'
    assert page.facts.notes == ("1 entries of the HAR cannot be read and are left out",)


def test_what_came_from_the_cache_counts_once_and_only_if_there_is_something_to_send(tmp_path: Path) -> None:
    har = chrome()
    again = changed(entry_of(har, "hero.png"))
    again["_fromCache"] = "memory"
    cached = entry_of(har, "low.png")
    cached["_fromCache"] = "disk"
    unknown = changed(cached)
    unknown["request"]["url"] = "https://shop.test/unknown.png"
    unknown["response"].update({"status": 304, "content": {"size": 0, "mimeType": "image/png"}})
    har["log"]["entries"] += [again, unknown]
    page = load(tmp_path, har)
    assert [item.url for item in page.exchanges] == [part.url for part in PARTS]
    assert [item.why.partition(",")[2] for item in page.facts.left_out] == [
        " and was fetched before",
        " and neither its body nor its size is in the HAR",
    ]
    assert page.facts.notes == (
        "1 responses came from the browser's cache; they are kept, as a first visit asks for them",
    )


def test_a_revalidated_response_is_sent_whole(tmp_path: Path) -> None:
    har = chrome()
    entry_of(har, "hero.png")["response"]["status"] = 304
    hero = by_url(load(tmp_path, har))[HERO]
    assert (hero.status, len(hero.body)) == (200, 2056)


def test_a_coding_not_known_here_is_left_off(tmp_path: Path) -> None:
    har = chrome()
    response = entry_of(har, "style.css")["response"]
    response["headers"] = [{"name": "content-encoding", "value": "dcz"}, {"name": "content-type", "value": "text/css"}]
    page = load(tmp_path, har)
    sheet = by_url(page)["https://shop.test/style.css"]
    assert (sheet.encoding, len(sheet.body)) == (None, len(PARTS[1].body))
    assert any("coding is not known" in note for note in page.facts.notes)


def test_a_har_without_a_document_is_refused(tmp_path: Path) -> None:
    har = chrome(PARTS[1:])
    with pytest.raises(SiteError, match="has no document"):
        load(tmp_path, har)


def test_sizes_that_no_site_can_have_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    har = chrome(bodies=False)
    entry_of(har, "hero.png")["response"]["content"]["size"] = 10**11
    with pytest.raises(SiteError, match="too large for a site"):
        load(tmp_path, har)


@pytest.mark.parametrize("what", ["synthesised", "cut short"])
def test_sizes_that_only_together_are_too_large_are_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(bodies, "MAX_TOTAL_BYTES", 3_000_000)
    har = firefox()
    for name in ("hero.png", "low.png"):
        response = entry_of(har, name)["response"]
        response["headers"].append({"name": "Content-Length", "value": "2000000"})
        if what == "synthesised":
            del response["content"]["text"]
    with pytest.raises(SiteError, match="too large for a site"):
        load(tmp_path, har)


def test_an_answer_to_head_is_not_given_the_body_whose_length_it_tells(tmp_path: Path) -> None:
    har = firefox()
    entry = entry_of(har, "hero.png")
    entry["request"]["method"] = "HEAD"
    entry["response"]["headers"].append({"name": "Content-Length", "value": "1000000000"})
    entry["response"]["content"] = {"mimeType": "image/png", "size": 0}
    assert by_url(load(tmp_path, har))[HERO].body == b""


@pytest.mark.parametrize(
    "path",
    [
        "../../../etc/passwd",
        "..%2f..%2fetc",
        "%00",
        "a/../../b",
        "/abs",
        "C:\\x",
        "a" * 5000,
        ".",
        "%2e%2e/%2e%2e/x",
        "CON",
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    har = chrome()
    entry_of(har, "hero.png")["request"]["url"] = f"https://shop.test/{path}"
    summary = written(tmp_path, har)
    outside = [item for item in tmp_path.rglob("*") if item.is_file() and not item.is_relative_to(summary.folder)]
    assert outside == [tmp_path / "page.har"]


@pytest.mark.slow
def test_five_thousand_entries_are_a_page_like_any_other(tmp_path: Path) -> None:
    har = chrome(bodies=False)
    picture = entry_of(har, "low.png")
    for number in range(5000):
        asked = {**picture["request"], "url": f"https://img{number % 5}.shop.test/{number}.png"}
        har["log"]["entries"].append({**picture, "request": asked})
    page = load(tmp_path, har)
    assert len(page.exchanges) == 5000 + len(PARTS)
    assert {len(item.body) for item in page.exchanges[len(PARTS) :]} == {wire_bytes(PARTS[-1])}


@pytest.mark.parametrize("end", [r'"x": "caf\u00', r'"x": "a\\', '"x": [tru', '"x": -1.', '"x": {"y', '"x": "é'])
def test_a_file_may_end_within_a_word_an_escape_or_a_letter(tmp_path: Path, end: str) -> None:
    path = tmp_path / "page.har"
    for missing_bytes in (0, 1):
        data = ('{"log": {"version": "1.2", ' + end).encode()
        path.write_bytes(data[: len(data) - missing_bytes])
        with pytest.raises(SiteError, match="is cut off"):
            read_har(path)


@pytest.mark.parametrize("bodies", [True, False])
def test_a_page_that_only_redirects_is_refused_with_that_reason(tmp_path: Path, bodies: bool) -> None:
    har = chrome(bodies=bodies)
    document = har["log"]["entries"][0]
    document["response"] |= {"status": 302}
    document["response"]["headers"].append({"name": "location", "value": document["request"]["url"]})
    with pytest.raises(SiteError, match="answered with a redirect"):
        written(tmp_path, har)


def test_a_page_that_failed_is_kept_with_a_note_and_without_a_body_refused(tmp_path: Path) -> None:
    har = chrome()
    har["log"]["entries"][0]["response"]["status"] = 500
    assert "the page itself was answered with 500" in written(tmp_path, har).notes
    har = chrome(bodies=False)
    har["log"]["entries"][0]["response"]["status"] = 500
    (tmp_path / "other").mkdir()
    with pytest.raises(SiteError, match="answered with 500, and the HAR has no body"):
        written(tmp_path / "other", har)


def test_without_a_document_the_other_bodies_are_of_no_use_and_that_is_said(tmp_path: Path) -> None:
    har = chrome()
    answer = har["log"]["entries"][0]["response"]
    del answer["content"]["text"]
    answer |= {"headers": [{"name": "content-length", "value": "3000"}], "_transferSize": 3100}
    summary = written(tmp_path, har)
    assert summary.resources == len(PARTS)
    assert any("nothing refers to the 6 bodies in it" in note for note in summary.notes)
    (document, *_) = sorted((summary.folder / "www").iterdir())
    assert b"style.css" in document.read_bytes()


def test_what_a_synthesised_page_cannot_have_is_said(tmp_path: Path) -> None:
    har = chrome(bodies=False)
    entry_of(har, "data.json")["request"]["method"] = "POST"
    entry_of(har, "low.png")["response"]["status"] = 404
    summary = written(tmp_path, har)
    assert {(item.method, item.url): item.why.partition(":")[0] for item in summary.left_out} == {
        ("POST", "https://shop.test/data.json"): "synthesised pages are asked for with GET only, not with POST",
        ("GET", "https://shop.test/low.png"): "status 404",
    }


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://bücher.test/x.png", "xn--bcher-kva.test"),
        ("https://BÜCHER.test:443/x.png", "xn--bcher-kva.test"),
        ("https://straße.test/x.png", "xn--strae-oqa.test"),
    ],
)
def test_hosts_are_in_ascii_as_browsers_ask_for_them(tmp_path: Path, url: str, host: str) -> None:
    har = chrome()
    entry_of(har, "hero.png")["request"]["url"] = url
    assert list(written(tmp_path, har).hosts) == ["shop.test", "cdn.shop.test", host]


@pytest.mark.parametrize("host", ["℀.test", "日本。test", "é:8", "é@shop.test", "\u202e.test", "é..test"])
def test_odd_hosts_make_no_other_address(tmp_path: Path, host: str) -> None:
    har = chrome()
    entry_of(har, "hero.png")["request"]["url"] = f"https://{host}/x.png"
    summary = written(tmp_path, har)
    assert len(summary.hosts) <= 3
    assert summary.resources + len(summary.left_out) == len(PARTS)
