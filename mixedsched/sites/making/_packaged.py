"""Contents that come out of packages, npm's and Debian's: fetched when they are not there, copied with references rewritten."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.references import DROP, Reference, ReferenceRole, decoded
from mixedsched.sites.making._debian import debian_files, fetch_debian, other_versions, unpack
from mixedsched.sites.making._recipe import DebianContents, Drop, NpmContents, Recipe, Rewrite
from mixedsched.sites.site.paths import External, Local, confined, is_confined, matches_any, resolve, url_of_file
from mixedsched.world.npm import install_packages, packages_are_current


def fetch_contents(recipe: Recipe, sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> Path:
    """Fetch the packages that building this recipe takes, unless they are there; return the folder that `build` wants.

    sites_dir: with the lock files; packages are added to it. Raises MissingPartError without the package manager or if npm
    fails, SiteError if apt-get fails.
    """
    contents = recipe.recipe
    if isinstance(contents, DebianContents):
        fetch_debian(contents.packages, sites_dir, progress)
    borrows = isinstance(contents, DebianContents) and any(rule.package for rule in contents.rewrite)
    if isinstance(contents, NpmContents) or borrows:
        fetch_packages(sites_dir, progress)
    return sites_dir / "node_modules"


def fetch_packages(sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> Path:
    """Install the pinned packages unless they are installed; return the folder that holds them.

    No script of a package runs. Raises MissingPartError without npm or a lock file, and if npm fails.
    """
    if not packages_are_current(sites_dir):
        progress(f"fetching the sites' contents with npm ci into {sites_dir}")
        install_packages(sites_dir)
    return sites_dir / "node_modules"


def package_versions(contents: NpmContents | DebianContents, packages_dir: Path) -> dict[str, str]:
    """The packages that a recipe takes files from, with their versions. Raises MissingPartError for an absent one."""
    names = {rule.package for rule in contents.rewrite if rule.package}
    versions = {}
    if isinstance(contents, DebianContents):
        versions = {file.name: file.version for file in debian_files(contents.packages, packages_dir.parent)}
        names.discard(contents.package)
    else:
        names.add(contents.package)
    return {**versions, **{name: _npm_version(packages_dir, name) for name in sorted(names)}}


def _npm_version(packages_dir: Path, package: str) -> str:
    try:
        return str(json.loads((packages_dir / package / "package.json").read_bytes())["version"])
    except (OSError, ValueError, KeyError) as error:
        raise MissingPartError(
            f"the npm package '{package}' is not in {packages_dir}",
            why="contents of sites are fetched, not shipped",
            fix=f"run npm ci in {packages_dir.parent}",
        ) from error


_PACKAGES_FOLDER = "vendor"  # in the site; below it, package and file keep their names


def copy_contents(recipe: Recipe, contents: NpmContents | DebianContents, packages_dir: Path, www: Path) -> None:
    """Copy what a recipe's page reaches into the folder www.

    packages_dir: the node_modules of the recipes; Debian packages are kept beside it. Raises SiteError, and
    MissingPartError if a package or the tool that unpacks it is not there.
    """
    if isinstance(contents, NpmContents):
        _ContentsCopier(recipe, contents, packages_dir.joinpath, www).copy()
        return
    tree = www.parent / "unpacked"
    files = debian_files(contents.packages, packages_dir.parent)

    def folder_of(package: str) -> Path:
        return tree if package == contents.package else packages_dir / package

    try:
        unpack(files, tree, contents.unpack)
        _ContentsCopier(recipe, contents, folder_of, www).copy()
    except SiteError as error:
        if others := other_versions(files, packages_dir.parent):
            raise SiteError(
                f"{error}", why=others, fix="adapt its site.toml to the contents of these packages"
            ) from error
        raise
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def source_of(recipe: Recipe, packages_dir: Path) -> str:
    """The source of a site's contents, for people: with the version where the recipe cannot know it."""
    if not isinstance(recipe.recipe, DebianContents):
        return recipe.source
    (main,) = debian_files([recipe.recipe.package], packages_dir.parent)
    return f"{recipe.source} {main.version}"


class _ContentsCopier:
    """Copies one recipe's contents into a www folder.

    A file of the recipe's package keeps its place below the recipe's root; one of another package, or from outside that
    root, lands in vendor/PACKAGE/. folder_of: where the files of a package are.
    """

    def __init__(
        self, recipe: Recipe, contents: NpmContents | DebianContents, folder_of: Callable[[str], Path], www: Path
    ) -> None:
        self._recipe = recipe
        self._contents = contents
        self._folder_of = folder_of
        self._www = www
        self._waiting: list[tuple[str, str]] = []  # (package, file in it)
        self._copied: dict[str, tuple[str, str]] = {}  # file in www -> where it is from
        self._used: set[str] = set()
        self._unresolved: list[str] = []

    def copy(self) -> None:
        """Copy the index page and all it reaches. Raises SiteError for references without a rule, and unused rules."""
        index = (PurePosixPath(self._contents.root) / self._contents.index).as_posix()
        self._copy_file(self._contents.package, index, default_page=self._recipe.entry)
        self._copy_included()
        while self._waiting:
            package, file = self._waiting.pop(0)
            self._copy_file(package, file)
        if self._unresolved:
            raise SiteError(
                f"site '{self._recipe.name}' refers to other hosts: {'; '.join(self._unresolved)}",
                why="a lab site must be complete: nothing is fetched from other hosts",
                fix="add a [[recipe.rewrite]] or a [[recipe.drop]] for each",
            )
        rules: Sequence[Rewrite | Drop] = (*self._contents.rewrite, *self._contents.drop)
        if unused := [rule.match for rule in rules if rule.match not in self._used]:
            raise SiteError(
                f"site '{self._recipe.name}' has rules that match nothing: {', '.join(unused)}",
                fix="correct their match, or take them out",
            )

    def _copy_included(self) -> None:
        package_dir = self._folder_of(self._contents.package)
        for pattern in self._contents.include:
            files = sorted(path for path in package_dir.glob(pattern) if path.is_file())
            if not files:
                raise SiteError(f"site '{self._recipe.name}': include '{pattern}' matches no file of the package")
            self._waiting += [(self._contents.package, path.relative_to(package_dir).as_posix()) for path in files]
        for item in self._contents.scripted:
            self._waiting.append(self._origin_of(Local(0, item.path).file, Local(0, self._recipe.entry).file))

    def _place(self, package: str, file: str) -> str:
        """The place of a package's file in www."""
        pure, root = PurePosixPath(file), PurePosixPath(self._contents.root)
        if package == self._contents.package and pure.is_relative_to(root):
            return pure.relative_to(root).as_posix()
        return f"{_PACKAGES_FOLDER}/{package}/{file}"

    def _copy_file(self, package: str, file: str, default_page: str | None = None) -> None:
        place = self._place(package, file)
        if default_page is not None:
            place = Local(0, default_page).file
        if place in self._copied:
            if self._copied[place] != (package, file):
                raise SiteError(f"site '{self._recipe.name}': two files want the place '{place}'")
            return
        self._copied[place] = package, file
        origin = f"site '{self._recipe.name}': {package}/{file}"
        body = confined(self._folder_of(package), file, origin).read_bytes()
        self._write(place, self._rewritten(body, place, origin))

    def _write(self, place: str, body: bytes) -> None:
        target = self._www / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)

    def _rewritten(self, body: bytes, place: str, origin: str) -> bytes:
        """A document with its references answered; any other file, and a document without changes, as it is."""
        suffix = PurePosixPath(place).suffix.lower()
        if suffix not in {".html", ".htm", ".css"}:
            return body
        text = decoded(body)

        def visit(reference: Reference) -> str | None:
            return self._answer(reference, place, origin)

        rewritten = rewrite_css(text, visit, origin) if suffix == ".css" else rewrite_html(text, visit, origin)
        return body if rewritten == text else rewritten.encode()

    def _answer(self, reference: Reference, place: str, origin: str) -> str | None:
        """The text for the place of a reference; the file it names is queued."""
        rule = self._rule_for(reference.url)
        if isinstance(rule, Drop):
            return DROP
        if isinstance(rule, Rewrite):
            return url_of_file(self._bring(rule))
        target = resolve(reference.url, url_of_file(place), self._recipe.hosts)
        if reference.role in {ReferenceRole.SPARE, ReferenceRole.CONTACT}:
            return reference.url  # loads nothing, wherever it points
        if isinstance(target, External):
            self._unresolved.append(f"{target.url} in {origin.partition(': ')[2]}")
        elif target is not None:
            package, file = self._origin_of(target.file, place)
            absent = not is_confined(self._folder_of(package), file)
            if not (absent and matches_any(target.path, self._contents.not_loaded)):
                self._waiting.append((package, file))
        return reference.url

    def _origin_of(self, place: str, referrer: str) -> tuple[str, str]:
        """The package and file that belong at a place which the document at `referrer` refers to."""
        package = self._copied[referrer][0]
        if place.startswith(folder := f"{_PACKAGES_FOLDER}/{package}/"):
            return package, place.removeprefix(folder)
        return self._contents.package, (PurePosixPath(self._contents.root) / place).as_posix()

    def _rule_for(self, url: str) -> Rewrite | Drop | None:
        rules: Sequence[Rewrite | Drop] = (*self._contents.rewrite, *self._contents.drop)
        for rule in rules:
            begins = rule.match.endswith("*") and url.strip().startswith(rule.match[:-1])
            if begins or url.strip() == rule.match:
                self._used.add(rule.match)
                return rule
        return None

    def _bring(self, rule: Rewrite) -> str:
        """Queue the file of a rewrite, or join its style sheets; return its place in www."""
        package = rule.package or self._contents.package
        if rule.file is not None:
            self._waiting.append((package, rule.file))
            return self._place(package, rule.file)
        folder = PurePosixPath(rule.files[0]).parent
        joined = (folder / ("_".join(PurePosixPath(file).stem for file in rule.files) + ".css")).as_posix()
        place = self._place(package, joined)
        if place not in self._copied:
            self._copied[place] = package, joined
            parts = []
            for file in rule.files:
                origin = f"site '{self._recipe.name}': {package}/{file}"
                body = confined(self._folder_of(package), file, origin).read_bytes()
                parts.append(self._rewritten(body, place, origin))
            self._write(place, b"\n".join(parts))
        return place
