"""The sites we ship, built for real from their pinned packages."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mixedsched.request import ChromiumPriority, Flag, Kind
from mixedsched.sites import Site, build, expected_connections, list_recipes, merged
from mixedsched.sites._padding import pad_jpeg, pad_png, pad_text
from tests.sites.folders import RECIPES

NAMES = ["agency", "davies-meenan", "paper-kit", "sb-admin", "three-hosts"]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory, packages_dir: Path) -> dict[str, Site]:
    build_dir = tmp_path_factory.mktemp("sites")
    return {recipe.name: build(recipe, build_dir, packages_dir) for recipe in list_recipes(RECIPES)}


def test_every_recipe_builds(sites: dict[str, Site]) -> None:
    assert sorted(sites) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_site_says_where_it_is_from(sites: dict[str, Site], name: str) -> None:
    site = sites[name]
    assert site.url == f"https://{name}.test/"
    assert site.title
    assert site.description
    assert site.licence
    assert site.source


@pytest.mark.parametrize(
    ("name", "resources", "wire_kb", "fonts", "hero"),
    [
        ("sb-admin", 21, 297, 4, None),
        ("agency", 31, 1635, 3, "/assets/img/header-bg.jpg"),
        ("paper-kit", 36, 4743, 5, "/assets/img/antoine-barres.jpg"),
        ("davies-meenan", 36, 3478, 1, "/visible.jpg"),
        ("three-hosts", 20, 1048, 2, "/hero.jpg"),
    ],
)
def test_pages_have_the_size_their_descriptions_promise(
    sites: dict[str, Site], name: str, resources: int, wire_kb: int, fonts: int, hero: str | None
) -> None:
    page = sites[name].page
    assert len(page.resources) == resources
    # zlib builds differ in a few bytes
    assert sum(item.body_bytes for item in page.resources) / 1000 == pytest.approx(wire_kb, rel=0.005)
    assert sum(item.kind is Kind.FONT for item in page.resources) == fonts
    assert [item.path for item in page.resources if Flag.HERO in item.flags] == ([hero] if hero else [])


@pytest.mark.parametrize("name", NAMES)
def test_compressed_files_are_valid_and_worth_it(sites: dict[str, Site], name: str) -> None:
    site = sites[name]
    for key in site.encodings:
        body = site.files[key].read_bytes()
        assert gzip.decompress(body)
        assert body[4:8] == bytes(4), "no time of day in a build"


def test_agency_priorities_are_those_that_chromium_asks_with(sites: dict[str, Site]) -> None:
    by_path = {item.path: item.chromium_priority for item in sites["agency"].page.resources}
    images = [f"/assets/img/portfolio/{number}.jpg" for number in range(1, 7)]
    assert [by_path[path] for path in images] == [ChromiumPriority.MEDIUM] * 4 + [ChromiumPriority.LOW] * 2
    assert by_path["/assets/img/header-bg.jpg"] is ChromiumPriority.LOW, (
        "a background: nobody knows yet that it is seen"
    )
    assert by_path["/js/scripts.js"] is ChromiumPriority.MEDIUM


DAVIES_MEENAN = {
    "/": 3379,
    "/top.js": 50034,
    **{f"/hidden.jpg?{number}": 105302 for number in range(1, 31)},
    "/background.png": 48631,
    "/striped.woff2": 12052,
    "/visible.jpg": 104484,
    "/bottom.js": 100036,
}


def test_davies_meenan_has_the_published_sizes_and_request_order(sites: dict[str, Site]) -> None:
    site = sites["davies-meenan"]
    assert [(item.path, item.body_bytes) for item in site.page.resources] == list(DAVIES_MEENAN.items())
    assert sum(item.body_bytes for item in site.page.resources) == 3_477_676
    assert sum(-(-item.body_bytes // 1400) for item in site.page.resources) == 2510, "packets of the original"
    assert not site.encodings, "nothing travels compressed there"


@pytest.mark.parametrize(("name", "size_px"), [("hidden.jpg", (600, 400)), ("visible.jpg", (600, 450))])
def test_davies_meenan_photographs_decode_and_are_hardly_padded(
    sites: dict[str, Site], name: str, size_px: tuple[int, int]
) -> None:
    body = (sites["davies-meenan"].root / name).read_bytes()
    image = Image.open(io.BytesIO(body))
    image.load()
    assert (image.format, image.size) == ("JPEG", size_px)
    assert len(image.info.get("comment", b"")) < 0.03 * len(body)


def test_davies_meenan_background_and_font_decode(sites: dict[str, Site]) -> None:
    root = sites["davies-meenan"].root
    with Image.open(root / "background.png") as image:
        image.load()
    with TTFont(root / "striped.woff2") as font:
        assert set(map(ord, "Who goes first?")) <= set(font.getBestCmap())


def test_davies_meenan_discovery_follows_the_published_table(sites: dict[str, Site]) -> None:
    page = sites["davies-meenan"].page
    found = {item.path: (item.found_by, item.found_when) for item in page.resources}
    assert found["/top.js"] == found["/hidden.jpg?30"] == ("html", "bytes")
    assert found["/background.png"] == found["/striped.woff2"] == ("html", "complete")
    assert found["/visible.jpg"] == found["/bottom.js"] == ("top.js", "complete")
    assert {item.path for item in page.resources if item.is_above_fold} == {"/", "/striped.woff2", "/visible.jpg"}


def test_davies_meenan_is_the_same_on_every_build(sites: dict[str, Site], tmp_path: Path, packages_dir: Path) -> None:
    recipe = next(item for item in list_recipes(RECIPES) if item.name == "davies-meenan")
    again = build(recipe, tmp_path, packages_dir)
    for path in again.root.iterdir():
        assert path.read_bytes() == (sites["davies-meenan"].root / path.name).read_bytes()


def test_three_hosts_has_its_style_scripts_and_fonts_on_other_hosts(sites: dict[str, Site]) -> None:
    site = sites["three-hosts"]
    kinds_by_host = [{item.kind for item in site.page.resources if item.host == host} for host in range(3)]
    assert kinds_by_host == [
        {Kind.DOCUMENT, Kind.IMAGE},
        {Kind.STYLESHEET, Kind.SCRIPT, Kind.IMAGE},
        {Kind.STYLESHEET, Kind.FONT},
    ]
    assert sum(item.chromium_priority is ChromiumPriority.MEDIUM for item in site.page.resources) == 6, (
        "five hurried images, and the late script"
    )


@pytest.mark.parametrize("name", NAMES)
def test_one_connection_serves_each_but_the_one_of_three_hosts(
    sites: dict[str, Site], name: str, tmp_path: Path
) -> None:
    site = sites[name]
    assert expected_connections(site).count == (2 if name == "three-hosts" else 1)
    whole = merged(site, tmp_path)
    assert expected_connections(whole).count == 1
    assert whole.notes == ()


def test_three_hosts_says_when_its_resources_are_found(sites: dict[str, Site]) -> None:
    site = sites["three-hosts"]
    html = site.files[0, "/"].read_text()
    for item in site.page.resources:
        if item.found_when == "bytes":
            assert html[: item.found_at_bytes].endswith(f'{item.path}"'), item.id
    fonts = [item for item in site.page.resources if item.kind is Kind.FONT]
    assert {item.found_by for item in fonts} == {"style.css"}


def test_the_lock_file_pins_exact_versions_and_no_address() -> None:
    wanted = json.loads((RECIPES / "package.json").read_text())["dependencies"]
    lock = (RECIPES / "package-lock.json").read_text()
    packages = json.loads(lock)["packages"]
    assert '"resolved"' not in lock
    assert all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items())
    assert all("integrity" in entry for folder, entry in packages.items() if folder)


@given(extra=st.integers(4, 200_000))
def test_a_jpeg_can_be_padded_to_any_larger_size(extra: int) -> None:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "JPEG")
    padded = pad_jpeg(out.getvalue(), len(out.getvalue()) + extra)
    assert len(padded) == len(out.getvalue()) + extra
    Image.open(io.BytesIO(padded)).load()


@given(extra=st.integers(20, 5_000))
def test_a_png_can_be_padded_to_any_larger_size(extra: int) -> None:
    out = io.BytesIO()
    Image.new("L", (8, 8)).save(out, "PNG")
    padded = pad_png(out.getvalue(), len(out.getvalue()) + extra)
    assert len(padded) == len(out.getvalue()) + extra
    Image.open(io.BytesIO(padded)).load()


@pytest.mark.parametrize("pad", [pad_jpeg, pad_png])
def test_nothing_can_be_padded_to_less(pad: object) -> None:
    with pytest.raises(ValueError, match="cannot be padded"):
        pad(b"x" * 50, 49)  # type: ignore[operator]
    with pytest.raises(ValueError, match="cannot be padded"):
        pad_text("x" * 50, "/*", "*/", 53)
