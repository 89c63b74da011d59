"""Recipes: how a shipped site is made (format `mixedsched.site/1`, files sites/<name>/site.toml, <name> maybe in a group)."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mixedsched.errors import PageError, SiteError
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Flag, Kind
from mixedsched.model.toml_file import parse_toml, wrong_keys
from mixedsched.sites.documents.references import Scripted
from mixedsched.sites.generate import KindTotal, Totals, distributions, generate_page
from mixedsched.sites.site import MANIFEST_NAME, Origins
from mixedsched.sites.site.responses import ResponseRule, read_rules

RECIPE_NAME = "site.toml"

_SEGMENT = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(f"{_SEGMENT}(/{_SEGMENT})?")


def _inside(path: str) -> str:
    """Refuse a path that would leave the folder it is relative to."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise ValueError(f"'{path}' is not a path inside the package")
    return path


InsidePath = Annotated[str, AfterValidator(_inside)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rewrite(_Table):
    """A reference that gets a local file instead."""

    match: str = Field(min_length=1)  # the reference as written, or its beginning with * at the end
    package: InsidePath | None = None  # where the file is; by default the recipe's own
    file: InsidePath | None = None  # relative to the package
    files: tuple[InsidePath, ...] = ()  # several style sheets of one folder, joined into one

    @model_validator(mode="after")
    def _names_what_it_gives(self) -> Self:
        if (self.file is None) == (not self.files):
            raise ValueError(f"the rewrite of '{self.match}' needs either file or files")
        if len({PurePosixPath(file).parent for file in self.files}) > 1:
            raise ValueError(f"the files for '{self.match}' must lie in one folder, for their own references' sake")
        return self


class Drop(_Table):
    """A reference the lab does without."""

    match: str = Field(min_length=1)
    why: str = Field(min_length=1)  # and what is lost


class _PackagedContents(_Table):
    """A page taken out of packages."""

    package: InsidePath = Field(min_length=1)
    root: InsidePath = "."  # folder in the package that is the site's root
    index: InsidePath = "index.html"  # the page, in the root
    rewrite: tuple[Rewrite, ...] = ()
    drop: tuple[Drop, ...] = ()
    include: tuple[InsidePath, ...] = ()  # patterns of files that may be asked for though no text names them
    scripted: tuple[Scripted, ...] = ()  # those of them that a load does ask for
    # Patterns of request paths, see Hints.
    hero: tuple[str, ...] = ()
    above_fold: tuple[str, ...] = ()
    not_loaded: tuple[str, ...] = ()


class NpmContents(_PackagedContents):
    """Contents from a pinned npm package."""

    kind: Literal["npm"]


DebianName = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9.+-]*$")]


class DebianContents(_PackagedContents):
    """Contents from a Debian package. Files are named as they would be installed: usr/share/doc/..."""

    kind: Literal["debian"]
    package: DebianName
    # Further packages that are unpacked into the same tree, as the first one's links point to their files.
    beside: tuple[DebianName, ...] = ()
    # Patterns of the files of the first one that are enough (default: all), matched from the end folder by folder, as in
    # "html/*.css".
    unpack: tuple[str, ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """All packages that must be there."""
        return (self.package, *self.beside)


class SyntheticContents(_Table):
    """The generated test page of Davies and Meenan."""

    kind: Literal["davies-meenan"]


class ThreeHostsContents(_Table):
    """The generated page whose style sheet, fonts, scripts and images are on hosts of their own."""

    kind: Literal["three-hosts"]


class PageContents(_Table):
    """A page description beside the recipe, made into files."""

    kind: Literal["synth"]
    page: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")] = MANIFEST_NAME  # its file

    def text(self, folder: Path) -> str:
        """The description as it stands. Raises SiteError."""
        try:
            return (folder / self.page).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SiteError(
                f"page {folder / self.page} cannot be read", why=str(error), fix="put it beside site.toml"
            ) from error

    def read(self, folder: Path) -> Page:
        """The page. Raises SiteError."""
        try:
            return Page.from_json(self.text(folder), str(folder / self.page))
        except PageError as error:
            raise SiteError(error.what, why=error.why, fix=error.fix) from error


class Amount(_Table):
    """How many resources there are of a kind, and how many bytes they have together on the wire."""

    resources: int = Field(ge=1)
    body_bytes: int = Field(ge=1)
    assumed: frozenset[Literal["resources", "body_bytes"]] = frozenset()  # which of the two no source tells
    source: str = ""  # where they are from, or why they were assumed so


class Behaviour(_Table):
    """What a page does behind its first paint."""

    script_work_ms: float = Field(default=0.0, ge=0.0, le=60_000)  # of all scripts together, shared by their bytes
    late_shift: float = Field(default=0.0, ge=0.0, le=0.5)  # of the first screen's images but the hero, alike
    source: str = Field(min_length=1)  # where that is from, or why it was assumed

    def given_to(self, page: Page) -> Page:
        """The page with it."""
        scripts = [item for item in page.resources if item.kind is Kind.SCRIPT]
        script_bytes = sum(item.body_bytes for item in scripts) or 1
        images = [item for item in page.resources if item.kind is Kind.IMAGE and Flag.ABOVE_FOLD in item.flags]
        shifting = {item.id for item in images if Flag.HERO not in item.flags}

        def changed(item: Resource) -> Resource:
            work_ms = round(self.script_work_ms * item.body_bytes / script_bytes) if item.kind is Kind.SCRIPT else 0
            shift = round(self.late_shift / len(shifting), 5) if item.id in shifting else 0.0
            return item.model_copy(update={"work_ms": float(work_ms), "late_shift": shift})

        return page.model_copy(update={"resources": tuple(map(changed, page.resources))})


class StatisticsContents(_Table):
    """What is known of a page, by numbers. All else is drawn from the distributions of a size class."""

    kind: Literal["statistics"]
    size_class: str
    seed: int = 1
    page: Amount  # of the whole page; kinds add up to it
    kinds: dict[Kind, Amount]
    mix_source: str = Field(min_length=1)  # where the shares of the kinds are from
    main_bytes: int | None = None  # of the main document, where there are more documents than that
    assumptions: tuple[str, ...] = ()  # in words, what else was assumed
    behaviour: Behaviour | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.size_class not in distributions().classes:
            raise ValueError(f"size_class is one of {', '.join(distributions().classes)}, not '{self.size_class}'")
        for what in ("resources", "body_bytes"):
            total, parts = getattr(self.page, what), sum(getattr(item, what) for item in self.kinds.values())
            if total != parts:
                raise ValueError(f"{what} of the kinds are {parts} together, those of the page {total}")
        if not self.page.source:
            raise ValueError("page.source must say where its numbers are from")
        self._totals(hosts=1)
        return self

    def _totals(self, hosts: int) -> Totals:
        """The numbers as the generator takes them. Raises ValueError if no page can have them."""
        kinds = {kind: KindTotal(item.resources, item.body_bytes) for kind, item in self.kinds.items()}
        return Totals(kinds, self.main_bytes, hosts)

    def read(self, name: str, hosts: int) -> Page:
        """The page."""
        page = generate_page(self.size_class, self.seed, totals=self._totals(hosts), name=name)
        return page if self.behaviour is None else self.behaviour.given_to(page)

    def assumed(self) -> Iterator[str]:
        """All that was assumed, by field, as `script.resources`."""
        for name, amount in (("page", self.page), *self.kinds.items()):
            yield from (f"{name}.{field}" for field in sorted(amount.assumed))


Contents = NpmContents | DebianContents | SyntheticContents | ThreeHostsContents | PageContents | StatisticsContents


class Recipe(_Table):
    """A site that can be built."""

    format: Literal["mixedsched.site/1"]
    name: str = Field(pattern=f"^{_NAME.pattern}$")  # the folder's path below `sites`, as in `gupta2024/etsy`
    place: int = 0  # among those of its group, if that is not by name
    title: str = Field(min_length=1)
    description: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    source: str = Field(min_length=1)
    hosts: tuple[str, ...] = Field(min_length=1)  # several for generated pages only
    # As in Site.
    origins: Origins = Origins.KEEP
    connections: int | None = Field(default=None, ge=1)
    entry: str = Field(default="/", pattern="^/")
    recipe: Annotated[Contents, Field(discriminator="kind")]
    responses: tuple[ResponseRule, ...] = ()
    # The recipe file as read, part of the build's fingerprint, and the folder it is in.
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
        origin = f"recipe {path}"
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise SiteError(f"{origin} cannot be read", why=error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise SiteError(f"{origin} is not TOML", why=str(error)) from error
        data = parse_toml(text, origin, SiteError)
        if unknown := next((key for key in ("text", "folder") if key in data), None):
            raise SiteError(f"{origin} has an unknown key '{unknown}'", fix="take it out")
        try:
            rules = read_rules(data.get("responses", []), origin)
            recipe = cls.model_validate({**data, "responses": rules, "text": text, "folder": path.parent})
        except ValidationError as error:
            raise SiteError(f"{origin} is refused", why=wrong_keys(error)) from error
        wanted = f"{group}/{path.parent.name}" if group else path.parent.name
        if recipe.name != wanted:
            raise SiteError(
                f"{origin} has the name '{recipe.name}'",
                why="a recipe is found by its folder",
                fix=f"name it '{wanted}' or rename the folder",
            )
        return recipe


def find_recipe(recipes_dir: Path, name: str) -> Recipe | None:
    """The recipe of that name, without reading any other; None if there is none. Raises SiteError if it is bad."""
    file = recipes_dir / name / RECIPE_NAME
    try:
        is_there = _NAME.fullmatch(name) is not None and file.is_file()
    except OSError:  # it is too long for a name
        is_there = False
    if not is_there:
        return None
    group = name.rpartition("/")[0]
    return None if group and (recipes_dir / group / RECIPE_NAME).exists() else Recipe.from_file(file, group)


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
