"""Ways to ask for a resource, and the priority that Chromium gives to each: tags of a document, and functions of the runtime.

Tags, functions and the runtime are in `ways.toml`, which explains them. Where Chromium has no way to the wanted priority, the
nearest one of the same kind is taken, and the plan says so.
"""

import html
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Self

from mixedsched.model.request import ChromiumPriority, Flag, Kind

# The preload scanner takes it for an image, which is never asked for.
IMAGE_FOR_SCANNER = "<img width=1 height=1 src=about:blank>"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask for a resource."""

    priority: ChromiumPriority  # the one that Chromium gives to it
    tag: str = ""  # markup with {url} (an attribute), {json_url} and {place}; "" where only a script can
    call: str = ""  # function of the runtime; "" where only the parser can
    is_guess: bool = False  # browsers may be told not to do it

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Self:
        """An entry of `ways.toml`."""
        return cls(**{**entry, "priority": ChromiumPriority(entry["priority"])})


_TABLES: dict[str, Any] = tomllib.loads(files(__package__).joinpath("ways.toml").read_text("utf-8"))
_EARLY, _LATE = (
    {Kind(kind): tuple(map(Way.of, entries)) for kind, entries in {**_TABLES["always"], **_TABLES[when]}.items()}
    for when in ("early", "late")
)
_DEFERRED, _SOUND, WEB_APP_MANIFEST = map(Way.of, _TABLES["special"].values())
_CALLS: Mapping[str, str] = _TABLES["calls"]


def way_of(
    kind: Kind, priority: ChromiumPriority, *, is_late: bool, flags: frozenset[Flag] = frozenset(), mime: str = ""
) -> Way:
    """The way whose priority is nearest to the wanted one, the more urgent of two.

    is_late: whether an image stands before it in the document.
    """
    if kind is Kind.MEDIA and mime.startswith("audio/"):
        return _SOUND
    if kind is Kind.SCRIPT and priority is ChromiumPriority.LOW and Flag.DEFER in flags:
        return _DEFERRED
    return _nearest(_LATE[kind] if is_late else _EARLY[kind], priority)


def call_way_of(kind: Kind, priority: ChromiumPriority, mime: str = "") -> Way:
    """The nearest way of those that scripts have; see way_of."""
    if kind is Kind.MEDIA and mime.startswith("audio/"):
        return _SOUND
    return _nearest((way for way in (*_EARLY[kind], *_LATE[kind]) if way.call), priority)


def _nearest(ways: Iterable[Way], priority: ChromiumPriority) -> Way:
    """The way with the nearest priority; guesses, which browsers may leave out, only for their very priority."""
    fitting = [way for way in ways if way.priority is priority or not way.is_guess]
    return min(fitting, key=lambda way: (abs(way.priority.rank - priority.rank), way.priority.rank))


def needs_image_before(kind: Kind, priority: ChromiumPriority) -> bool:
    """Whether the tag has its priority only behind an image."""
    return kind in {Kind.SCRIPT, Kind.STYLESHEET} and priority is ChromiumPriority.MEDIUM


# The runtime

IN_FRAMES = frozenset("zYZ")  # they put the address into the markup of a frame, where `&copy` would be a sign


@dataclass(frozen=True, slots=True)
class Item:
    """A request that the runtime makes. wait_ms: how long it may be held back for those before it. place: CSS of an image."""

    ticket: int
    delay_ms: float
    call: str
    url: str
    wait_ms: float = 0.0
    place: str = ""

    def to_json(self) -> list[Any]:
        wait = -(-self.wait_ms // 100)
        tail: list[Any] = [int(wait), self.place] if self.place else [int(wait)] if wait else []
        url = html.escape(self.url) if self.call in IN_FRAMES else self.url
        return [self.ticket, round(self.delay_ms), self.call, url, *tail]


def runtime(calls: Iterable[str], *, has_table: bool, has_parsed: bool) -> str:
    """The program with just the parts that a document needs. calls: the ways used, in any order."""
    used = {name: _CALLS[name] for name in sorted(set(calls))}
    ways = ",".join(f"{name}:{way}" for name, way in used.items())
    append = _program("append") if any("A(" in way for way in used.values()) else ""
    observers = ["on_complete"] * has_table + ["on_parsed"] * has_parsed
    return _program("queue") + append + f"W={{{ways}}};" + "".join(map(_program, observers))


def _program(part: str) -> str:
    """A part of the program without line ends and indentation."""
    return "".join(line.strip() for line in _TABLES["runtime"][part].splitlines())


def items_call(items: Iterable[Item], work_ms: float = 0.0) -> str:
    """`$(...)`: what a script contains that asks for these."""
    work = f",{round(work_ms)}" if work_ms >= 1 else ""
    return f"$({_compact([item.to_json() for item in items])}{work});"


def parsed_call(items: Iterable[Item]) -> str:
    """`D(...)`: what asks for them once the document is parsed."""
    return f"D({_compact([item.to_json() for item in items])});"


def table_call(table: Mapping[str, Iterable[Item]]) -> str:
    """`O(...)`: what asks for them once the resources that the keys name are complete."""
    return f"O({_compact({name: [item.to_json() for item in items] for name, items in table.items()})});"


def shift_call(names: Mapping[str, str]) -> str:
    """What moves the element of each name, by its resource, once that is complete."""
    return f"{_program('on_shift')}V({_compact(names)});"


def _compact(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it ends the element, or begins a comment."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
