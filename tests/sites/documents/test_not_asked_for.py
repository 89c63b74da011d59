"""References that browsers do not follow, or follow at another place than they seem to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.errors import SiteError
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.references import Reference, ReferenceRole, decoded, noting
from mixedsched.sites.opening import load_site
from mixedsched.sites.site.paths import Local, absolute, resolve
from tests.sites.folders import page, write_files


def seen(text: str) -> list[Reference]:
    """Of a style sheet, or of HTML where it begins like that."""
    found: list[Reference] = []
    (rewrite_html if text.startswith("<") else rewrite_css)(text, noting(found), "test")
    return found


def loads(text: str) -> list[str]:
    return [item.url for item in seen(text) if item.role is ReferenceRole.LOAD]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # A source without a srcset is passed over: scripts fill it in when the picture is in view.
        ("<picture><source type=image/webp data-srcset=a><img src=b></picture>", ["b"]),
        ("<picture><source srcset=' , '><source srcset=a><img src=b></picture>", ["a"]),
        ("<picture><img src=b><source srcset=a></picture>", ["b"]),
        ("<iframe srcdoc='<img src=a>' src=//video.example/></iframe>", ["a"]),
        ("<video preload=none><track src=a><track default src=b></video>", ["b"]),
        ("<link rel=preload href=a><link rel=preload as=video href=b><link rel=preload as=Font href=c>", ["c"]),
    ],
)
def test_html(html: str, expected: list[str]) -> None:
    assert sorted(loads(html)) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ('src=a srcset="b 600w, c 1200w"', "c"),
        ('src=a srcset="b 600w"', "b"),
        ('src=a srcset="b 4x"', "b"),
        ('src=a srcset="b 0.5x"', "a"),
        ('srcset="b 0.5x"', "b"),
        ('src=a srcset="b 1x, c 1x"', "b"),
        ('src=a srcset="b nanx, c -1x, d 0w, e 1x 2x"', "a"),
        ('src=a srcset="b 600w 9h, c 1200w 18h"', "c"),
        ("src=a srcset=' '", "a"),
    ],
)
def test_an_image_has_the_size_of_its_src_too_and_what_tells_no_size_is_skipped(image: str, expected: str) -> None:
    assert loads(f"<img {image}>") == [expected]
    preload = f"<link rel=preload as=image {image.replace('srcset', 'imagesrcset').replace('src=a', 'href=a')}>"
    assert loads(preload) == [expected]


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("@charset 'utf-8'; @layer a, b; @import 'a'; @import url(b);", ["a", "b"]),
        ("p {} @import 'a';", []),
        ("@namespace url(x); @import 'a';", []),
        ("@media screen {} @import 'a';", []),
        ("@font-face {} @import 'a';", []),
        ("p { @import 'a'; }", []),
        ("@media print { p { background: url(a) } @font-face { src: url(b) } }", []),
        ("@media only print and (color), print { p { background: url(a) } }", []),
        ("@media print, screen { p { background: url(a) } }", ["a"]),
        ("@media not print { p { background: url(a) } }", ["a"]),
        ("@font-face; p { src: url(a) }", ["a"]),
    ],
)
def test_css(css: str, expected: list[str]) -> None:
    assert loads(css) == expected


def test_what_a_sheet_for_printers_shows_is_served_but_no_part_of_the_page(tmp_path: Path) -> None:
    html = page("<link rel=stylesheet media=print href=a.css><link rel=stylesheet href=b.css>", "<p>text")
    css = "@font-face { src: url(c.woff2) } p { background: url(c.png) }"
    files = {"index.html": html, "a.css": css, "b.css": css.replace("c.", "d.")}
    site = load_site(
        write_files(tmp_path / "shop", {**files, "c.woff2": "1", "c.png": "2", "d.woff2": "3", "d.png": "4"})
    )
    assert [item.path for item in site.page.resources] == ["/", "/b.css", "/a.css", "/d.woff2", "/d.png"]
    assert {(0, "/c.woff2"), (0, "/c.png")} <= site.files.keys()


def test_an_escaped_url_is_not_taken_for_another_that_is_spelt_so_further_on() -> None:
    css = r"a{background:url(a\.png)} b{background:url(a.png)}"
    with pytest.raises(SiteError, match="escapes"):
        rewrite_css(css, lambda _reference: "/moved/a.png", "test")
    assert [item.offset for item in seen(css)] == [css.index("url("), css.rindex("a.png")]


def test_what_a_frames_own_text_refers_to_is_found_where_that_stands() -> None:
    html = f"<p>{'text ' * 50}</p><iframe srcdoc='<b>bold</b><img src=a.png>'></iframe>"
    assert [item.offset for item in seen(html)] == [html.index("a.png")]


def test_what_holds_up_a_frame_does_not_hold_up_the_page(tmp_path: Path) -> None:
    html = page(
        "<link rel=stylesheet href=a.css>", "<iframe srcdoc='<link rel=stylesheet href=b.css>'></iframe><iframe src=f>"
    )
    assert {item.url: item.flags for item in seen(html)}["b.css"] == frozenset()
    frame = "<p style='background: url(c.png)'>"
    files = {"index.html": html.replace("src=f>", "src=f.html>"), "f.html": frame, "c.png": "x"}
    site = load_site(write_files(tmp_path / "shop", {**files, **dict.fromkeys(("a.css", "b.css"), "p {}")}))
    assert site.page.by_id()["c.png"].found_by == "f.html"


@pytest.mark.parametrize(
    ("url", "path"),
    [("https://shop.test:443/a", "/a"), ("http://shop.test:80/a", "/a"), ("//SHOP.test:443/a?x='1'", "/a?x=%271%27")],
)
def test_addresses_are_spelt_as_browsers_ask_for_them(url: str, path: str) -> None:
    assert resolve(url, "/", ("shop.test",)) == Local(0, path)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        (" a b.png#x", "https://shop.test/dir/a%20b.png"),
        ("//CDN.Test:443", "https://cdn.test/"),
        ("\\\u00fc?\u00fc", "https://shop.test/%C3%BC?%C3%BC"),
        ("http://b\u00fccher.test:80/", "http://xn--bcher-kva.test/"),
        ("http://shop.test:443/", "http://shop.test:443/"),
        ("data:,x", ""),
        ("#x", ""),
        ("", ""),
        ("http://[x", ""),
    ],
)
def test_absolute_addresses(url: str, asked: str) -> None:
    assert absolute(url, "https://shop.test/dir/page.html") == asked


@pytest.mark.parametrize(
    ("body", "mime", "text"),
    [
        ("<p>\u65e5\u672c".encode("shift_jis"), "text/html; charset=Shift_JIS", "<p>\u65e5\u672c"),
        ("<meta charset=windows-1251>\u0434\u0430".encode("cp1251"), "", "<meta charset=windows-1251>\u0434\u0430"),
        ('@charset "euc-kr";\uac00'.encode("euc_kr"), "text/css", '@charset "euc-kr";\uac00'),
        (b"<meta charset=iso-8859-1>\x93", "text/html", "<meta charset=iso-8859-1>\u201c"),
        ("<meta charset=windows-1251>\u00fc".encode(), "", "<meta charset=windows-1251>\u00fc"),
        *((b"<meta charset=" + name + b">\xff\\ud800", "", f"<meta charset={name.decode()}>\u00ff\\ud800")
          for name in (b"unicode_escape", b"punycode", b"utf-16", b"rot13", b"hex", b"undefined", b"x")),
    ],
)  # fmt: skip
def test_texts_that_are_not_utf_8_are_in_the_charset_that_they_name(body: bytes, mime: str, text: str) -> None:
    assert decoded(body, mime) == text
