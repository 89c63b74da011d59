"""The stand-ins for the eight sites of Gupta and Bartos, and recipes of synthetic sites as such."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.making import Recipe, build, list_recipes
from mixedsched.sites.making._recipe import StatisticsContents
from mixedsched.sites.site import Site
from tests.sites.folders import RECIPES, recipe_text, write_files

IN_THEIR_ORDER = ["wikipedia", "w3", "apache", "apple", "statcounter", "etsy", "nytimes", "amazon"]
ALL = {recipe.name: recipe for recipe in list_recipes(RECIPES) if recipe.name.startswith("gupta2024/")}
STATISTICS = """kind = "statistics"
size_class = "small"
mix_source = "made up"
[recipe.page]
resources = 3
body_bytes = 9000
source = "made up"
[recipe.kinds]
document = { resources = 1, body_bytes = 4000 }
image = { resources = 2, body_bytes = 5000, assumed = ["body_bytes"] }
"""
PAGE = {
    "format": "mixedsched.page/1",
    "name": "mine",
    "resources": [
        {"id": "html", "path": "/", "kind": "document", "mime": "text/html", "body_bytes": 3000, "flags": ["main"]},
        {
            "id": "a.png",
            "path": "/a.png",
            "kind": "image",
            "mime": "image/png",
            "body_bytes": 5000,
            "found_by": "html",
            "found_when": "bytes",
            "found_at_bytes": 900,
        },
    ],
}


def contents_of(recipe: Recipe) -> StatisticsContents:
    assert isinstance(recipe.recipe, StatisticsContents)
    return recipe.recipe


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Site]:
    folder = tmp_path_factory.mktemp("sites")
    return {name: build(recipe, folder, folder / "node_modules") for name, recipe in ALL.items()}


def test_they_are_listed_in_the_order_of_the_paper_which_is_that_of_their_size() -> None:
    assert list(ALL) == [f"gupta2024/{name}" for name in IN_THEIR_ORDER]
    counts = [contents_of(recipe).page.resources for recipe in ALL.values()]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("recipe", ALL.values(), ids=ALL)
def test_each_says_that_it_is_a_stand_in_and_what_was_assumed(recipe: Recipe) -> None:
    assert "Synthetic stand-in" in recipe.description
    assert "not the site" in recipe.description
    contents = contents_of(recipe)
    assert contents.assumptions
    if "no measurement" in recipe.source:
        assert {"page.resources", "page.body_bytes"} <= set(contents.assumed())


@pytest.mark.slow
def test_their_sizes_are_exact(sites: dict[str, Site]) -> None:
    for name, site in sites.items():
        wanted = contents_of(ALL[name])
        assert len(site.page.resources) == wanted.page.resources
        for kind, amount in wanted.kinds.items():
            of_kind = [item for item in site.page.resources if item.kind is kind]
            assert len(of_kind) == amount.resources
            assert sum(site.files[item.host, item.path].stat().st_size for item in of_kind) == amount.body_bytes


@pytest.mark.slow
def test_they_are_sites_like_all_others(sites: dict[str, Site]) -> None:
    for name, site in sites.items():
        assert site.name == name
        assert site.url == f"https://{name.removeprefix('gupta2024/')}-stand-in.test/"
        assert expected_connections(site).count <= 2  # with a web app manifest, which travels without credentials


def test_a_page_description_beside_its_recipe_becomes_a_site(tmp_path: Path) -> None:
    text = recipe_text(contents='kind = "synth"\n', head='[[responses]]\nmatch = "/a.png"\ndelay_ms = 5\n')
    files = {"shop/site.toml": text, "shop/page.json": json.dumps(PAGE)}
    (recipe,) = list_recipes(write_files(tmp_path / "recipes", files))
    site = build(recipe, tmp_path / "build", tmp_path)
    assert (site.name, site.title, site.hosts) == ("shop", "T", ("shop.test",))
    assert [item.body_bytes for item in site.page.resources] == [3000, 5000]
    assert site.settings[0, "/a.png"].delay_ms == 5


def test_a_changed_page_description_is_built_again(tmp_path: Path) -> None:
    files = {"shop/site.toml": recipe_text(contents='kind = "synth"\n'), "shop/page.json": json.dumps(PAGE)}
    (recipe,) = list_recipes(write_files(tmp_path / "recipes", files))
    build(recipe, tmp_path / "build", tmp_path)
    changed = json.dumps(PAGE).replace("5000", "6000")
    write_files(tmp_path / "recipes", {"shop/page.json": changed})
    assert build(recipe, tmp_path / "build", tmp_path).page.resources[1].body_bytes == 6000


@pytest.mark.parametrize("text", [None, "{", json.dumps({**PAGE, "resources": []})])
def test_a_missing_or_bad_page_description_is_an_error_of_the_site(tmp_path: Path, text: str | None) -> None:
    files = {"shop/site.toml": recipe_text(contents='kind = "synth"\n'), **({"shop/page.json": text} if text else {})}
    (recipe,) = list_recipes(write_files(tmp_path / "recipes", files))
    with pytest.raises(SiteError, match=r"page\.json"):
        build(recipe, tmp_path / "build", tmp_path)


def test_numbers_alone_make_a_site(tmp_path: Path) -> None:
    text = recipe_text(contents=STATISTICS)
    (recipe,) = list_recipes(write_files(tmp_path / "recipes", {"shop/site.toml": text}))
    page = build(recipe, tmp_path / "build", tmp_path).page
    assert sum(item.body_bytes for item in page.resources if item.kind is Kind.IMAGE) == 5000
    assert list(contents_of(recipe).assumed()) == ["image.body_bytes"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("resources = 3", "resources = 4", "resources of the kinds are 3 together, those of the page 4"),
        ('"small"', '"huge"', "size_class is one of small, medium, large, not 'huge'"),
        ("body_bytes = 5000", "body_bytes = 1", "each has at least one"),
        ("document = {", "font = {", "at least one document"),
        ('source = "made up"', 'source = ""', "source"),
        ("image = {", "picture = {", "picture"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = STATISTICS.replace(old, new)
    if "body_bytes = 1," in text:
        text = text.replace("9000", "4001")
    folder = write_files(tmp_path, {"shop/site.toml": recipe_text(contents=text)})
    with pytest.raises(SiteError, match=words):
        list_recipes(folder)


def test_a_recipe_in_a_group_is_named_with_it(tmp_path: Path) -> None:
    text = recipe_text("mine/shop", contents=STATISTICS).replace("mine/shop.test", "shop.test")
    (recipe,) = list_recipes(write_files(tmp_path / "recipes", {"mine/shop/site.toml": text}))
    assert build(recipe, tmp_path / "build", tmp_path).root == tmp_path / "build/mine/shop/www"
    write_files(tmp_path / "recipes", {"mine/shop/site.toml": text.replace("mine/shop", "shop")})
    with pytest.raises(SiteError, match="name it 'mine/shop'"):
        list_recipes(tmp_path / "recipes")


def test_folders_that_can_be_no_group_are_left_alone(tmp_path: Path) -> None:
    assert not list_recipes(write_files(tmp_path, {"node_modules/theme/site.toml": "no recipe"}))


def test_no_recipe_holds_recorded_pages() -> None:
    for path in RECIPES.glob("gupta2024/*/*"):
        assert path.name == "site.toml"
        assert "resources" not in tomllib.loads(path.read_text())


@pytest.mark.parametrize(
    ("name", "work_ms", "late_shift"), [("wikipedia", 300, 0), ("etsy", 3000, 0.05), ("amazon", 1500, 0.09)]
)
def test_variants_with_work_are_the_same_pages_otherwise(name: str, work_ms: float, late_shift: float) -> None:
    recipes = {recipe.name: recipe for recipe in list_recipes(RECIPES)}
    plain, busy = (contents_of(recipes[f"{group}/{name}"]).read("page", 1) for group in ("gupta2024", "gupta2024-work"))
    assert sum(item.work_ms for item in busy.resources) == pytest.approx(work_ms, abs=len(busy.resources))
    assert sum(item.late_shift for item in busy.resources) == pytest.approx(late_shift, abs=0.001)
    same = [item.model_copy(update={"work_ms": 0.0, "late_shift": 0.0}) for item in busy.resources]
    assert same == list(plain.resources)
