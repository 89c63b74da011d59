"""Contents that come out of packages, npm's and Debian's: which ones a recipe takes, and where their files are."""

from __future__ import annotations

import shutil
from pathlib import Path

from mixedsched.errors import SiteError
from mixedsched.sites._contents import ContentsCopier
from mixedsched.sites._debian import debian_files, other_versions
from mixedsched.sites._debian_tree import unpack
from mixedsched.sites._packages import package_version
from mixedsched.sites._recipe import DebianContents, NpmContents, Recipe


def copy_contents(recipe: Recipe, contents: NpmContents | DebianContents, packages_dir: Path, www: Path) -> None:
    """Copy what a recipe's page reaches into the folder www.

    packages_dir: the node_modules of the recipes; Debian packages are kept beside it. Raises SiteError, and
    MissingPartError if a package or the tool that unpacks it is not there.
    """
    if isinstance(contents, NpmContents):
        ContentsCopier(recipe, contents, packages_dir.joinpath, www).copy()
        return
    tree = www.parent / "unpacked"
    files = debian_files(contents.packages, packages_dir.parent)

    def folder_of(package: str) -> Path:
        return tree if package == contents.package else packages_dir / package

    try:
        unpack(files, tree, contents.unpack)
        ContentsCopier(recipe, contents, folder_of, www).copy()
    except SiteError as error:
        if others := other_versions(files, packages_dir.parent):
            raise SiteError(f"{error}", why=others, fix="adapt its site.toml to what these packages hold") from error
        raise
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def package_versions(contents: NpmContents | DebianContents, packages_dir: Path) -> dict[str, str]:
    """The packages that a recipe takes files from, with their versions. Raises MissingPartError for an absent one."""
    others = {rule.package for rule in contents.rewrite if rule.package}
    if isinstance(contents, NpmContents):
        return {name: package_version(packages_dir, name) for name in sorted({contents.package, *others})}
    files = debian_files(contents.packages, packages_dir.parent)
    return {
        **{file.name: file.version for file in files},
        **{name: package_version(packages_dir, name) for name in sorted(others - {contents.package})},
    }


def source_of(recipe: Recipe, packages_dir: Path) -> str:
    """Where a site's contents are from, for people: with the version where the recipe cannot know it."""
    if not isinstance(recipe.recipe, DebianContents):
        return recipe.source
    (main,) = debian_files([recipe.recipe.package], packages_dir.parent)
    return f"{recipe.source} {main.version}"
