"""A page description becomes a site: sizes exact, every resource asked for somewhere, and what cannot be is told."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from mixedsched.errors import PageError
from mixedsched.model.page import Page
from mixedsched.model.request import Kind
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site
from mixedsched.sites.synth import Synthesis, synthesise
from mixedsched.sites.synth.assets import smallest_bytes
from tests.sites.synth.pages import page, pages, resource


def made_in(folder: Path, wanted: Page) -> tuple[Synthesis, Site]:
    made = synthesise(wanted, folder / "site")
    return made, load_site(made.target)


def text(site: Site, name: str) -> str:
    item = site.page.by_id()[name]
    return site.files[item.host, item.path].read_text(encoding="latin-1")


@given(wanted=pages())
def test_every_page_becomes_a_site_of_exactly_its_sizes(wanted: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made, site = made_in(Path(folder), wanted)  # loading checks the size of every file
        assert [item.body_bytes for item in site.page.resources] == [item.body_bytes for item in wanted.resources]
        told = {one.id for one in made.deviations if one.made == "never asked for"}
        everything = "".join(
            text(site, item.id) for item in site.page.resources if item.kind in {"document", "script", "stylesheet"}
        )
        for item in site.page.resources[1:]:
            assert item.id in told or f"/{item.id}" in everything, item


@given(wanted=pages())
def test_the_graph_and_the_priorities_of_the_page_are_kept(wanted: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, site = made_in(Path(folder), wanted)
        kept = {"path", "mime"}
        for item, copy in zip(wanted.resources, site.page.resources, strict=True):
            assert item.model_dump(exclude=kept) == copy.model_dump(exclude=kept)


@given(wanted=pages())
def test_the_same_page_gives_the_same_bytes(wanted: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trees = []
        for name in ("one", "two"):
            synthesise(wanted, Path(folder) / name)
            files = sorted(path for path in (Path(folder) / name).rglob("*") if path.is_file())
            trees.append([(path.relative_to(Path(folder) / name), path.read_bytes()) for path in files])
        assert trees[0] == trees[1]


def test_tags_end_where_the_page_finds_them(tmp_path: Path) -> None:
    _, site = made_in(
        tmp_path,
        page(
            9000,
            resource("early", "image", 500, found_at_bytes=4000),
            resource("late", "image", 500, found_at_bytes=8000),
        ),
    )
    html = text(site, "html")
    assert html.index("/early>") + len("/early>") == 4000
    assert html.index("/late>") + len("/late>") == 8000


def test_tags_keep_the_order_of_requests_where_offsets_say_otherwise(tmp_path: Path) -> None:
    tags = [resource(f"r{number}", "image", 500, found_at_bytes=8000 - 1000 * number) for number in range(5)]
    _, site = made_in(tmp_path, page(9000, *tags))
    places = [text(site, "html").index(f"/r{number}>") for number in range(5)]
    assert places == sorted(places)


def test_what_is_found_twice_gets_two_addresses(tmp_path: Path) -> None:
    made, site = made_in(
        tmp_path, page(5000, resource("one", "image", 500), resource("two", "image", 600, path="/one"))
    )
    assert [item.path for item in site.page.resources] == ["/", "/one", "/one?2"]
    assert [(one.id, one.what) for one in made.deviations] == [("two", "path")]


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("/a b", "/a%20b"),
        ("/%zz", "/%25zz"),
        ("/ä", "/%C3%A4"),
        ("a", "/a"),
        ("//host/x", "/host/x"),
        ("/a#b", "/a"),
        ("/x/../y", "/x/_/y"),
        ("/<script>", "/%3Cscript%3E"),
        ("/a?it's", "/a?it%27s"),
    ],
)
def test_addresses_are_made_fit_to_be_asked_for(tmp_path: Path, path: str, made: str) -> None:
    told, site = made_in(tmp_path, page(5000, resource("one", "image", 500, path=path)))
    assert site.page.resources[1].path == made
    assert [one.reason for one in told.deviations] == ["such an address cannot be asked for"]
    assert made.replace("&", "&amp;") in text(site, "html")


@pytest.mark.parametrize(
    ("kind", "size_bytes", "mime"),
    [("font", 50, "font/woff2"), ("image", 30, "image/png"), ("image", 50, "image/jpeg"), ("media", 300, "video/mp4")],
)
def test_files_too_small_for_their_format_are_made_and_told(
    tmp_path: Path, kind: str, size_bytes: int, mime: str
) -> None:
    small = resource("small", kind, size_bytes, mime=mime)
    fine = resource("fine", kind, smallest_bytes(Kind(kind), mime), mime=mime)
    told, site = made_in(tmp_path, page(5000, small, fine, resource("none", kind, 0, mime=mime)))
    assert site.page.by_id()["small"].body_bytes == size_bytes
    assert [(one.id, one.what) for one in told.deviations] == [("small", "body")]
    assert f"and this has {size_bytes}" in told.deviations[0].reason


def test_a_content_type_that_no_header_field_can_have_becomes_a_usual_one(tmp_path: Path) -> None:
    rubbish = "text/plain\r\nx-other: 1"
    told, site = made_in(tmp_path, page(5000, resource("one", "image", 500, mime=rubbish)))
    assert site.page.resources[1].mime == "image/png"
    assert [(one.id, one.what, one.wanted) for one in told.deviations] == [("one", "mime", rubbish)]


def test_addresses_of_fonts_may_contain_brackets_wherever_they_are_asked_for(tmp_path: Path) -> None:
    made = {"kind": "font", "size_bytes": 900, "path": "/a(1)'.woff2"}
    of_script = resource("late", **made, found_by="app", found_when="complete")
    _, site = made_in(tmp_path, page(5000, resource("app", "script", 900), of_script))
    assert """'url("'+u+'")'""" in text(site, "html") + text(site, "app")
    (tmp_path / "styled").mkdir()
    of_style = resource("late", **made, found_by="css", found_when="complete")
    _, site = made_in(tmp_path / "styled", page(5000, resource("css", "stylesheet", 900), of_style))
    assert """url("/a(1)'.woff2")""" in text(site, "css")


def test_the_plan_of_a_document_without_room_lies_in_its_script(tmp_path: Path) -> None:
    calls = [
        resource(f"x{number}", "xhr", 50, found_by="app", found_when="complete", delay_ms=number) for number in range(9)
    ]
    made, site = made_in(tmp_path, page(130, resource("app", "script", 3000), *calls))
    assert not made.deviations
    assert "/x8" in text(site, "app")
    assert "/x8" not in text(site, "html")


def test_what_a_page_has_no_room_to_ask_for_is_told(tmp_path: Path) -> None:
    made, _ = made_in(tmp_path, page(60, *(resource(f"r{number}", "image", 200) for number in range(9))))
    assert {one.made for one in made.deviations} == {"never asked for"}
    assert "r0" not in {one.id for one in made.deviations}, "the first still fits"


def test_what_chromium_cannot_do_is_told(tmp_path: Path) -> None:
    made, _ = made_in(
        tmp_path,
        page(
            5000,
            resource("image", "image", 500, chromium_priority="VeryHigh"),
            resource("style", "stylesheet", 500, incremental=True),
        ),
    )
    assert [(one.id, one.what, one.wanted, one.made) for one in made.deviations] == [
        ("image", "priority", "VeryHigh", "High"),
        ("style", "incremental", "yes", "no"),
    ]


def test_the_folder_is_as_before_if_making_it_is_interrupted(tmp_path: Path) -> None:
    def interrupt(made_bytes: int, total_bytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synthesise(page(5000, resource("one", "image", 500)), tmp_path / "site", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_page_too_large_to_be_written_is_refused_before_anything_is(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="of bodies"):
        synthesise(page(5000, resource("film", "media", 2_000_000_000)), tmp_path / "site")
    assert list(tmp_path.iterdir()) == []


def test_connections_are_those_of_all_that_its_scripts_and_frames_ask_for(tmp_path: Path) -> None:
    inside = {"found_by": "frame", "found_when": "bytes"}
    _, site = made_in(
        tmp_path,
        page(
            5000,
            resource("data", "xhr", 80, host=2),
            resource("frame", "document", 900, host=1),
            resource("image", "image", 500, host=1, **inside),
            resource("font", "font", 500, host=0, **inside),
        ),
    )
    assert expected_connections(site).count == 4, "with and without credentials, of the page and of the frame"


def test_frames_of_the_pages_own_site_take_no_connection_of_their_own(tmp_path: Path) -> None:
    wanted = page(
        5000,
        resource("frame", "document", 900, host=1),
        resource("image", "image", 500, host=1, found_by="frame", found_when="bytes"),
    )
    made = synthesise(wanted, tmp_path / "site", hosts=["www.shop.test", "img.shop.test"])
    assert expected_connections(load_site(made.target)).count == 1


def test_names_and_facts_of_the_site_can_be_chosen(tmp_path: Path) -> None:
    made = synthesise(
        page(5000, resource("one", "image", 500, host=1)),
        tmp_path / "site",
        name="shop",
        hosts=["shop.test", "img.test"],
        facts={"title": "A shop", "licence": "MIT"},
    )
    manifest = json.loads((made.target / "page.json").read_text())
    assert (manifest["name"], manifest["title"], manifest["licence"]) == ("shop", "A shop", "MIT")
    assert manifest["hosts"] == ["shop.test", "img.test"]
