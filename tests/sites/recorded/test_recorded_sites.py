"""Writing recordings: what is kept of exchanges, what is not and why, and folders that appear whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mixedsched.sites.recorded.selection as selection
from mixedsched.errors import ExitCode, SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.opening import load_site
from mixedsched.sites.recorded.coding import _ENCODERS, decode_body, encode_body
from mixedsched.sites.recorded.records import LeftOut, RecordingFacts
from mixedsched.sites.recorded.writing import write_recording
from tests.sites.recorded.made import SHOP, Recorded, document, exchange, redirect


def refusal(folder: Path, *exchanges: object, **options: bool) -> SiteError:
    with pytest.raises(SiteError) as caught:
        write_recording(folder, exchanges, RecordingFacts("shop", SHOP), **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    return caught.value


def test_a_recording_is_a_site_that_replays(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "shop",
        document("<img src=a.png>", encoding="br"),
        exchange(f"{SHOP}a.png?v=1"),
        exchange(f"{SHOP}gone.png", status=404, body=b"no"),
        title="A shop",
        licence="CC0-1.0",
        record={"date": "2026-01-02"},
        notes=("it was quiet",),
    )
    loaded = load_site(tmp_path / "shop")
    assert loaded.url == "https://shop.test/"
    assert (loaded.title, loaded.licence) == ("A shop", "CC0-1.0")
    assert [item.id for item in loaded.page.resources] == ["html", "a.png?v=1", "gone.png"]
    assert site.manifest["replay"] is True
    assert site.manifest["record"] == {"url": SHOP, "date": "2026-01-02", "notes": ["it was quiet"]}
    assert site.resource("gone.png")["status"] == 404
    assert site.summary.kinds["image"].count == 2


def test_fields_that_no_site_can_have_are_left_out_of_a_recording(tmp_path: Path) -> None:
    """Or it could not be opened: HTTP/3 has no words for longer ones here."""
    long = "x" * 70_000
    script = replace(exchange(f"{SHOP}a.js", Kind.SCRIPT), headers=(("content-type", f"text/{long}"), ("x-long", long)))
    site = Recorded(tmp_path / "shop", document(), script)
    loaded = load_site(tmp_path / "shop")
    assert loaded.mimes[0, "/a.js"] == "text/javascript"
    assert site.summary.dropped_headers == {"x-long": 1}


def test_a_redirect_to_what_is_no_address_leads_nowhere(tmp_path: Path) -> None:
    site = Recorded(tmp_path / "shop", document("<img src=a.png>"), redirect(f"{SHOP}a.png", "http://[x/a.png"))
    assert site.resource("a.png")["status"] == 302
    assert site.resource("a.png")["found_by"] == "html"
    assert "the page's document" in refusal(tmp_path / "none", redirect(SHOP, "http://[x/", kind=Kind.DOCUMENT)).what


def test_the_copy_begins_at_the_document_behind_the_redirects(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "shop",
        redirect("http://shop.test/", SHOP, 301, kind=Kind.DOCUMENT),
        redirect(SHOP, "/de/", kind=Kind.DOCUMENT),
        document(url=f"{SHOP}de/"),
    )
    assert site.manifest["entry"] == "/de/"
    assert site.ids == ["html"]
    assert [(item["path"], item["status"]) for item in site.manifest["also_served"]] == [("/", 302)]
    assert "redirect to https" in site.reasons()["http://shop.test/"]


def test_a_redirect_from_another_host_is_none_of_the_copy(tmp_path: Path) -> None:
    site = Recorded(tmp_path / "shop", redirect("https://sh.rt/x", SHOP, kind=Kind.DOCUMENT), document())
    assert site.manifest["hosts"] == ["shop.test"]
    assert "the copy begins at the page" in site.reasons()["https://sh.rt/x"]


def test_an_address_is_kept_once(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "shop",
        document(),
        exchange(f"{SHOP}a.png", body=b"first"),
        exchange(f"{SHOP}a.png", body=b"second"),
        exchange("http://shop.test/a.png", body=b"third"),
    )
    assert site.body("a.png") == b"second"
    assert site.summary.doubled == 2


def test_the_last_answer_that_succeeded_stands_at_the_place_of_the_first_request(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "shop",
        document("<script src=a.js></script>", lasts_ms=5),
        exchange(f"{SHOP}a.js", Kind.SCRIPT, "'b.png'", asked_ms=5, headers=[("x-answer", "first")]),
        exchange(f"{SHOP}b.png", asked_ms=125),
        exchange(f"{SHOP}a.js", Kind.SCRIPT, "'b.png?'", asked_ms=300, headers=[("x-answer", "second")]),
        exchange(f"{SHOP}a.js", Kind.SCRIPT, "gone", asked_ms=400, status=404),
        exchange(SHOP, Kind.XHR, "{}", asked_ms=500),
    )
    assert site.ids == ["html", "a.js", "b.png"]
    assert site.body("a.js") == b"'b.png?'"
    assert site.resource("a.js")["headers"]["x-answer"] == "second"
    assert site.resource("b.png")["delay_ms"] == 100.0, "since the first answer"
    assert site.body("html").startswith(b"<script"), "what a script fetches is not the page's document"


def test_a_part_does_not_stand_for_the_whole(tmp_path: Path) -> None:
    part = [("content-range", "bytes 0-1/5")]
    media = (Kind.MEDIA, b"whole"), (Kind.MEDIA, b"wh")
    whole = exchange(f"{SHOP}a.mp4", *media[0])
    site = Recorded(tmp_path / "shop", document(), whole, exchange(f"{SHOP}a.mp4", *media[1], status=206, headers=part))
    assert site.body("a.mp4") == b"whole"


def test_of_two_beginnings_the_longer_one_is_served(tmp_path: Path) -> None:
    """Some browsers ask for the first two bytes of a video before they ask for more."""
    probe, rest = (
        exchange(
            f"{SHOP}a.mp4",
            Kind.MEDIA,
            b"abcdefgh"[:size],
            status=206,
            headers=[("content-range", f"bytes 0-{size - 1}/9")],
        )
        for size in (2, 8)
    )
    site = Recorded(tmp_path / "shop", document(), probe, rest, probe)
    assert site.body("a.mp4") == b"abcdefgh"
    assert site.summary.notes == (f"{SHOP}a.mp4: the first 8 of 9 bytes were recorded, and are all that is served",)


@pytest.mark.parametrize("location", ["/ü?ö", "/Ã¼?Ã¶"])  # as text, and a byte a character
def test_a_redirect_to_an_address_beyond_ascii_leads_where_browsers_follow_it(tmp_path: Path, location: str) -> None:
    target = exchange(f"{SHOP}%C3%BC?%C3%B6", asked_ms=30)
    site = Recorded(tmp_path / "shop", document(), redirect(f"{SHOP}a", location), target)
    assert site.resource("a")["headers"] == {"location": "/%C3%BC?%C3%B6"}
    assert site.resource("%C3%BC?%C3%B6")["found_by"] == "a"


@pytest.mark.parametrize("status", [204, 205])
def test_an_answer_that_can_have_no_body_has_none_whatever_was_recorded(tmp_path: Path, status: int) -> None:
    """The other file's host gets another name, so that texts are rewritten."""
    empty = exchange("http://cdn.test/a.html", Kind.DOCUMENT, "x", status=status, encoding="gzip")
    script = exchange("http://cdn.test/a.js", Kind.SCRIPT, "'http://cdn.test/b'")
    site = Recorded(tmp_path / "shop", document(), script, empty)
    assert site.resource("cdn.test/a.html")["body_bytes"] == 0


def test_compressed_bodies_may_not_grow_beyond_bounds_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "DECODED_BYTES_MAX", 2500)
    sheets = [exchange(f"{SHOP}{name}.css", Kind.STYLESHEET, b" " * 1000, encoding="gzip") for name in "abc"]
    site = Recorded(tmp_path / "shop", document(), *sheets)
    assert site.ids == ["html", "a.css", "b.css"]
    assert "too large" in site.reasons()[f"{SHOP}c.css"]


def test_other_methods_are_served_besides_the_page(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "shop",
        document(),
        exchange(f"{SHOP}api", Kind.XHR, b"asked"),
        exchange(f"{SHOP}api", Kind.XHR, b"sent", method="post"),
        exchange(f"{SHOP}beacon", Kind.OTHER, b"", method="POST", status=204),
    )
    assert site.ids == ["html", "api"]
    assert site.body("api") == b"asked"
    assert [(item["path"], item["method"]) for item in site.manifest["also_served"]] == [
        ("/api", "POST"),
        ("/beacon", "POST"),
    ]


def test_what_another_form_factor_asks_for_is_served_besides(tmp_path: Path) -> None:
    wide = exchange("https://cdn.test/wide.png")
    write_recording(tmp_path / "shop", [document()], RecordingFacts("shop", SHOP), besides=[wide, document()])
    site = load_site(tmp_path / "shop")
    assert [item.id for item in site.page.resources] == ["html"]
    assert (1, "/wide.png") in site.files


def test_what_cannot_be_kept_is_told_with_its_reason(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "shop",
        document(),
        exchange(f"{SHOP}cached", status=304),
        exchange(f"{SHOP}failed", status=0),
        exchange(f"{SHOP}part", status=206, headers=[("content-range", "bytes 5-9/20")]),
        exchange(f"{SHOP}head", method="HEAD"),
        exchange(f"{SHOP}late", asked_ms=float("nan")),
        exchange(f"{SHOP}lost", status=302),
        redirect(f"{SHOP}nowhere", ""),
        exchange(f"{SHOP}endless", status=206, headers=[("content-range", f"bytes 0-3/{'9' * 5000}")]),
        exchange("data:text/plain,x"),
        exchange(f"{SHOP}torn", Kind.SCRIPT, b"x" * 500, encoding="gzip"),
        left_out=(LeftOut("https://ads.test/", "blocked"),),
    )
    assert site.ids == ["html", "torn"]
    assert set(site.reasons()) == {
        *(f"{SHOP}{name}" for name in ("cached", "failed", "part", "head", "late", "lost")),
        *(f"{SHOP}{name}" for name in ("nowhere", "endless")),
        *("data:text/plain,x", "https://ads.test/"),
    }


def test_a_body_that_is_not_what_its_coding_says_is_left_out(tmp_path: Path) -> None:
    whole = exchange(f"{SHOP}a.js", Kind.SCRIPT, b"x" * 500, encoding="gzip")
    torn = type(whole)(**{**{name: getattr(whole, name) for name in whole.__slots__}, "body": whole.body[:10]})
    site = Recorded(tmp_path / "shop", document(), torn)
    assert "gzip" in site.reasons()[f"{SHOP}a.js"]


def test_a_part_from_the_beginning_becomes_the_whole(tmp_path: Path) -> None:
    field = ("content-range", "bytes 0-3/20")
    site = Recorded(tmp_path / "shop", document(), exchange(f"{SHOP}a.mp4", Kind.MEDIA, status=206, headers=[field]))
    assert "status" not in site.resource("a.mp4")
    assert "the first 4 of 20 bytes" in site.summary.notes[0]


def test_headers_that_matter_stay_and_personal_or_binding_ones_go(tmp_path: Path) -> None:
    headers = [
        ("Cache-Control", "max-age=60"),
        ("vary", "accept"),
        ("vary", "cookie"),
        ("set-cookie", "id=1"),
        ("strict-transport-security", "max-age=1"),
        ("nel", "{}"),
        ("alt-svc", "h3"),
        ("date", "today"),
        ("etag", '"1"'),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("priority", "u=1, i"),
        ("content-security-policy", "img-src *; report-uri /r"),
        ("x-odd", "b\x00d"),
    ]
    site = Recorded(tmp_path / "shop", document(headers=headers))
    html = site.resource("html")
    assert html["headers"] == {
        "cache-control": "max-age=60",
        "vary": ["accept", "cookie"],
        "content-security-policy": "img-src *",
    }
    assert html["priority"] == "u=1, i"
    assert site.summary.dropped_headers == {
        "alt-svc": 1,
        "nel": 1,
        "set-cookie": 1,
        "strict-transport-security": 1,
        "x-odd": 1,
    }


def test_a_recording_without_its_document_is_refused(tmp_path: Path) -> None:
    assert "no exchanges" in str(refusal(tmp_path / "shop"))
    assert "lacks the page's document" in str(refusal(tmp_path / "shop", exchange(f"{SHOP}a.png")))
    assert "status 500" not in str(refusal(tmp_path / "shop", document(status=304)))
    assert not (tmp_path / "shop").exists()


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_EXCHANGES", 2)
    assert "a site can have 2" in str(refusal(tmp_path / "shop", *[document()] * 3))
    monkeypatch.setattr(selection, "MAX_TOTAL_BYTES", 1)
    assert "MB of bodies" in str(refusal(tmp_path / "shop", document()))


def test_a_site_that_is_there_goes_only_if_asked_to(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    Recorded(folder, document("old"))
    assert "--replace" in refusal(folder, document("new")).fix
    assert (folder / "www/shop.test/index.html").read_text() == "old"
    write_recording(folder, [document("new")], RecordingFacts("shop", SHOP), replace=True)
    assert (folder / "www/shop.test/index.html").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["shop"], "nothing is left aside"


def test_a_folder_that_is_no_recording_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "precious.txt").write_text("mine")
    refusal(tmp_path / "shop", document(), replace=True)
    assert (tmp_path / "shop" / "precious.txt").read_text() == "mine"


def test_the_manifest_is_for_people_and_the_same_each_time(tmp_path: Path) -> None:
    exchanges = [document("<img src=a.png>"), exchange(f"{SHOP}a.png"), exchange(f"{SHOP}{'long' * 40}.png")]
    texts = []
    for name in ("one", "two"):
        Recorded(tmp_path / name, *exchanges)
        texts.append((tmp_path / name / "page.json").read_text())
    assert texts[0] == texts[1]
    assert max(len(line) for line in texts[0].splitlines()) < 240
    assert '"flags": ["main", "critical"]' in texts[0]
    json.loads(texts[0])


hostile = st.text(max_size=30).map(lambda text: f"{SHOP}{text}") | st.text(max_size=20)


@given(st.lists(st.tuples(hostile, st.text(max_size=8), st.text(max_size=12)), max_size=6))
def test_hostile_addresses_and_fields_make_a_site_or_a_clear_error(items: list[tuple[str, str, str]]) -> None:
    import tempfile

    exchanges = [document(), *(exchange(url, headers=[(name, value)]) for url, name, value in items)]
    with tempfile.TemporaryDirectory() as folder:
        write_recording(Path(folder, "site"), exchanges, RecordingFacts("x", SHOP))
        site = load_site(Path(folder, "site"))
        root = Path(folder).resolve()
        assert all(file.is_relative_to(root) for file in site.files.values())


@given(st.binary(max_size=4000), st.sampled_from(["gzip", "br", "zstd", "deflate", None]))
def test_codings_give_back_what_they_got(text: bytes, coding: str | None) -> None:
    assert decode_body(encode_body(text, coding), coding) == text


def test_of_the_levels_of_a_coding_the_one_nearest_in_size_is_taken() -> None:
    text = b"".join(f"{number * 7919 % 1009} some words of text\n".encode() for number in range(3000))
    loose = encode_body(text, "gzip", near_bytes=len(text))
    tight = encode_body(text, "gzip", near_bytes=0)
    assert len(tight) < len(loose)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_a_server_sent_at_its_level_has_that_size_again(coding: str) -> None:
    text = "".join(f"var v{number**3 % 977} = w{number % 89};\n" for number in range(3000)).encode()
    levels = {"gzip": (1, 4, 9), "deflate": (1, 4, 9), "br": (1, 4, 11), "zstd": (1, 6, 19)}[coding]
    for level in levels:
        sent = len(_ENCODERS[coding](text, level))
        assert len(encode_body(text, coding, near_bytes=sent)) == sent


def test_an_unknown_coding_is_refused() -> None:
    with pytest.raises(SiteError, match="compress"):
        decode_body(b"x", "compress")


def test_texts_made_to_be_slow_are_not(tmp_path: Path) -> None:
    bomb = "<base " * 5_000 + "<script " * 5_000
    headers = [("link", "<" * 60_000)]
    site = Recorded(
        tmp_path / "shop",
        document(bomb, "http://localhost:9000/", headers=headers),
        exchange("http://localhost:9000/a.js", Kind.SCRIPT, "'http://localhost:9000/b'"),
    )
    assert site.summary.dropped_headers == {"link": 1}
