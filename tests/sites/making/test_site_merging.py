"""Merging the hosts of a site into its first: the same files under other addresses, and documents that name those."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import SiteError
from mixedsched.sites.making import merged
from mixedsched.sites.site import Origins, Site
from tests.sites.folders import HOSTS, page, site_of


def text(site: Site, path: str) -> str:
    body = site.files[0, path].read_bytes()
    return (gzip.decompress(body) if (0, path) in site.encodings else body).decode()


def test_every_file_is_served_from_the_first_host_under_a_path_of_its_own(tmp_path: Path) -> None:
    site = site_of(tmp_path, {(0, "/"): page(), (0, "/a.js"): "own", (1, "/a.js"): "cdn", (2, "/a.js?v=1"): "fonts"})
    whole = merged(site, tmp_path / "build")
    assert whole.hosts == ("shop.test",)
    assert whole.merged_hosts == ("cdn.test", "fonts.test")
    assert whole.origins is Origins.MERGE
    assert {path: whole.files[0, path].read_text() for path in ("/a.js", "/_host/cdn.test/a.js")} == {
        "/a.js": "own",
        "/_host/cdn.test/a.js": "cdn",
    }
    assert (0, "/_host/fonts.test/a.js?v=1") in whole.files
    assert {item.host for item in whole.page.resources} == {0}
    assert [item.path for item in whole.page.resources] == [path for _, path in whole.files]
    assert whole.notes == ()


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("https://cdn.test/a.png", "/_host/cdn.test/a.png"),
        ("//cdn.test/a.png", "/_host/cdn.test/a.png"),
        ("http://cdn.test/a.png?x=1#part", "/_host/cdn.test/a.png?x=1#part"),
        ("https://shop.test/own.png", "https://shop.test/own.png"),
        ("/own.png", "/own.png"),
        ("own.png", "own.png"),
        ("data:image/png;base64,AAAA", "data:image/png;base64,AAAA"),
    ],
)
def test_references_of_the_page_follow(tmp_path: Path, written: str, becomes: str) -> None:
    files = {(0, "/"): page(body=f'<img src="{written}">'), (0, "/own.png"): b"1", (1, "/a.png"): b"2"}
    assert f'src="{becomes}"' in text(merged(site_of(tmp_path, files), tmp_path / "build"), "/")


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("/img/b.png", "/_host/cdn.test/img/b.png"),
        ("../img/b.png", "../img/b.png"),
        ("../../../img/b.png", "/_host/cdn.test/img/b.png"),  # browsers stop at the root, which is elsewhere now
        ("https://shop.test/own.png", "https://shop.test/own.png"),
        ("//fonts.test/f.woff2", "/_host/fonts.test/f.woff2"),
    ],
)
def test_references_of_a_style_sheet_that_has_moved_follow(tmp_path: Path, written: str, becomes: str) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page('<link rel="stylesheet" href="https://cdn.test/css/a.css">'),
        (0, "/own.png"): b"1",
        (1, "/css/a.css"): f'@import "b.css"; p {{ background: url("{written}") }}',
        (1, "/css/b.css"): "p { color: red }",
        (1, "/img/b.png"): b"2",
        (2, "/f.woff2"): b"3",
    }
    sheet = text(merged(site_of(tmp_path, files), tmp_path / "build"), "/_host/cdn.test/css/a.css")
    assert sheet == f'@import "b.css"; p {{ background: url("{becomes}") }}'


def test_calls_on_hosts_that_are_gone_are_taken_out(tmp_path: Path) -> None:
    head = '<link rel="preconnect" href="https://cdn.test"><link rel="dns-prefetch" href="https://elsewhere.example">'
    html = text(merged(site_of(tmp_path, {(0, "/"): page(head)}), tmp_path / "build"), "/")
    assert "cdn.test" not in html
    assert "elsewhere.example" in html


def test_crossorigin_stays_and_integrity_goes_from_what_has_moved(tmp_path: Path) -> None:
    """A preload of a font without it would be fetched in vain."""
    head = '<link rel="preload" as="font" crossorigin integrity="sha256-x" href="https://fonts.test/f.woff2">'
    html = text(merged(site_of(tmp_path, {(0, "/"): page(head), (2, "/f.woff2"): b"1"}), tmp_path / "build"), "/")
    assert "crossorigin" in html
    assert "integrity" not in html


@pytest.mark.parametrize("href", ["a.css", "/a.css"])
def test_integrity_goes_from_style_sheets_whose_text_has_changed(tmp_path: Path, href: str) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page(
            f'<link rel="stylesheet" integrity="sha256-x" href="{href}"><script integrity="sha256-y" src="a.js">'
        ),
        (0, "/a.css"): "p { background: url(https://cdn.test/b.png) }",
        (0, "/a.js"): "1",
        (1, "/b.png"): b"2",
    }
    html = text(merged(site_of(tmp_path, files), tmp_path / "build"), "/")
    assert "sha256-x" not in html
    assert "sha256-y" in html, "the script is what it was"


def test_integrity_goes_from_links_in_headers_to_style_sheets_whose_text_has_changed(tmp_path: Path) -> None:
    """Browsers would refuse the sheet; what is unchanged keeps its promise, also where it has moved."""
    links = (
        '</a.css>; rel=preload; as=style; integrity="sha256-x"; fetchpriority=low, '
        "<https://cdn.test/b.css>; rel=preload; as=style; integrity=sha256-y, "
        '<//cdn.test/c.js>; rel=modulepreload; integrity="sha256-z"'
    )
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page(),
        (0, "/a.css"): "p { background: url(https://cdn.test/d.png) }",
        (1, "/b.css"): "p { background: url(/d.png) }",
        (1, "/c.js"): "1",
        (1, "/d.png"): b"2",
    }
    site = site_of(tmp_path, files, responses=[{"match": "/", "headers": {"link": links}}])
    (sent,) = dict(merged(site, tmp_path / "build").settings[0, "/"].headers)["link"]
    assert sent == (
        "<https://shop.test/a.css>; rel=preload; as=style; fetchpriority=low, "
        "</_host/cdn.test/b.css>; rel=preload; as=style, "
        '</_host/cdn.test/c.js>; rel=modulepreload; integrity="sha256-z"'
    )


def test_compressed_documents_stay_compressed_and_sizes_are_those_on_the_wire(tmp_path: Path) -> None:
    filler = "".join(f"<p>paragraph {number}" for number in range(200))
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page('<link rel="stylesheet" href="https://cdn.test/a.css">', filler),
        (1, "/a.css"): "p { color: red }" * 50,
    }
    site = site_of(
        tmp_path,
        files,
        zipped=[(0, "/"), (1, "/a.css")],
        entries={(1, "/a.css"): {"found_when": "bytes", "found_at_bytes": 100}},
    )
    whole = merged(site, tmp_path / "build")
    assert "/_host/cdn.test/a.css" in text(whole, "/")
    assert text(whole, "/_host/cdn.test/a.css") == "p { color: red }" * 50
    for item in whole.page.resources:
        assert item.body_bytes == whole.files[item.host, item.path].stat().st_size
    document, sheet = whole.page.resources
    assert 90 <= sheet.found_at_bytes <= min(110, document.body_bytes)


def test_settings_follow_and_redirects_lead_to_the_new_place(tmp_path: Path) -> None:
    responses = [
        {"match": "/old.js", "status": 301, "headers": {"location": "https://cdn.test/new.js"}},
        {"match": "/new.js", "host": "cdn.test", "delay_ms": 7},
    ]
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): page(), (0, "/old.js"): "", (1, "/new.js"): "1"}
    whole = merged(site_of(tmp_path, files, responses=responses), tmp_path / "build")
    assert dict(whole.settings[0, "/old.js"].headers)["location"] == ("/_host/cdn.test/new.js",)
    assert whole.settings[0, "/_host/cdn.test/new.js"].delay_ms == 7


@pytest.mark.parametrize(
    ("files", "file"),
    [
        ({(0, "/a.js"): 'load("https://cdn.test/" + name)'}, "shop.test/a.js"),
        ({(1, "/a.json"): '{"next": "//fonts.test/f"}'}, "cdn.test/a.json"),
        ({(0, "/"): page(body='<script>fetch("https://cdn.test/x")</script>')}, "shop.test/"),
        ({(0, "/"): page(body='<img data-src="https://cdn.test/x.png">')}, "shop.test/"),
    ],
)
def test_what_scripts_may_build_is_reported(tmp_path: Path, files: dict[tuple[int, str], str], file: str) -> None:
    whole = merged(site_of(tmp_path, {(0, "/"): page(), **files}), tmp_path / "build")  # type: ignore[arg-type]
    assert len(whole.notes) == 1
    assert whole.notes[0].startswith(f"{file} still names ")


def test_links_to_other_pages_are_none_of_that(tmp_path: Path) -> None:
    body = '<a href="https://cdn.test/about">about</a> see https://cdn.test/ and my-cdn.test.example'
    script = 'note("//cdn.test.example/x", "//my-cdn.test")'
    site = site_of(tmp_path, {(0, "/"): page(body=body), (0, "/a.js"): script})
    assert merged(site, tmp_path / "build").notes == ()


def test_header_fields_are_reported_where_they_still_name_a_host_as_they_are_sent(tmp_path: Path) -> None:
    """A policy for hosts that are gone is not sent, and links are followed, but not the candidates in them."""
    policy, link = "img-src https://cdn.test", "<https://cdn.test/a.png>; rel=preload; as=image"
    headers = {"content-security-policy": policy, "link": link}
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): page(), (1, "/a.png"): b"1"}
    site = site_of(tmp_path / "one", files, responses=[{"match": "/", "headers": headers}])
    assert merged(site, tmp_path / "build").notes == ()
    headers["link"] += '; imagesrcset="https://cdn.test/a.png 2x"'
    site = site_of(tmp_path / "two", files, responses=[{"match": "/", "headers": headers}])
    assert [note.partition(":")[0] for note in merged(site, tmp_path / "build").notes] == [
        "shop.test/ still names cdn.test"
    ]


def test_paths_that_are_taken_are_left_alone(tmp_path: Path) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page(body='<img src="https://cdn.test/a.png">'),
        (0, "/_host/cdn.test/a.png"): b"own",
        (1, "/a.png"): b"cdn",
    }
    whole = merged(site_of(tmp_path, files), tmp_path / "build")
    assert whole.files[0, "/_host/cdn.test/a.png"].read_bytes() == b"own"
    assert whole.files[0, "/_host_/cdn.test/a.png"].read_bytes() == b"cdn"
    assert "/_host_/cdn.test/a.png" in text(whole, "/")


def test_the_text_may_be_in_any_encoding_and_is_told_to_be_utf8(tmp_path: Path) -> None:
    html = page(body='<p>caf\xe9<img src="//cdn.test/a.png">').encode("cp1252")
    site = site_of(
        tmp_path, {(0, "/"): html, (1, "/a.png"): b"1"}, entries={(0, "/"): {"mime": "text/html; charset=windows-1252"}}
    )
    whole = merged(site, tmp_path / "build")
    assert "caf\xe9" in text(whole, "/")
    assert whole.mimes[0, "/"] == "text/html; charset=utf-8"


def test_a_site_of_one_host_stays_what_it_is(tmp_path: Path) -> None:
    site = site_of(tmp_path, {(0, "/"): page()}, hosts=["shop.test"])
    whole = merged(site, tmp_path / "build")
    assert (whole.files, whole.page, whole.merged_hosts) == (site.files, site.page, ())
    assert not (tmp_path / "build").exists()


def test_the_folder_is_not_written_to_and_copies_are_made_once(tmp_path: Path) -> None:
    site = site_of(tmp_path / "site", {(0, "/"): page(body='<img src="//cdn.test/a.png">'), (1, "/a.png"): b"1"})
    before = {path: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()}
    first, again = (merged(site, tmp_path / "build") for _ in range(2))
    assert first == again
    assert {path: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()} == before
    assert len(list((tmp_path / "build").iterdir())) == 1


def test_a_base_element_is_an_error_as_everywhere(tmp_path: Path) -> None:
    site = site_of(tmp_path, {(0, "/"): page('<base href="https://cdn.test/">')})
    with pytest.raises(SiteError, match="base element"):
        merged(site, tmp_path / "build")


names = st.text("abc", min_size=1, max_size=3)
addresses = st.tuples(st.integers(0, 2), st.lists(names, min_size=1, max_size=3))


@given(found=st.lists(addresses, min_size=1, max_size=6, unique_by=lambda item: (item[0], tuple(item[1]))))
def test_nothing_collides_and_every_reference_finds_its_file(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[int, list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("merging")
    paths = {(host, "/" + "/".join(f"{name}_d" for name in steps[:-1]) + f"/{steps[-1]}.png") for host, steps in found}
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page(body="".join(f'<img src="https://{HOSTS[host]}{path}">' for host, path in sorted(paths)))
    }
    files |= {(host, path): f"{host} {path}" for host, path in sorted(paths)}
    whole = merged(site_of(folder, files), folder / "build")
    assert len(whole.files) == len(files)
    html = text(whole, "/")
    for (host, path), moved in zip(files, (item.path for item in whole.page.resources), strict=True):
        if path != "/":
            assert whole.files[0, moved].read_text() == f"{host} {path}"
            assert f'"{moved}"' in html or f'"https://shop.test{moved}"' in html


@pytest.mark.parametrize(("wanted", "hosts"), [("keep", 3), ("merge", 1)])
def test_a_manifest_can_want_its_hosts_merged(tmp_path: Path, wanted: str, hosts: int) -> None:
    site = site_of(tmp_path, {(0, "/"): page()}, origins=wanted)
    assert site.origins == wanted
    assert len(site.hosts) == 3, "whoever opens the site merges it"


def test_other_words_for_origins_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="origins"):
        site_of(tmp_path, {(0, "/"): page()}, origins="mix")


@pytest.mark.parametrize("mime", ["text/html; charset=Shift_JIS", "text/html"])
def test_documents_that_are_not_utf_8_stay_readable(tmp_path: Path, mime: str) -> None:
    told = "<meta charset=shift_jis>" if mime == "text/html" else ""
    html = page(told, '\u65e5\u672c\u8a9e &rarr; <img src="https://cdn.test/a.png">').encode("shift_jis")
    site = site_of(tmp_path, {(0, "/"): html, (1, "/a.png"): b"2"}, entries={(0, "/"): {"mime": mime}})
    whole = merged(site, tmp_path / "build")
    assert '\u65e5\u672c\u8a9e \u2192 <img src="/_host/cdn.test/a.png">' in text(whole, "/")
    assert whole.mimes[0, "/"] == "text/html; charset=utf-8"
