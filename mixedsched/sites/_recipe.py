"""Recipes: how a shipped site is made (format `mixedsched.site/1`, files sites/<name>/site.toml, <name> maybe in a group)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mixedsched.errors import SiteError
from mixedsched.sites._recipe_pages import PageContents, StatisticsContents
from mixedsched.sites._references import Scripted
from mixedsched.sites._responses import ResponseRule, read_rules
from mixedsched.sites._served import Origins

SITE_FORMAT = "mixedsched.site/1"
RECIPE_NAME = "site.toml"


def _inside(path: str) -> str:
    """Refuse a path that would leave the folder it is relative to."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise ValueError(f"'{path}' is no path inside the package")
    return path


_SEGMENT = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
InsidePath = Annotated[str, AfterValidator(_inside)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rewrite(_Strict):
    """A reference that gets a local file instead.

    match: the reference as written, or its beginning with * at the end. package: where the file is, by default the
    recipe's own. file: relative to the package. files: several style sheets of one folder, joined into one.
    """

    match: str = Field(min_length=1)
    package: InsidePath | None = None
    file: InsidePath | None = None
    files: tuple[InsidePath, ...] = ()

    @model_validator(mode="after")
    def _names_what_it_gives(self) -> Self:
        if (self.file is None) == (not self.files):
            raise ValueError(f"the rewrite of '{self.match}' needs either file or files")
        if len({PurePosixPath(file).parent for file in self.files}) > 1:
            raise ValueError(f"the files for '{self.match}' must lie in one folder, for their own references' sake")
        return self


class Drop(_Strict):
    """A reference the lab does without. why: what is lost."""

    match: str = Field(min_length=1)
    why: str = Field(min_length=1)


class _PackagedContents(_Strict):
    """A page taken out of packages.

    root: folder in the package that is the site's root. index: its page. include: patterns of files that may be asked for
    though no text names them. scripted: those of them that a load does ask for.
    hero, above_fold, not_loaded: patterns of request paths, see Hints.
    """

    package: InsidePath = Field(min_length=1)
    root: InsidePath = "."
    index: InsidePath = "index.html"
    rewrite: tuple[Rewrite, ...] = ()
    drop: tuple[Drop, ...] = ()
    include: tuple[InsidePath, ...] = ()
    hero: tuple[str, ...] = ()
    above_fold: tuple[str, ...] = ()
    not_loaded: tuple[str, ...] = ()
    scripted: tuple[Scripted, ...] = ()


class NpmContents(_PackagedContents):
    """Contents from a pinned npm package."""

    kind: Literal["npm"]


DebianName = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9.+-]*$")]


class DebianContents(_PackagedContents):
    """Contents from a Debian package. Files are named as they would be installed: usr/share/doc/...

    beside: further packages that are unpacked into the same tree, as the first one's links point to their files.
    unpack: patterns of the files of the first one that are enough (default: all), matched from the end folder by folder,
    as in "html/*.css".
    """

    kind: Literal["debian"]
    package: DebianName
    beside: tuple[DebianName, ...] = ()
    unpack: tuple[str, ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """All packages that must be there."""
        return (self.package, *self.beside)


class SyntheticContents(_Strict):
    """The generated test page of Davies and Meenan."""

    kind: Literal["davies-meenan"]


class ThreeHostsContents(_Strict):
    """The generated page whose style sheet, fonts, scripts and images are on hosts of their own."""

    kind: Literal["three-hosts"]


Contents = NpmContents | DebianContents | SyntheticContents | ThreeHostsContents | PageContents | StatisticsContents


class Recipe(_Strict):
    """A site that can be built.

    name: the folder's path below `sites`, which may be in a group: `gupta2024/etsy`. place: among those of its group, if
    that is not by name. hosts: several for generated pages only. origins, connections: as in Site. responses: what it sets for
    responses, status, think time and the like. text: the recipe file as read, part of the build's fingerprint. folder: its own.
    """

    format: Literal["mixedsched.site/1"]
    name: str = Field(pattern=f"^{_SEGMENT}(/{_SEGMENT})?$")
    place: int = 0
    title: str = Field(min_length=1)
    description: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    source: str = Field(min_length=1)
    hosts: tuple[str, ...] = Field(min_length=1)
    origins: Origins = Origins.KEEP
    connections: int | None = Field(default=None, ge=1)
    entry: str = Field(default="/", pattern="^/")
    recipe: Annotated[Contents, Field(discriminator="kind")]
    responses: tuple[ResponseRule, ...] = ()
    text: str = Field(default="", exclude=True, repr=False)
    folder: Path = Field(default=Path(), exclude=True, repr=False)

    @model_validator(mode="after")
    def _has_as_many_hosts_as_contents(self) -> Self:
        if isinstance(self.recipe, PageContents | StatisticsContents):
            return self
        wanted = 3 if self.recipe.kind == "three-hosts" else 1
        if len(self.hosts) != wanted:
            raise ValueError(f"contents of kind '{self.recipe.kind}' are for {wanted} host{'s'[: wanted - 1]}")
        return self

    @classmethod
    def from_file(cls, path: Path, group: str = "") -> Self:
        """Read sites/<name>/site.toml, or sites/<group>/<name>/site.toml. Raises SiteError."""
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text)
        except OSError as error:
            raise SiteError(f"recipe {path} cannot be read", why=error.strerror or str(error)) from error
        except (ValueError, RecursionError) as error:  # TOML and UTF-8 alike; tables nested too deeply
            raise SiteError(f"recipe {path} is not TOML", why=str(error)) from error
        if unknown := next((key for key in ("text", "folder") if key in data), None):
            raise SiteError(f"recipe {path} has an unknown key '{unknown}'", fix="take it out")
        try:
            rules = read_rules(data.get("responses", []), f"recipe {path}")
            recipe = cls.model_validate({**data, "responses": rules, "text": text, "folder": path.parent})
        except ValidationError as error:
            reasons = "; ".join(
                f"{'.'.join(str(step) for step in finding['loc'])}: {finding['msg'].removeprefix('Value error, ')}"
                for finding in error.errors(include_url=False)
            )
            raise SiteError(f"recipe {path} is refused", why=reasons) from error
        wanted = f"{group}/{path.parent.name}" if group else path.parent.name
        if recipe.name != wanted:
            raise SiteError(
                f"recipe {path} has the name '{recipe.name}'",
                why="a recipe is found by its folder",
                fix=f"name it '{wanted}' or rename the folder",
            )
        return recipe


def list_recipes(recipes_dir: Path) -> list[Recipe]:
    """All recipes of a folder, by name, each group's in its own order. Raises SiteError for the first bad one.

    A folder without a recipe of its own is a group of recipes if its name could be one's.
    """
    recipes = [Recipe.from_file(path) for path in recipes_dir.glob(f"*/{RECIPE_NAME}")]
    for path in recipes_dir.glob(f"*/*/{RECIPE_NAME}"):
        group = path.parent.parent
        if re.fullmatch(_SEGMENT, group.name) and not (group / RECIPE_NAME).exists():
            recipes.append(Recipe.from_file(path, group.name))
    return sorted(recipes, key=lambda recipe: (recipe.name.rpartition("/")[0], recipe.place, recipe.name))
