"""Schemes: how a server orders its responses. A scheme is a classifier plus a scheduler, with parameters and a source.

The scheduler says whose bytes go next; the classifier turns a request into the placement which that scheduler
understands. Both are pure. Named schemes live beside their schedulers, one file each; `schedulers.SCHEMES` lists them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mixedsched.errors import UsageError, nearest_hint
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.request import Request
from mixedsched.model.scheduler import Scheduler

SERVER_MARK = "@"  # an arm that begins with it is a server of other people's
SERVERS = "servers"
LEARNING = "learning"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a scheme, given as `name=value` after its name."""

    name: str
    description: str
    default: float | str
    low: float = 0.0
    high: float = 0.0
    """Bounds (inclusive) of a number: `low` and `high`."""
    choices: tuple[str, ...] = ()
    """The words allowed instead of a number."""
    whole: bool = False
    """Whether the number must be whole."""
    switch: bool = False
    """Whether it sets a switch of the mapping instead of a property of the scheduler."""

    def read(self, text: str, scheme: str) -> float | str:
        """The value that `text` stands for. Raises UsageError."""
        if self.choices:
            if text not in self.choices:
                raise UsageError(f"{scheme}: {self.name}={text} is not possible", fix=nearest_hint(text, self.choices))
            return text
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not self.low <= value <= self.high or (self.whole and not value.is_integer()):
            raise UsageError(
                f"{scheme}: {self.name}={text} is not possible",
                fix=f"a {'whole ' if self.whole else ''}number from {self.low:g} to {self.high:g}",
            )
        return value


Values = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A named way of delivering responses."""

    name: str
    description: str
    source: str
    needs: str
    """The facts about a request that it must know, in a few words."""
    create: Callable[[Values], Scheduler[Any]]
    """Makes a scheduler from parameter values."""
    place: Callable[[Request, PriorityMapping | None, Values], Any]
    """Finds a request's placement, from mapping and parameter values."""
    parameters: tuple[Parameter, ...] = ()
    default_mapping: str | None = None
    """Used unless the caller names another; None if the scheme uses no mapping."""
    group: str = ""
    """SERVERS for models of third-party servers, LEARNING for those that find an order themselves; empty for fixed orders."""


@dataclass(frozen=True, slots=True)
class ConfiguredScheme:
    """A scheme with its parameters set and its mapping loaded: what servers and simulators use."""

    label: str
    """The spec as the user wrote it."""
    scheme: Scheme
    values: Values
    mapping: PriorityMapping | None

    def create_scheduler(self) -> Scheduler[Any]:
        """A fresh scheduler, one per connection."""
        return self.scheme.create(self.values)

    def place(self, request: Request) -> Any:
        """Where this request's response belongs, in the terms of the scheduler."""
        return self.scheme.place(request, self.mapping, self.values)


MappingLoader = Callable[[str, Mapping[str, str]], PriorityMapping]


def configure(
    spec: str, schemes: Mapping[str, Scheme], load_mapping: MappingLoader, mapping: str | None = None
) -> ConfiguredScheme:
    """Read "name" or "name:parameter=value,..." and load the mapping that goes with it.

    mapping: name of another mapping than the scheme's own. load_mapping: (name, switches) -> mapping; may raise MappingError.
    Raises UsageError for an unknown scheme or parameter, or a value out of range.
    """
    name, _, rest = spec.partition(":")
    if name.startswith(SERVER_MARK):
        raise UsageError(
            f"'{name}' is a third-party server, not a scheme",
            fix="such servers are arms of compare, and of studies on rung browser",
        )
    if name not in schemes:
        raise UsageError(f"there is no scheme '{name}'", fix=nearest_hint(name, schemes))
    scheme = schemes[name]
    parameters = {item.name: item for item in scheme.parameters}
    values: dict[str, float | str] = {item.name: item.default for item in scheme.parameters}
    switches: dict[str, str] = {}
    given: list[str] = []
    for assignment in filter(None, rest.replace(":", ",").split(",")):
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"{spec}: '{assignment}' is not understood", fix="write parameter=value")
        if key not in parameters:
            fix = nearest_hint(key, parameters) if parameters else f"scheme '{name}' takes none"
            raise UsageError(f"scheme '{name}' has no parameter '{key}'", fix=fix)
        if key in given:
            raise UsageError(f"{spec}: '{key}' is given twice", fix="give it once")
        given.append(key)
        values[key] = parameters[key].read(text, name)
        if parameters[key].switch:
            switches[key] = text
    mapping_name = mapping or scheme.default_mapping
    loaded = load_mapping(mapping_name, switches) if mapping_name is not None else None
    return ConfiguredScheme(spec, scheme, MappingProxyType(values), loaded)


def split_specs(text: str) -> tuple[str, ...]:
    """Split "sequential,mixed:alpha=0.5,high_media=N,eps" into its three schemes.

    A part with "=" but without ":" continues the scheme before it. Raises UsageError for none.
    """
    specs: list[str] = []
    for part in filter(None, (item.strip() for item in text.split(","))):
        if "=" in part and ":" not in part and specs:
            specs[-1] += ("," if ":" in specs[-1] else ":") + part
        else:
            specs.append(part)
    if not specs:
        raise UsageError("no scheme is named", fix="for instance --schemes sequential,mixed")
    return tuple(specs)


def by_name(schemes: Iterable[Scheme]) -> Mapping[str, Scheme]:
    """Schemes by name, in order of name. Raises ValueError if two share one."""
    table: dict[str, Scheme] = {}
    for scheme in sorted(schemes, key=lambda item: item.name):
        if scheme.name in table:
            raise ValueError(f"two schemes are named {scheme.name!r}")
        table[scheme.name] = scheme
    return MappingProxyType(table)
