"""How many connections a page takes; test_connections_in_chromium.py asks Chromium the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.errors import SiteError
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.making import merged
from tests.sites.analysis.connection_cases import CASES, case_site
from tests.sites.folders import page, site_of


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_number_follows_from_credentials_and_frames(tmp_path: Path, name: str) -> None:
    connections = expected_connections(case_site(tmp_path, name))
    assert connections.count == CASES[name].connections, connections


def test_the_explanation_names_what_needs_a_connection_of_its_own(tmp_path: Path) -> None:
    assert expected_connections(case_site(tmp_path / "1", "font and image")).explanation == (
        "one for what carries credentials, as 4 hosts share an address and a certificate; one for what is fetched without "
        "credentials: https://fonts.test/f.woff2 (fonts of other hosts are)"
    )
    frames = expected_connections(case_site(tmp_path / "2", "font and frame")).explanation
    assert "one for frames of other sites (cdn.test)" in frames
    assert expected_connections(case_site(tmp_path / "3", "image")).explanation == (
        "4 hosts share an address and a certificate, and all requests carry credentials"
    )


@pytest.mark.parametrize("name", sorted(CASES))
def test_merged_hosts_take_one_connection_but_for_what_never_carries_credentials(tmp_path: Path, name: str) -> None:
    connections = expected_connections(merged(case_site(tmp_path, name), tmp_path / "build"))
    assert connections.count == (2 if name in {"manifest", "own manifest"} else 1), connections
    assert "merged into shop.test" in connections.explanation


def test_what_scripts_fetch_counts_as_the_manifest_lists_it(tmp_path: Path) -> None:
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): page(), (1, "/a.json"): "{}"}

    def count(folder: str, **entry: object) -> int:
        return expected_connections(site_of(tmp_path / folder, files, entries={(1, "/a.json"): entry})).count

    assert count("other") == 1
    assert count("xhr", kind="xhr") == 2
    assert count("with", kind="xhr", credentials=True) == 1
    assert count("without", kind="image", credentials=False) == 2


def test_a_site_may_say_how_many_there_are(tmp_path: Path) -> None:
    connections = expected_connections(site_of(tmp_path, {(0, "/"): page()}, connections=3))
    assert str(connections) == "3, so the site's description says"


@pytest.mark.parametrize(
    ("own", "frame", "connections"),
    [
        ("www.shop.co.uk", "img.shop.co.uk", 1),
        ("www.shop.co.uk", "shop.co.uk", 1),
        ("www.shop.co.uk", "other.co.uk", 2),
        ("www.shop.co.uk", "shop.com", 2),
        ("www.gmx.de", "img.gmx.de", 1),  # short names of sites are no registries
    ],
)
def test_a_country_with_registries_below_it_is_no_site(tmp_path: Path, own: str, frame: str, connections: int) -> None:
    hosts = [own, frame]
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page(body=f'<iframe src="https://{frame}/f.html"></iframe>'),
        (1, "/f.html"): "<p>frame",
    }
    site = site_of(tmp_path, files, hosts=hosts, entries={(1, "/f.html"): {"kind": "document"}})
    assert expected_connections(site).count == connections


def test_a_document_that_cannot_be_read_is_no_reason_not_to_serve_the_site(tmp_path: Path) -> None:
    """What its manifest lists is counted all the same."""
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): "no gzip", (2, "/f.woff2"): b"1"}
    fonts = {(2, "/f.woff2"): {"kind": "font"}}
    broken = site_of(tmp_path / "1", files, entries={**fonts, (0, "/"): {"encoding": "gzip", "mime": "text/html"}})
    assert expected_connections(broken).count == 2
    with pytest.raises(SiteError, match="cannot be read"):
        merged(broken, tmp_path / "build")
    bent = site_of(tmp_path / "2", {**files, (0, "/"): page('<base href="https://cdn.test/">')}, entries=fonts)
    assert expected_connections(bent).count == 2


@pytest.mark.parametrize(
    ("base", "body", "file", "connections"),
    [
        ("https://cdn.test/x/", "<script crossorigin src=a.js></script>", (1, "/x/a.js"), 2),
        ("https://cdn.test/x/", "<script crossorigin src=https://shop.test/a.js></script>", (0, "/a.js"), 1),
        ("/x/", "<script crossorigin src=https://cdn.test/a.js></script>", (1, "/a.js"), 2),
        ("//elsewhere.example/", "<script crossorigin src=a.js></script><img src=data:,x>", (0, "/a.js"), 1),
    ],
)
def test_a_base_element_bends_what_a_document_asks_for(
    tmp_path: Path, base: str, body: str, file: tuple[int, str], connections: int
) -> None:
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): page(f"<base href={base}>", body), file: "1"}
    assert expected_connections(site_of(tmp_path, files)).count == connections


def test_an_error_page_in_the_place_of_a_style_sheet_asks_for_nothing(tmp_path: Path) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page("<link rel=stylesheet href=https://cdn.test/a.css>"),
        (1, "/a.css"): page(body="<img crossorigin src=https://fonts.test/a.png>"),
        (2, "/a.png"): "1",
    }
    entries = {(1, "/a.css"): {"mime": "text/html", "status": 404}}
    assert expected_connections(site_of(tmp_path, files, entries=entries)).count == 1
