"""Packages and recipes for the tests of sites, made up and real."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mixedsched.sites.making import Recipe, fetch_packages
from tests.sites.folders import RECIPES, Files, recipe_text, write_files


@pytest.fixture
def package(tmp_path: Path) -> Callable[..., Path]:
    """package(name, files) puts an npm package into a node_modules, which it returns."""

    def put(name: str, files: Files, version: str = "1.0.0") -> Path:
        packages = tmp_path / "node_modules"
        write_files(packages / name, {**files, "package.json": json.dumps({"name": name, "version": version})})
        return packages

    return put


@pytest.fixture
def recipe(tmp_path: Path) -> Callable[[str], Recipe]:
    """recipe(lines) reads a recipe for package "theme" with these lines in its [recipe] table."""

    def read(lines: str = "") -> Recipe:
        text = recipe_text(contents=f'kind = "npm"\npackage = "theme"\n{lines}')
        write_files(tmp_path, {"recipes/shop/site.toml": text})
        return Recipe.from_file(tmp_path / "recipes/shop/site.toml")

    return read


@pytest.fixture(scope="session")
def packages_dir() -> Path:
    """The real third-party contents."""
    return fetch_packages(RECIPES)
