"""Which references of HTML and CSS a browser follows, and how they are replaced."""

from __future__ import annotations

from html import escape as html_escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import SiteError
from mixedsched.model.request import Flag, Kind
from mixedsched.sites.documents.charsets import charset_of
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.dom import ImageCandidate, chosen, parse_srcset, searchable
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.references import Reference, ReferenceRole, base_of, decoded
from mixedsched.sites.site.paths import External, Local, absolute, resolve


def seen(text: str, is_css: bool = False) -> list[Reference]:
    found: list[Reference] = []

    def note(reference: Reference) -> str:
        found.append(reference)
        return reference.url

    assert (rewrite_css if is_css else rewrite_html)(text, note, "test") == text, "looking changes nothing"
    return found


def loads(text: str, is_css: bool = False) -> list[tuple[str, str]]:
    return [(item.kind.value, item.url) for item in seen(text, is_css) if item.role is ReferenceRole.LOAD]


def replaced(text: str, answers: dict[str, str | None], is_css: bool = False) -> str:
    rewrite = rewrite_css if is_css else rewrite_html
    return rewrite(text, lambda reference: answers.get(reference.url, reference.url), "test")


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("a{background:url(x.png)}", [("image", "x.png")]),
        ("a{background:url( 'x.png' ) , URL(\"y.png\")}", [("image", "x.png"), ("image", "y.png")]),
        ("@media screen{a{background:url(x.png)}}", [("image", "x.png")]),
        ("@import 'x.css' screen; @import url(y.css);", [("stylesheet", "x.css"), ("stylesheet", "y.css")]),
        ("@namespace svg url(http://www.w3.org/2000/svg);", []),
        ("/* url(x.png) */ a{content:'url(y.png)'}", []),
        ("a{background:image-set('x.png' 1x, 'y.png' 2x, 'z.png' 3x)}", [("image", "y.png")]),
        ("a{background:image-set(url(x.png) 192dpi, 'y.png')}", [("image", "x.png")]),
        ("a{background:image-set('x.avif' type('image/avif'), 'y.png')}", [("image", "x.avif")]),
        ("@font-face{src:url(x.woff2) format('woff2'),url(x.woff) format('woff')}", [("font", "x.woff2")]),
        ("@font-face{src:url(x.eot);src:url(x.eot?#i) format('embedded-opentype'),url(x.woff)}", [("font", "x.woff")]),
        ("@font-face{src:local('A'),url(x.woff2) format('woff2-variations')}", [("font", "x.woff2")]),
        ("@font-face{src:url(x.woff2);unicode-range:U+0400-04FF}", []),
        ("@font-face{src:url(x.woff2);unicode-range:U+0000-00FF}", [("font", "x.woff2")]),
    ],
)
def test_css_loads(css: str, expected: list[tuple[str, str]]) -> None:
    assert loads(css, is_css=True) == expected


def test_only_the_url_of_a_style_sheet_changes() -> None:
    css = "a { background : url( 'http://x.test/a.png' ) /* http://x.test/a.png */ ;;\n\tcolor:RED }"
    expected = css.replace("http://x.test/a.png", "/a.png", 1)
    assert replaced(css, {"http://x.test/a.png": "/a.png"}, is_css=True) == expected


def test_a_dropped_css_url_loads_nothing_any_more() -> None:
    assert (
        replaced("a{background:url(//x/a.png) red}", {"//x/a.png": None}, is_css=True)
        == "a{background:url(data:,) red}"
    )


def test_signs_that_would_end_a_css_url_are_encoded() -> None:
    assert replaced("a{b:url(x)}", {"x": "/a(1)'.png"}, is_css=True) == "a{b:url(/a%281%29%27.png)}"


def test_an_escaped_css_url_is_read_but_not_replaced_blindly() -> None:
    css = r"a{background:url(a\ b.png)}"
    assert loads(css, is_css=True) == [("image", "a b.png")]
    with pytest.raises(SiteError, match="escapes"):
        replaced(css, {"a b.png": "/c.png"}, is_css=True)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<link rel="stylesheet" href="a.css">', [("stylesheet", "a.css")]),
        ('<link rel="stylesheet" href="a.css" disabled><link rel="canonical" href="https://x.test/">', []),
        ('<link rel="alternate stylesheet" href="a.css">', [("stylesheet", "a.css")]),
        ('<link rel="preload" as="font" href="a.woff2">', [("font", "a.woff2")]),
        ('<script src="a.js"></script><script type="text/template" src="b.js"></script>', [("script", "a.js")]),
        ('<a href="https://x.test/">x</a><form action="https://x.test/"></form>', []),
        ('<script type="text/x-javascript" src="a.js"></script>', [("script", "a.js")]),
        (
            '<script nomodule src="a.js"></script><script nomodule type=module src="b.js"></script>',
            [("script", "b.js")],
        ),
        ('<link rel=preload as=image href=a.jpg imagesrcset="b.jpg 400w, c.jpg 800w">', [("image", "c.jpg")]),
        ('<link rel=preload as=image imagesrcset="b.jpg 1x, c.jpg 2x">', [("image", "c.jpg")]),
        ('<video preload=none src=a.mp4></video><audio preload="none"><source src=b.mp3></audio>', []),
        ("<video preload=none autoplay src=a.mp4></video>", [("media", "a.mp4")]),
        (
            '<video src="a.mp4"><source src="b.mp4"></video><audio src=c.mp3></audio>',
            [("media", "a.mp4"), ("media", "c.mp3")],
        ),
        ('<iframe src="a.html"></iframe><embed src="b.pdf">', [("document", "a.html"), ("other", "b.pdf")]),
        ('<video poster="a.jpg" src="b.mp4"></video>', [("image", "a.jpg"), ("media", "b.mp4")]),
        ('<video><source src="a.webm"><source src="b.mp4"></video>', [("media", "a.webm")]),
        ('<img src="a.jpg" srcset="b.jpg 400w, c.jpg 800w, d.jpg 1600w">', [("image", "c.jpg")]),
        ('<picture><source type="image/avif" srcset="a.avif"><img src="b.jpg"></picture>', [("image", "a.avif")]),
        ('<picture><source type="image/jxl" srcset="a.jxl"><img src="b.jpg"></picture>', [("image", "b.jpg")]),
        ("<style>a{background:url(a.png)}</style>", [("image", "a.png")]),
        ('<p style="background:url(&quot;a.png&quot;)">', [("image", "a.png")]),
        ('<svg><image href="a.svg"/><use xlink:href="b.svg#x"/></svg>', [("image", "a.svg"), ("image", "b.svg#x")]),
        ('<iframe srcdoc="<img src=a.png>"></iframe>', [("image", "a.png")]),
        ('<noscript><img src="a.png"></noscript><template><img src="b.png"></template><!-- <img src="c.png"> -->', []),
        ("<script>document.write('<img src=a.png>')</script>", []),
        ('<svg xmlns="http://www.w3.org/2000/svg"></svg>', []),
    ],
)
def test_html_loads(html: str, expected: list[tuple[str, str]]) -> None:
    assert loads(html) == expected


def flags_of(html: str) -> dict[str, set[Flag]]:
    return {item.url: set(item.flags) for item in seen(html)}


def test_head_scripts_block_unless_async_or_deferred() -> None:
    flags = flags_of(
        "<head><script src=a></script><script src=b async></script><script src=c defer></script>"
        "<script src=d type=module></script></head><body><script src=e></script><img src=f><script src=g></script>"
    )
    assert flags["a"] == {Flag.IN_HEAD, Flag.CRITICAL}
    assert flags["b"] == {Flag.IN_HEAD, Flag.ASYNC}
    assert flags["c"] == flags["d"] == {Flag.IN_HEAD, Flag.DEFER}
    assert flags["e"] == set()
    assert flags["g"] == {Flag.AFTER_FIRST_IMAGE}


def test_style_sheets_block_in_the_head_and_are_late_in_the_body() -> None:
    flags = flags_of(
        "<head><link rel=stylesheet href=a><link rel=stylesheet href=b media=print></head><body><link rel=stylesheet href=c>"
    )
    assert flags == {"a": {Flag.IN_HEAD, Flag.CRITICAL}, "b": {Flag.IN_HEAD}, "c": {Flag.LATE_BODY}}


def test_what_a_style_element_of_the_head_imports_holds_up_the_first_paint() -> None:
    flags = flags_of("<head><style>@import url(a)</style></head><body><style>@import url(b)</style>")
    assert flags == {"a": {Flag.IN_HEAD, Flag.CRITICAL}, "b": set()}


def test_the_first_five_images_that_are_not_small_or_lazy_are_hurried() -> None:
    html = "<img src=small width=50 height=50><img src=lazy loading=lazy>" + "".join(
        f"<img src=i{n}>" for n in range(7)
    )
    hurried = [item.url for item in seen(html) if item.chromium_priority == "Medium"]
    assert hurried == ["i0", "i1", "i2", "i3", "i4"]


def test_a_picture_is_asked_for_like_its_image_whichever_file_it_takes() -> None:
    picture = "<picture><source srcset=a><img src=b {}></picture>"
    first, lazy = (seen(picture.format(more))[0] for more in ("", "loading=lazy"))
    assert (first.url, first.chromium_priority, first.flags) == ("a", "Medium", frozenset())
    assert (lazy.url, lazy.chromium_priority, lazy.flags) == ("a", "Low", {Flag.LAZY})


@pytest.mark.parametrize(
    ("html", "priority"),
    [
        ("<img fetchpriority=high src=a>", "High"),
        ("<img fetchpriority=HIGH loading=lazy src=a>", "High"),
        ("<img fetchpriority=low src=a>", "Low"),
        ("<img fetchpriority=auto src=a>", "Medium"),
        ("<picture><source srcset=a><img fetchpriority=high></picture>", "High"),
        ("<head><script fetchpriority=low src=a></script>", "Low"),
        ("<script async fetchpriority=high src=a></script>", "High"),
        ("<head><link rel=stylesheet fetchpriority=low href=a>", "High"),
        ("<body><link rel=stylesheet fetchpriority=high href=a>", "High"),
        ("<link rel=stylesheet fetchpriority=high href=a>", "VeryHigh"),
        ("<link rel=preload as=font fetchpriority=low href=a>", "Low"),
        ("<link rel=preload as=image fetchpriority=high imagesrcset=a>", "High"),
    ],
)
def test_an_element_may_say_how_urgent_it_is(html: str, priority: str) -> None:
    assert seen(html)[0].chromium_priority == priority


def test_icons_are_served_and_preconnects_are_contacts() -> None:
    html = '<link rel=icon href=a.ico><link rel=preconnect href="https://x.test"><link rel=apple-touch-icon href=b.png>'
    assert [item.role for item in seen(html)] == [ReferenceRole.SERVE, ReferenceRole.CONTACT, ReferenceRole.SPARE]


def test_noscript_in_the_head_does_not_end_the_head() -> None:
    flags = flags_of('<head><noscript><img src="a.png"></noscript><script src="a.js"></script></head>')
    assert flags == {"a.js": {Flag.IN_HEAD, Flag.CRITICAL}}


def test_tags_in_script_texts_do_not_shift_offsets() -> None:
    html = "<script>x='<script src=a.js>'</script><script>y='<noscript>'</script><script src=a.js></script>"
    assert [item.offset for item in seen(html)] == [html.rindex("a.js")]


def test_a_reference_is_found_where_it_stands() -> None:
    html = '<!-- <img src="a.png"> --><body><a href="a.png">İ</a><img alt="x" src="a.png"><p style="b:url(c.png)">'
    places = {item.url: item.offset for item in seen(html)}
    assert places == {"a.png": html.rindex("a.png"), "c.png": html.index("c.png")}


def test_a_replaced_reference_loses_promises_about_the_old_file() -> None:
    html = '<script src="//x/a.js" integrity="sha256-x" crossorigin="anonymous" defer></script>'
    assert '<script src="/a.js" defer=""></script>' in replaced(html, {"//x/a.js": "/a.js"})


def test_a_dropped_reference_takes_its_element_along() -> None:
    html = '<p><object data="//x/o"><img src="//x/a.png"></object><script src="//x/a.js"></script><b>kept</b></p>'
    dropped = replaced(html, {"//x/o": None, "//x/a.png": None, "//x/a.js": None})
    assert "<p><b>kept</b></p>" in dropped


def test_links_for_people_stay_when_a_load_of_the_same_url_is_replaced() -> None:
    html = '<a href="//x/a.png">see</a><img src="//x/a.png">'
    assert '<a href="//x/a.png">see</a><img src="/a.png">' in replaced(html, {"//x/a.png": "/a.png"})


def test_styles_in_html_and_frames_are_replaced_too() -> None:
    html = '<style>a{b:url(//x/1)}</style><p style="b:url(//x/2)"></p>'
    html += '<iframe srcdoc="<img src=//x/3>"></iframe><img srcset="//x/4 2x, c 1x">'
    changed = replaced(html, {f"//x/{number}": f"/{number}" for number in range(1, 5)})
    assert "//x/" not in changed
    assert all(part in changed for part in ("a{b:url(/1)}", "b:url(/2)", "/3", 'srcset="/4 2x, c 1x"'))
    preload = '<link rel=preload as=image imagesrcset="//x/1 2x, //x/2 1x">'
    assert 'imagesrcset="/1 2x"' in replaced(preload, {"//x/1": "/1", "//x/2": None})


def test_a_base_element_is_refused() -> None:
    with pytest.raises(SiteError, match="base element"):
        seen('<base href="/x/">')


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("a.css", Local(0, "/dir/a.css")),
        ("../a.css?v=1#x", Local(0, "/a.css?v=1")),
        ("../../../a.css", Local(0, "/a.css")),
        ("\\img\\a b.jpg", Local(0, "/img/a%20b.jpg")),
        ("  /ü.png\n", Local(0, "/%C3%BC.png")),
        ("https://shop.test/x", Local(0, "/x")),
        ("//cdn.test/x", Local(1, "/x")),
        ("//CDN.test/x", Local(1, "/x")),
        ("https://bücher.test/x", Local(2, "/x")),
        ("https://xn--bcher-kva.test/x", Local(2, "/x")),
        ("//other.test/x", External("//other.test/x")),
        ("http://shop.test:8080/x", External("http://shop.test:8080/x")),
        ("http://[x/a.png", External("http://[x/a.png")),
        ("//[", External("//[")),
        ("http://a\u2100b/", External("http://a\u2100b/")),
        ("100%.png?50%", Local(0, "/dir/100%.png?50%")),
        ("data:image/png,x", None),
        ("javascript:x()", None),
        ("#part", None),
        ("", None),
    ],
)
def test_references_resolve_as_in_a_browser(url: str, target: Local | External | None) -> None:
    assert resolve(url, "/dir/page.html", ("shop.test", "cdn.test", "xn--bcher-kva.test")) == target


# Each takes minutes to be put into the form that browsers ask for: parts of names are shorter.
LONG_NAMES = ["".join(map(chr, range(0x4E00, 0x9E00))), f"a{chr(0x345) * 400_000}{chr(0x316) * 400_000}"]


@pytest.mark.parametrize("name", LONG_NAMES, ids=range(2))
@pytest.mark.parametrize("scheme", ["", "https:", "HTTP:"])
def test_what_no_name_can_hold_names_no_host(name: str, scheme: str) -> None:
    url = f"{scheme}//{name}/a.png"
    assert resolve(url, "/", ("shop.test",)) == External(url)
    assert absolute(url, "https://shop.test/") == ""
    assert base_of(f"<base href='{url}'>", "https://shop.test/") == "https://shop.test/"
    assert resolve(f"data://{name}", "/", ("shop.test",)) is None
    assert absolute(f"//{name[:500]}/", "https://shop.test/") == f"https://{name[:500]}/"


@pytest.mark.parametrize(
    ("name", "found"), [("Bücher.TEST:8443", "xn--bcher-kva.test:8443"), (f"{'ü' * 64}.Test", f"{'ü' * 64}.test")]
)
def test_hosts_are_written_as_browsers_ask_for_them(name: str, found: str) -> None:
    assert absolute(f"//{name}/", "https://shop.test/") == f"https://{found}/"


def test_the_coarsest_image_that_fills_a_phone_screen_is_chosen() -> None:
    assert chosen(parse_srcset("a 1x, b 2x, c 3x")).url == "b"  # type: ignore[union-attr]
    assert chosen(parse_srcset("a.png?x=1,2 300w,b 400w")).url == "b"  # type: ignore[union-attr]
    assert [item.url for item in parse_srcset("a, b 2x,c")] == ["a", "b", "c"]
    assert chosen([]) is None


def test_only_ascii_white_space_parts_a_srcset() -> None:
    assert [item.url for item in parse_srcset("\u00a0a 1x, \u3000")] == ["\u00a0a", "\u3000"]


def test_a_width_of_thousands_of_digits_is_not_small() -> None:
    html = f"<img src=a width={'9' * 5000} height=1>"
    assert [item.chromium_priority for item in seen(html)] == ["Medium"]


def test_documents_that_close_nothing_and_endless_lists_of_images_are_read_in_one_go() -> None:
    """Looked through from each place on, they would take hours."""
    assert len(searchable("<!--" * 100_000)) == 400_000
    assert len(parse_srcset("a 1x," * 100_000)) == 100_000


@pytest.mark.parametrize("text", ["a{" * 5000, "(" * 5000])
def test_styles_nested_thousands_deep_are_refused(text: str) -> None:
    with pytest.raises(SiteError, match="nested too deeply"):
        seen(text, is_css=True)
    with pytest.raises(SiteError, match="nested too deeply"):
        seen(f"<style>{text}</style>")


def test_frames_nested_hundreds_deep_are_refused() -> None:
    frame = "x"
    for _level in range(300):
        frame = f'<iframe srcdoc="{html_escape(frame)}"></iframe>'
    with pytest.raises(SiteError, match="nested too deeply"):
        seen(frame)


def test_an_escape_for_half_a_sign_is_a_replacement_character() -> None:
    assert loads(r"a{b:url(\d800 .png)}", is_css=True) == [("image", "\ufffd.png")]


@pytest.mark.parametrize("body", ["\ufeff<img src=ü>".encode("utf-16-le"), "<img src=ü>".encode("utf-16")])
def test_a_document_that_begins_as_utf_16_is_read_as_that(body: bytes) -> None:
    assert loads(decoded(body)) == [("image", "ü")]


@given(url=st.text(max_size=30) | st.text(alphabet="/:[]@?#%\\.ahtps&", max_size=30))
def test_any_reference_resolves_without_failing(url: str) -> None:
    target = resolve(url, "/dir/page.html", ("shop.test",))
    if isinstance(target, Local):
        assert target.path.isascii()
        assert target.path.startswith("/")
        assert isinstance(target.file, str)


@given(value=st.text(max_size=40) | st.text(alphabet="a, \t\xa0\u20031.wx", max_size=40))
def test_any_srcset_is_read_without_failing(value: str) -> None:
    chosen(parse_srcset(value))


@given(html=st.text(alphabet="<>/='\"abimgsrc style(url) -!", max_size=80))
def test_looking_at_any_text_changes_nothing_and_never_fails(html: str) -> None:
    for item in seen(html):
        assert 0 <= item.offset <= len(html)
        assert item.kind in set(Kind)


@given(css=st.text(alphabet="a{}()'\"@;:,url \\/*importfontface-", max_size=80))
def test_looking_at_any_style_changes_nothing_and_never_fails(css: str) -> None:
    for item in seen(css, is_css=True):
        assert 0 <= item.offset <= len(css)


@pytest.mark.parametrize(
    ("descriptor", "is_valid"),
    [("1.5x", True), (".5x", True), ("2e3x", True), ("5.x", False), (".x", False), ("1" * 500_000, False)],
    ids=range(6),
)
def test_descriptors_that_browsers_know_are_told_from_others_of_any_length(descriptor: str, is_valid: bool) -> None:
    assert ImageCandidate("a.png", descriptor).is_valid is is_valid


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("<base href=lib/>", "https://shop.test/lib/"),
        ("<base target=_top><base\nHREF = 'a&gt;b>c/'>", "https://shop.test/a>b>c/"),
        ("<base href= ><base href=lib/>", "https://shop.test/lib/"),
        (f"<base {'x ' * 5000}href=lib/>", "https://shop.test/lib/"),
        ("<basefont href=lib/>", "https://shop.test/"),
        ("<base " * 5_000_000, "https://shop.test/"),
    ],
    ids=range(6),
)
def test_the_base_of_a_document_is_found_wherever_it_is(text: str, base: str) -> None:
    assert base_of(text, "https://shop.test/") == base


@pytest.mark.parametrize(
    ("mime", "charset"),
    [
        ("text/html; Charset=koi8-r; x=y", "koi8-r"),
        (f"text/html; charset=koi8-r;{'x;' * 1_000_000}", "koi8-r"),
        (f'text/html; x="{";" * 1_000_000}; charset=koi8-r', ""),
    ],
    ids=range(3),
)
def test_a_content_type_names_its_charset_at_the_beginning(mime: str, charset: str) -> None:
    assert charset_of(mime) == charset
