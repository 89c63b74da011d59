"""What the owner of a site can change about the order of its bytes: the vocabulary of advice."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from mixedsched.units import few, listed

Key = tuple[int, str]  # host index, path with query: how a site names its files


class Action(StrEnum):
    """A kind of change."""

    PRELOAD = "preload"  # a link in the head
    FETCH_FIRST = "fetch_first"  # attribute fetchpriority
    FETCH_LAST = "fetch_last"
    EAGER = "eager"  # an image no longer has loading=lazy
    LAZY = "lazy"  # attribute loading
    DEFER = "defer"  # a script runs after the document
    HEADER = "header"  # response header `priority` (RFC 9218)


_TITLES = {
    Action.PRELOAD: "Preload {what}",
    Action.FETCH_FIRST: "Fetch {what} first (fetchpriority=high)",
    Action.FETCH_LAST: "Fetch {what} last (fetchpriority=low)",
    Action.EAGER: "Do not load {what} lazily",
    Action.LAZY: "Load {what} lazily (loading=lazy)",
    Action.DEFER: "Defer {what}",
    Action.HEADER: "Send {what} with priority: {value}",
}
_RISKS = {
    Action.PRELOAD: "if the page stops using the file, the preload wastes its bytes",
    Action.FETCH_LAST: "on screens that show these images at once, they arrive later",
    Action.LAZY: "someone who scrolls fast may see an empty place for a moment",
    Action.DEFER: "the script runs only after the document has been parsed: scripts in the page that depend on it must be "
    "deferred too, and what it draws appears later",
    Action.HEADER: "works only with a server, and a CDN, that follow RFC 9218",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change to a site."""

    action: Action
    targets: tuple[Key, ...]  # files it is about, in page order
    why: str  # its reason, a sentence without a full stop
    value: str = ""  # of the priority header; "" for other actions

    @property
    def is_html(self) -> bool:
        """Whether it is made in the document; else on the server."""
        return self.action is not Action.HEADER

    @property
    def title(self) -> str:
        """Such as "Preload hero.jpg"."""
        return _TITLES[self.action].format(what=names_of(self.targets), value=self.value)

    @property
    def risk(self) -> str:
        """What may go wrong; "" for nothing worth mentioning."""
        return _RISKS.get(self.action, "")

    @property
    def code(self) -> str:
        """Names the change, equal for equal changes whatever the reason: for logs, storage and fingerprints."""
        files = ",".join(f"{host}{path}" for host, path in self.targets)
        return f"{self.action.value}({files})" + (f"={self.value}" if self.value else "")


def code_of(changes: Iterable[Change]) -> str:
    """Names a set of changes."""
    return " + ".join(change.code for change in changes)


def name_of(key: Key) -> str:
    """What people call a file: the last part of its path, with the query; "/" for the root."""
    path, mark, query = key[1].partition("?")
    name = PurePosixPath(path).name or path
    return name + mark + query


def names_of(keys: Iterable[Key]) -> str:
    """Such as "a.jpg", "a.jpg and b.jpg", "a.jpg, b.jpg and 12 more"."""
    names = [name_of(key) for key in keys]
    return few(names, 2) if len(names) > 3 else listed(names) or "nothing"
