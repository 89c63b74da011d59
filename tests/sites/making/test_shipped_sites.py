"""The sites we ship, built for real from their packages.

npm's are pinned and fetched; of Debian's, small ones are fetched where there is apt-get, and large ones are taken if they
are there already: `make sites` fetches them all.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.making import Recipe, build, fetch_contents, list_recipes, merged
from mixedsched.sites.making._debian import debian_files
from mixedsched.sites.making._recipe import DebianContents
from mixedsched.sites.site import Site
from mixedsched.sites.synth.pictures import pad_jpeg, pad_png
from mixedsched.sites.synth.texts import pad_text
from tests.sites.folders import RECIPES

pytestmark = pytest.mark.slow  # real contents are read and built

GENERATED = ["davies-meenan", "three-hosts"]
NPM = ["admin-lte", "agency", "argon", "paper-kit", "sb-admin"]
DEBIAN = ["apache-manual", "kicad-schematics", "pandas-plotting", "rust-std", "sphinx-theming"]
NAMES = [*GENERATED, *NPM, *DEBIAN]
LOCK = json.loads((RECIPES / "debian-lock.json").read_text())["packages"]
SMALL_DOWNLOAD_BYTES = 5_000_000

Sites = Callable[[str], Site]


@pytest.fixture(scope="module")
def site_named(tmp_path_factory: pytest.TempPathFactory, packages_dir: Path) -> Sites:
    """site_named(name) builds a site at its first call."""
    build_dir = tmp_path_factory.mktemp("sites")
    recipes = {recipe.name: recipe for recipe in list_recipes(RECIPES)}

    @cache
    def site_of(name: str) -> Site:
        fetch_or_skip(recipes[name])
        return build(recipes[name], build_dir, packages_dir)

    return site_of


def fetch_or_skip(recipe: Recipe) -> None:
    """Get a recipe's Debian packages if that is cheap; skip the test where they cannot be had."""
    contents = recipe.recipe
    if not isinstance(contents, DebianContents):
        return
    try:
        if sum(LOCK[name]["size_bytes"] for name in contents.packages) > SMALL_DOWNLOAD_BYTES:
            debian_files(contents.packages, RECIPES)
        fetch_contents(recipe, RECIPES)
    except (MissingPartError, SiteError) as error:
        pytest.skip(f"{recipe.name} cannot be built here: {error}")


def test_all_recipes_of_real_and_test_pages_are_known_here() -> None:
    assert {recipe.name for recipe in list_recipes(RECIPES) if "/" not in recipe.name} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_site_says_where_it_is_from(site_named: Sites, name: str) -> None:
    site = site_named(name)
    assert site.url == f"https://{name}.test/"
    assert site.title
    assert site.description
    assert site.licence
    assert site.source


@pytest.mark.parametrize(
    ("name", "resources", "wire_kb", "fonts", "hero"),
    [
        ("apache-manual", 11, 76, 0, None),
        ("sphinx-theming", 22, 461, 0, None),
        ("rust-std", 18, 615, 7, None),
        ("admin-lte", 42, 794, 9, None),
        ("argon", 38, 1707, 7, None),
        ("pandas-plotting", 95, 3174, 2, None),
        ("kicad-schematics", 203, 4661, 3, None),
        ("sb-admin", 21, 297, 4, None),
        ("agency", 31, 1635, 3, "/assets/img/header-bg.jpg"),
        ("paper-kit", 36, 4743, 5, "/assets/img/clouds.png"),
        ("davies-meenan", 36, 3478, 1, "/visible.jpg"),
        ("three-hosts", 20, 1048, 2, "/hero.jpg"),
    ],
)
def test_pages_have_the_size_their_descriptions_promise(
    site_named: Sites, name: str, resources: int, wire_kb: int, fonts: int, hero: str | None
) -> None:
    page = site_named(name).page
    if name in DEBIAN and not as_recorded(name):
        pytest.skip("this release has another version of it")
    assert len(page.resources) == resources
    # zlib builds differ in a few bytes
    assert sum(item.body_bytes for item in page.resources) / 1000 == pytest.approx(wire_kb, rel=0.005)
    assert sum(item.kind is Kind.FONT for item in page.resources) == fonts
    assert [item.path for item in page.resources if Flag.HERO in item.flags] == ([hero] if hero else [])


def as_recorded(name: str) -> bool:
    """Whether the packages of a Debian recipe are of the versions that it was made with."""
    recipe = next(item for item in list_recipes(RECIPES) if item.name == name)
    assert isinstance(recipe.recipe, DebianContents)
    files = debian_files(recipe.recipe.packages, RECIPES)
    return all(LOCK[file.name]["version"] == file.version for file in files)


@pytest.mark.parametrize("name", DEBIAN)
def test_every_debian_package_is_recorded(name: str) -> None:
    recipe = next(item for item in list_recipes(RECIPES) if item.name == name)
    assert isinstance(recipe.recipe, DebianContents)
    for package in recipe.recipe.packages:
        assert LOCK[package].keys() == {"version", "size_bytes", "sha256"}


@pytest.mark.parametrize("name", NAMES)
def test_compressed_files_are_valid_and_worth_it(site_named: Sites, name: str) -> None:
    site = site_named(name)
    for key in site.encodings:
        body = site.files[key].read_bytes()
        assert gzip.decompress(body)
        assert body[4:8] == bytes(4), "no time of day in a build"


def test_agency_priorities_are_those_that_chromium_asks_with(site_named: Sites) -> None:
    by_path = {item.path: item.chromium_priority for item in site_named("agency").page.resources}
    images = [f"/assets/img/portfolio/{number}.jpg" for number in range(1, 7)]
    assert [by_path[path] for path in images] == [ChromiumPriority.MEDIUM] * 4 + [ChromiumPriority.LOW] * 2
    assert by_path["/assets/img/header-bg.jpg"] is ChromiumPriority.LOW, (
        "a background: nobody knows yet that it is seen"
    )
    assert by_path["/js/scripts.js"] is ChromiumPriority.MEDIUM


def test_style_sheets_that_do_not_apply_are_asked_for_last(site_named: Sites) -> None:
    sheets = [item for item in site_named("apache-manual").page.resources if item.kind is Kind.STYLESHEET]
    idle = {"/style/css/manual-loose-100pc.css", "/style/css/manual-print.css"}  # a choice of the reader, and for print
    assert {item.path for item in sheets if item.chromium_priority is ChromiumPriority.VERY_LOW} == idle
    assert {item.path for item in sheets if Flag.CRITICAL not in item.flags} == idle


def test_links_between_debian_packages_lead_to_files(site_named: Sites) -> None:
    site = site_named("sphinx-theming")
    words = {"/_static/doctools.js": b"Sphinx"}  # of libjs-sphinxdoc
    if as_recorded("sphinx-theming"):
        words["/_static/jquery.js"] = b"jQuery"  # from there on to libjs-jquery; later versions do without it
    by_path = {path.partition("?")[0]: file for (_, path), file in site.files.items()}  # later versions add a query
    for path, word in words.items():
        assert word in gzip.decompress(by_path[path].read_bytes()), path
    assert all(file.resolve().is_relative_to(site.root.resolve()) for file in site.files.values())


DAVIES_MEENAN = {
    "/": 3379,
    "/top.js": 50034,
    **{f"/hidden.jpg?{number}": 105302 for number in range(1, 31)},
    "/background.png": 48631,
    "/striped.woff2": 12052,
    "/visible.jpg": 104484,
    "/bottom.js": 100036,
}


def test_davies_meenan_has_the_published_sizes_and_request_order(site_named: Sites) -> None:
    site = site_named("davies-meenan")
    assert [(item.path, item.body_bytes) for item in site.page.resources] == list(DAVIES_MEENAN.items())
    assert sum(item.body_bytes for item in site.page.resources) == 3_477_676
    assert sum(-(-item.body_bytes // 1400) for item in site.page.resources) == 2510, "packets of the original"
    assert not site.encodings, "nothing travels compressed there"


@pytest.mark.parametrize(("name", "size_px"), [("hidden.jpg", (600, 400)), ("visible.jpg", (600, 450))])
def test_davies_meenan_photographs_decode_and_are_hardly_padded(
    site_named: Sites, name: str, size_px: tuple[int, int]
) -> None:
    body = (site_named("davies-meenan").root / name).read_bytes()
    image = Image.open(io.BytesIO(body))
    image.load()
    assert (image.format, image.size) == ("JPEG", size_px)
    assert len(image.info.get("comment", b"")) < 0.03 * len(body)


def test_davies_meenan_background_and_font_decode(site_named: Sites) -> None:
    root = site_named("davies-meenan").root
    with Image.open(root / "background.png") as image:
        image.load()
    with TTFont(root / "striped.woff2") as font:
        assert set(map(ord, "Who goes first?")) <= set(font.getBestCmap())


def test_davies_meenan_discovery_follows_the_published_table(site_named: Sites) -> None:
    page = site_named("davies-meenan").page
    found = {item.path: (item.found_by, item.found_when) for item in page.resources}
    assert found["/top.js"] == found["/hidden.jpg?30"] == ("html", "bytes")
    assert found["/background.png"] == found["/striped.woff2"] == ("html", "complete")
    assert found["/visible.jpg"] == found["/bottom.js"] == ("top.js", "complete")
    assert {item.path for item in page.resources if item.is_above_fold} == {"/", "/striped.woff2", "/visible.jpg"}


def test_davies_meenan_is_the_same_on_every_build(site_named: Sites, tmp_path: Path, packages_dir: Path) -> None:
    recipe = next(item for item in list_recipes(RECIPES) if item.name == "davies-meenan")
    again = build(recipe, tmp_path, packages_dir)
    for path in again.root.iterdir():
        assert path.read_bytes() == (site_named("davies-meenan").root / path.name).read_bytes()


def test_three_hosts_has_its_style_scripts_and_fonts_on_other_hosts(site_named: Sites) -> None:
    site = site_named("three-hosts")
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
def test_one_connection_serves_each_but_the_one_of_three_hosts(site_named: Sites, name: str, tmp_path: Path) -> None:
    site = site_named(name)
    assert expected_connections(site).count == (2 if name == "three-hosts" else 1)
    whole = merged(site, tmp_path)
    assert expected_connections(whole).count == 1
    assert whole.notes == ()


def test_three_hosts_says_when_its_resources_are_found(site_named: Sites) -> None:
    site = site_named("three-hosts")
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


def test_what_no_page_needs_is_not_fetched() -> None:
    """Packages name build tools, and libraries that they carry along: with these, npm would fetch hundreds more."""
    packages = json.loads((RECIPES / "package-lock.json").read_text())["packages"]
    wanted = json.loads((RECIPES / "package.json").read_text())["dependencies"]
    assert packages.keys() == {"", *(f"node_modules/{name}" for name in wanted)}


@pytest.mark.parametrize(("kind", "pad", "least"), [("JPEG", pad_jpeg, 4), ("PNG", pad_png, 20)])
@given(data=st.data())
def test_a_picture_can_be_padded_to_any_larger_size(
    kind: str, pad: Callable[[bytes, int], bytes], least: int, data: st.DataObject
) -> None:
    out = io.BytesIO()
    Image.new("L", (8, 8)).save(out, kind)
    size_bytes = len(out.getvalue()) + data.draw(st.integers(least, 200_000))
    padded = pad(out.getvalue(), size_bytes)
    assert len(padded) == size_bytes
    Image.open(io.BytesIO(padded)).load()


@pytest.mark.parametrize("pad", [pad_jpeg, pad_png])
def test_nothing_can_be_padded_to_less(pad: object) -> None:
    with pytest.raises(ValueError, match="cannot be padded"):
        pad(b"x" * 50, 49)  # type: ignore[operator]
    with pytest.raises(ValueError, match="cannot be padded"):
        pad_text("x" * 50, "/*", "*/", 53)
