"""Recipes of kind "debian": built from small packages, as the shipped ones are from real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.making import Recipe, build, list_recipes
from mixedsched.sites.making._debian import debian_folder
from mixedsched.sites.site import Site
from tests.sites.folders import page, recipe_text, write_files
from tests.sites.making.debs import make_deb, needs_dpkg, write_lock

pytestmark = needs_dpkg

HTML = page('<link rel="stylesheet" href="../style.css"><script src="../_static/j.js"></script>', '<img src="a.png">')
GUIDE = {
    "usr/doc/en/start.html": HTML,
    "usr/doc/en/a.png": b"png",
    "usr/doc/style.css": "a{}",
    "usr/doc/x.svg": "<svg/>",
}
LINKS = {"usr/doc/_static": "/usr/js"}
RECIPE = 'kind = "debian"\npackage = "guide"\nbeside = ["library"]\nroot = "usr/doc"\nindex = "en/start.html"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of recipes whose Debian packages have been downloaded and recorded."""
    packages = debian_folder(tmp_path)
    packages.mkdir()
    guide = make_deb(packages, "guide", {**GUIDE, "usr/doc/en/start.html": HTML.replace("a.png", "/en/a.png")}, LINKS)
    write_lock(tmp_path, guide, make_deb(packages, "library", {"usr/js/j.js": "run()"}))
    return tmp_path


def recipe(folder: Path, more: str = "") -> Recipe:
    write_files(folder, {"shop/site.toml": recipe_text(contents=RECIPE + more)})
    return Recipe.from_file(folder / "shop/site.toml")


def built(folder: Path, more: str = "") -> Site:
    return build(recipe(folder, more), folder / "build", folder / "node_modules")


def test_a_page_takes_its_files_from_several_packages(folder: Path) -> None:
    site = built(folder, 'include = ["usr/doc/*.svg"]\n')
    kinds = {item.path: item.kind for item in site.page.resources}
    assert kinds == {
        "/": Kind.DOCUMENT,
        "/style.css": Kind.STYLESHEET,
        "/_static/j.js": Kind.SCRIPT,
        "/en/a.png": Kind.IMAGE,
    }
    assert (0, "/x.svg") in site.files
    assert not (site.root / "en/start.html").exists(), "the page itself is the entry"


def test_a_site_says_which_version_it_is_from(folder: Path) -> None:
    assert built(folder).source == "S 1.0"


def test_unpacked_packages_do_not_stay(folder: Path) -> None:
    built(folder)
    assert sorted(path.name for path in (folder / "build/shop").iterdir()) == ["fingerprint", "page.json", "www"]


def test_another_version_makes_a_new_build(folder: Path) -> None:
    script = built(folder).root / "_static/j.js"
    assert script.read_text() == "run()"
    make_deb(debian_folder(folder), "library", {"usr/js/j.js": "walk()"}, version="2.0")
    built(folder)
    assert script.read_text() == "walk()"


def test_a_version_that_lacks_a_file_is_named_as_the_likely_cause(folder: Path) -> None:
    make_deb(debian_folder(folder), "library", {"usr/js/other.js": ""}, version="2.0")
    with pytest.raises(SiteError, match=r"j\.js.*library is of version 2\.0, the recipe was made with 1\.0"):
        built(folder)
    assert not (folder / "build/shop").exists()


def test_a_package_that_is_not_there_is_an_error_with_the_remedy(folder: Path) -> None:
    (debian_folder(folder) / "library_1.0_all.deb").unlink()
    with pytest.raises(MissingPartError, match=r"'library' is not in .* \(run apt-get download library"):
        built(folder)


def test_references_may_get_files_of_npm_packages(folder: Path) -> None:
    html = page('<link rel="stylesheet" href="https://fonts.example/all.css">')
    make_deb(debian_folder(folder), "guide", {"usr/doc/en/start.html": html}, version="1.1")
    write_files(folder / "node_modules/font", {"package.json": '{"version": "3.0"}', "one.css": "b{}"})
    rule = '[[recipe.rewrite]]\nmatch = "https://fonts.example/*"\npackage = "font"\nfile = "one.css"\n'
    site = built(folder, rule)
    assert [item.path for item in site.page.resources] == ["/", "/vendor/font/one.css"]


def test_what_a_script_asks_for_is_listed_as_found_by_it(folder: Path) -> None:
    site = built(folder, 'scripted = [{ path = "/x.svg", by = "/_static/j.js", kind = "image" }]\n')
    last = site.page.resources[-1]
    assert (last.path, last.kind, last.found_by, last.found_when) == ("/x.svg", Kind.IMAGE, "_static/j.js", "complete")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('path = "/x.svg", by = "/style.css", kind = "image"', "has no script '/style.css'"),
        ('path = "/x.svg", by = "/absent.js", kind = "image"', "has no script '/absent.js'"),
        ('path = "/en/a.png", by = "/_static/j.js", kind = "image"', "spells it out already"),
        ('path = "/absent.svg", by = "/_static/j.js", kind = "image"', "does not exist"),
        ('path = "/../../etc/passwd", by = "/_static/j.js", kind = "image"', "not a path inside"),
        ('path = "/x.svg", by = "/_static/j.js", kind = "picture"', "kind"),
    ],
)
def test_a_wrong_entry_of_scripted_is_refused(folder: Path, entry: str, why: str) -> None:
    with pytest.raises(SiteError, match=why):
        built(folder, f"scripted = [{{ {entry} }}]\n")


@pytest.mark.parametrize("name", ["../guide", "Guide", "guide=1.0", "-o", ""])
def test_a_package_name_is_one_of_debians(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {"shop/site.toml": recipe_text(contents=f'kind = "debian"\npackage = "{name}"\n')})
    with pytest.raises(SiteError, match=r"recipe\.debian\.package"):
        list_recipes(tmp_path)
