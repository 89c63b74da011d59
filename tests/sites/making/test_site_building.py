"""From recipe to site: copying, rewriting, compressing, analysing; all or nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.model.request import Flag
from mixedsched.sites.making import Recipe, build, fetch_packages, find_recipe, list_recipes
from mixedsched.sites.site import Site
from tests.sites.folders import recipe_text, write_files

PACKAGE = Callable[..., Path]
RECIPE = Callable[[str], Recipe]


def paths(site: Site) -> list[str]:
    return [item.path for item in site.page.resources]


def test_only_what_the_page_reaches_is_copied(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package(
        "theme",
        {
            "index.html": '<link rel=stylesheet href="css/a.css?v=2"><img src="img/a.png"><link rel=icon href="i.ico">',
            "css/a.css": "@import 'b.css';p{background:url(../img/b.png)}",
            "css/b.css": "@font-face{font-family:x;src:url(f.eot);src:url(f.woff2)}",
            "css/f.woff2": "font",
            "css/f.eot": "old",
            "img/a.png": "a",
            "img/b.png": "b",
            "img/c.png": "c",
            "i.ico": "i",
        },
    )
    site = build(recipe(""), tmp_path / "build", packages)
    assert paths(site) == ["/", "/css/a.css?v=2", "/img/a.png", "/css/b.css", "/img/b.png", "/css/f.woff2"]
    assert {path for _host, path in site.files} == {*paths(site), "/i.ico"}
    assert not (site.root / "img/c.png").exists()
    assert not (site.root / "css/f.eot").exists()


def test_text_travels_as_gzip_and_counts_with_its_compressed_size(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    html = "<p>hello</p>" * 500 + '<img src="a.png">'
    site = build(recipe(""), tmp_path / "build", package("theme", {"index.html": html, "a.png": "png"}))
    sent = site.files[0, "/"].read_bytes()
    assert gzip.decompress(sent).decode() == html
    assert site.encodings == {(0, "/"): "gzip"}
    assert site.page.main.body_bytes == len(sent) < len(html)
    image = site.page.by_path()[0, "/a.png"]
    assert 0.95 * len(sent) < image.found_at_bytes <= len(sent), "it stands at the end of the text"


def test_a_page_without_icon_gets_one_so_that_no_request_fails(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    site = build(recipe(""), tmp_path / "build", package("theme", {"index.html": "hi"}))
    assert (0, "/favicon.ico") in site.files
    assert paths(site) == ["/"]


def test_an_external_reference_becomes_a_local_copy_with_what_it_needs(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    package("icons", {"css/i.css": "@font-face{src:url(../f/i.woff2?v=1)}", "f/i.woff2": "font"})
    packages = package("theme", {"index.html": '<link rel=stylesheet href="//cdn.example/icons.css">'})
    rule = '[[recipe.rewrite]]\nmatch = "//cdn.example/*"\npackage = "icons"\nfile = "css/i.css"\n'
    site = build(recipe(rule), tmp_path / "build", packages)
    assert paths(site) == ["/", "/vendor/icons/css/i.css", "/vendor/icons/f/i.woff2?v=1"]
    assert b"cdn.example" not in gzip.decompress(site.files[0, "/"].read_bytes())


def test_several_style_sheets_are_joined_into_one(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    faces = {f"{weight}.css": f"@font-face{{font-weight:{weight};src:url(f/{weight}.woff2)}}" for weight in (400, 700)}
    package("@f/font", {**faces, "f/400.woff2": "4", "f/700.woff2": "7"})
    packages = package("theme", {"index.html": '<link rel=stylesheet href="https://fonts.example/css?a&amp;b">'})
    rule = '[[recipe.rewrite]]\nmatch = "https://fonts.example/css?a&b"\npackage = "@f/font"\nfiles = ["400.css", "700.css"]\n'
    site = build(recipe(rule), tmp_path / "build", packages)
    assert paths(site)[1:] == [
        "/vendor/@f/font/400_700.css",
        "/vendor/@f/font/f/400.woff2",
        "/vendor/@f/font/f/700.woff2",
    ]


def test_a_dropped_reference_is_gone(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package("theme", {"index.html": '<script src="https://x.example/track.js"></script>hi'})
    rule = '[[recipe.drop]]\nmatch = "https://x.example/track.js"\nwhy = "tracking"\n'
    site = build(recipe(rule), tmp_path / "build", packages)
    assert paths(site) == ["/"]
    assert b"script" not in gzip.decompress(site.files[0, "/"].read_bytes())


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("index.html", '<script src="https://x.example/a"></script>'),
        ("index.html", '<script src="//x.example/a"></script>'),
        ("index.html", '<p style="background:url(http://x.example/a)">'),
        ("index.html", '<img srcset="https://x.example/a 2x">'),
        ("index.html", '<link rel=icon href="https://x.example/a">'),
        ("index.html", '<iframe srcdoc="<img src=//x.example/a>"></iframe>'),
        ("a.css", "@import url(//x.example/a);"),
        ("a.css", "@font-face{src:url(https://x.example/a) format('woff')}"),
    ],
)
def test_an_unresolved_external_reference_is_named_with_its_file(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE, file: str, text: str
) -> None:
    packages = package("theme", {"index.html": '<link rel=stylesheet href="a.css">', "a.css": "", file: text})
    with pytest.raises(SiteError, match=rf"//x\.example/a in theme/{file}") as caught:
        build(recipe(""), tmp_path / "build", packages)
    assert "recipe.rewrite" in caught.value.fix
    assert not (tmp_path / "build/shop").exists()
    assert list((tmp_path / "build").iterdir()) == [], "nothing half-done stays"


def test_a_missing_file_is_named(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package("theme", {"index.html": '<img src="gone.png">'})
    with pytest.raises(SiteError, match=r"gone\.png"):
        build(recipe(""), tmp_path / "build", packages)
    site = build(recipe('not_loaded = ["/gone.png"]'), tmp_path / "build", packages)
    assert paths(site) == ["/"]


def test_a_rule_that_matches_nothing_is_refused(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package("theme", {"index.html": "hi"})
    with pytest.raises(SiteError, match=r"match nothing: https://old\.example"):
        build(recipe('[[recipe.drop]]\nmatch = "https://old.example"\nwhy = "x"\n'), tmp_path / "build", packages)


def test_files_that_scripts_load_are_included_but_not_part_of_the_page(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    packages = package("theme", {"index.html": "hi", "data/a.json": "{}"})
    site = build(recipe('include = ["data/*.json"]'), tmp_path / "build", packages)
    assert site.encodings[0, "/data/a.json"] == "gzip"
    assert paths(site) == ["/"]
    with pytest.raises(SiteError, match="matches no file"):
        build(recipe('include = ["none/*"]'), tmp_path / "build", packages)


def test_a_packaged_link_out_of_its_package_is_refused(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package("theme", {"index.html": '<img src="key.png">'})
    (tmp_path / "secret").write_text("x")
    (packages / "theme/key.png").symlink_to(tmp_path / "secret")
    with pytest.raises(SiteError, match="leads out of"):
        build(recipe(""), tmp_path / "build", packages)


def test_hints_become_flags(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    html = '<img src="hero.jpg"><img src="logo.png"><img src="foot.png">'
    packages = package("theme", {"index.html": html, "hero.jpg": "x", "logo.png": "x", "foot.png": "x"})
    site = build(recipe('hero = ["/hero.jpg"]\nabove_fold = ["/logo.*"]'), tmp_path / "build", packages)
    assert [set(item.flags) for item in site.page.resources[1:]] == [
        {Flag.HERO, Flag.ABOVE_FOLD},
        {Flag.ABOVE_FOLD},
        set(),
    ]


def test_images_of_style_attributes_wait_for_the_style_sheets_of_the_head(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    html = '<head><link rel=stylesheet href=a.css></head><p style="background:url(b.png)">'
    site = build(recipe(""), tmp_path / "build", package("theme", {"index.html": html, "a.css": "p{}", "b.png": "x"}))
    image = site.page.by_path()[0, "/b.png"]
    assert (image.found_by, image.found_when) == ("a.css", "complete")


def test_an_up_to_date_build_is_kept_and_an_outdated_one_is_replaced(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    told: list[str] = []
    packages = package("theme", {"index.html": "one"})
    build(recipe(""), tmp_path / "build", packages, told.append)
    build(recipe(""), tmp_path / "build", packages, told.append)
    assert len(told) == 1
    package("theme", {"index.html": "two!"}, version="1.0.1")
    site = build(recipe(""), tmp_path / "build", packages, told.append)
    assert gzip.decompress(site.files[0, "/"].read_bytes()) == b"two!"
    build(recipe('above_fold = ["/x"]'), tmp_path / "build", packages, told.append)
    assert len(told) == 3
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["shop"]


def gone(site: Path) -> None:
    (site / "www/index.html.gz").unlink()


def cut(site: Path) -> None:
    (site / "www/index.html.gz").write_bytes(b"")


def half_written(site: Path) -> None:
    (site / "page.json").write_text("{")


def without_manifest(site: Path) -> None:
    (site / "page.json").unlink()


def illegible(site: Path) -> None:
    (site / "fingerprint").write_bytes(b"\xff")


def replaced_by_a_file(site: Path) -> None:
    site.rename(site.with_name("moved"))
    site.write_text("no folder")


@pytest.mark.parametrize("damage", [gone, cut, half_written, without_manifest, illegible, replaced_by_a_file])
def test_a_damaged_build_is_built_again(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE, damage: Callable[[Path], None]
) -> None:
    told: list[str] = []
    packages = package("theme", {"index.html": "one"})
    build(recipe(""), tmp_path / "build", packages)
    damage(tmp_path / "build/shop")
    site = build(recipe(""), tmp_path / "build", packages, told.append)
    assert gzip.decompress(site.files[0, "/"].read_bytes()) == b"one"
    assert told == ["building site shop"]


def test_a_build_folder_that_cannot_be_written_is_told(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package("theme", {"index.html": "one"})
    write_files(tmp_path, {"taken": "a file"})
    with pytest.raises(SiteError, match="cannot be written"):
        build(recipe(""), tmp_path / "taken", packages)


def test_hints_to_other_hosts_need_no_rule_as_they_load_nothing(
    tmp_path: Path, package: PACKAGE, recipe: RECIPE
) -> None:
    html = '<link rel=preconnect href="https://x.example"><link rel=dns-prefetch href="//x.example">'
    html += '<link rel=apple-touch-icon href="//x.example/i.png"><style>@font-face{src:url(//x.example/a.eot)}</style>'
    site = build(recipe(""), tmp_path / "build", package("theme", {"index.html": html}))
    assert paths(site) == ["/"]


def test_the_same_recipe_gives_the_same_bytes(tmp_path: Path, package: PACKAGE, recipe: RECIPE) -> None:
    packages = package("theme", {"index.html": '<img src="a.png">', "a.png": "x"})
    first, second = (build(recipe(""), tmp_path / name, packages) for name in ("one", "two"))
    for path in first.root.parent.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (second.root.parent / path.relative_to(first.root.parent)).read_bytes()


def test_a_package_that_is_not_installed_is_named_with_the_remedy(tmp_path: Path, recipe: RECIPE) -> None:
    with pytest.raises(MissingPartError, match=r"'theme'.*npm ci"):
        build(recipe(""), tmp_path / "build", tmp_path / "node_modules")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format = ", "is not TOML"),
        (recipe_text().replace("site/1", "site/2"), "format"),
        (recipe_text(name="other"), "found by its folder"),
        (recipe_text(head='surprise = "x"'), "surprise"),
        (recipe_text(contents='kind = "ftp"\n'), "ftp"),
        (recipe_text(contents='kind = "npm"\n'), "package"),
        (recipe_text(contents='kind = "npm"\npackage = "theme"\nroot = "../.."\n'), "not a path inside the package"),
        (
            recipe_text(contents='kind = "npm"\npackage = "theme"\nindex = "/etc/passwd"\n'),
            "not a path inside the package",
        ),
        (
            recipe_text(
                contents='kind = "npm"\npackage = "theme"\n[[recipe.rewrite]]\nmatch = "x"\nfile = "a/../../x"\n'
            ),
            "not a path inside the package",
        ),
        (
            recipe_text(contents='kind = "npm"\npackage = "theme"\n[[recipe.rewrite]]\nmatch = "x"\n'),
            "either file or files",
        ),
        (recipe_text(contents='kind = "npm"\npackage = "theme"\n[[recipe.drop]]\nmatch = "x"\n'), "why"),
    ],
)
def test_a_bad_recipe_is_refused_with_the_reason(tmp_path: Path, text: str, words: str) -> None:
    write_files(tmp_path, {"shop/site.toml": text})
    with pytest.raises(SiteError, match=words):
        list_recipes(tmp_path)


@pytest.mark.parametrize("package_name", ["../secret", "/etc", "..", "a/../../b"])
def test_a_package_name_cannot_lead_out_of_the_packages(tmp_path: Path, package_name: str) -> None:
    write_files(tmp_path, {"shop/site.toml": recipe_text(contents=f'kind = "npm"\npackage = "{package_name}"\n')})
    with pytest.raises(SiteError, match="not a path inside"):
        list_recipes(tmp_path)


def test_packages_are_not_fetched_again_when_the_lock_file_is_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = json.dumps({"packages": {"": {"name": "x"}, "node_modules/theme": {"version": "1.0.0"}}})
    write_files(tmp_path, {"package-lock.json": lock, "node_modules/.package-lock.json": lock})
    monkeypatch.setenv("PATH", "")
    assert fetch_packages(tmp_path) == tmp_path / "node_modules"


def test_without_npm_missing_packages_are_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"package-lock.json": json.dumps({"packages": {"node_modules/theme": {"version": "1.0.0"}}})})
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPartError, match="npm is missing"):
        fetch_packages(tmp_path)


def test_a_lock_file_is_demanded(tmp_path: Path) -> None:
    with pytest.raises(MissingPartError, match=r"no readable package-lock\.json"):
        fetch_packages(tmp_path)


THREE_HOSTS = """hosts = ["shop.test", "cdn.test", "fonts.test"]
origins = "merge"
connections = 1

[recipe]
kind = "three-hosts"
"""


def test_a_recipe_says_what_becomes_of_its_hosts(tmp_path: Path) -> None:
    text = recipe_text(contents="").replace('hosts = ["shop.test"]\n\n[recipe]\n', THREE_HOSTS)
    write_files(tmp_path, {"recipes/shop/site.toml": text})
    site = build(Recipe.from_file(tmp_path / "recipes/shop/site.toml"), tmp_path / "build", tmp_path)
    assert (site.origins, site.connections, len(site.hosts)) == ("merge", 1, 3)


@pytest.mark.parametrize(("hosts", "kind"), [('"a.test", "b.test"', "davies-meenan"), ('"a.test"', "three-hosts")])
def test_contents_are_for_so_many_hosts(tmp_path: Path, hosts: str, kind: str) -> None:
    text = recipe_text(contents=f'kind = "{kind}"\n').replace('"shop.test"', hosts)
    write_files(tmp_path, {"recipes/shop/site.toml": text})
    with pytest.raises(SiteError, match=f"contents of kind '{kind}' are for"):
        Recipe.from_file(tmp_path / "recipes/shop/site.toml")


def test_a_recipe_is_found_by_its_name_without_reading_the_others(tmp_path: Path) -> None:
    files = {"shop/site.toml": recipe_text(), "bad/site.toml": "x =", "shop/within/site.toml": recipe_text("within")}
    recipes = write_files(tmp_path / "recipes", {**files, "site.toml": recipe_text()})
    found = find_recipe(recipes, "shop")
    assert found is not None
    assert found.name == "shop"
    assert [find_recipe(recipes, name) for name in ("shop/within", "nosuch", "", ".", "../recipes/shop")] == [None] * 5
    with pytest.raises(SiteError, match="not TOML"):
        find_recipe(recipes, "bad")
