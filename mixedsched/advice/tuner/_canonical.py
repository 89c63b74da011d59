"""Which candidates are the same in effect, and the one of them that departs least from what the browser signals.

What is exact, by the schedulers' own rules (`tests/advice/tuner/test_canonical.py` plays both and compares every time):

- eps: only the order of urgencies counts, and an urgency that one resource has alone is neither incremental nor not.
- nip: only the order of urgencies counts, incremental flags not at all.
- mixed: of non-incremental responses only the order of urgencies counts; of incremental ones the urgency itself, as shares
  are made of it, unless all have the same.
- ip: the urgency itself counts, unless all have the same; incremental flags not at all.
- An override that says what its cell says is none; a parameter that nothing depends on has its usual value.

A scheme that is not named here is taken as it comes.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, product

from mixedsched.advice.tuner.candidate import lateness
from mixedsched.advice.tuner.space import CODES, OFF, Genome, Space, Unit, signal_code
from mixedsched.model.priority import URGENCY_MAX
from mixedsched.model.request import Kind

Codes = list[int]  # of the units' priorities, in the space's order

LEVELS = URGENCY_MAX + 1
_DEPARTURE = 1000  # beside the distances of urgencies, which decide among as few departures


def canonical(space: Space, genome: Genome) -> Genome:
    """The genome that stands for all that are the same in effect: fewest departures, then smallest."""
    family = space.families[genome.family]
    if not family.has_table:
        return genome
    codes = unit_codes(space, genome)
    rule = _RULES.get(family.name)
    idle: tuple[str, ...] = ()
    if rule is not None:
        codes, idle = rule(space.units, codes)
    values = tuple(
        step.usual if step.name in idle else place for step, place in zip(family.steps, genome.values, strict=True)
    )
    return from_units(space, Genome(genome.family, values), codes)


def unit_codes(space: Space, genome: Genome) -> Codes:
    """The effective priority of each unit."""
    return [
        genome.cells[unit.home]
        if unit.target == OFF or genome.targets[unit.target] == OFF
        else genome.targets[unit.target]
        for unit in space.units
    ]


def from_units(space: Space, genome: Genome, codes: Codes) -> Genome:
    """The genome with these priorities: a cell has that of its rest, and only units that differ from it need an override.

    A cell that consists of overrides alone takes the value that needs the fewest of them.
    """
    cells = [signal_code(cell) for cell in space.cells]
    alone: dict[int, list[int]] = {}
    has_rest = {unit.home: None for unit in space.units if unit.target == OFF}
    for unit, code in zip(space.units, codes, strict=True):
        if unit.target == OFF:
            cells[unit.home] = code
        elif unit.home not in has_rest:
            alone.setdefault(unit.home, []).append(code)
    for home, values in alone.items():
        usual = cells[home]
        cells[home] = min(
            dict.fromkeys((usual, *values)),
            key=lambda value: (value != usual) + sum(other != value for other in values),
        )
    targets = [OFF] * len(space.targets)
    for unit, code in zip(space.units, codes, strict=True):
        if unit.target != OFF and code != cells[unit.home]:
            targets[unit.target] = code
    return Genome(genome.family, genome.values, tuple(cells), tuple(targets))


def _eps(units: Sequence[Unit], codes: Codes) -> tuple[Codes, tuple[str, ...]]:
    codes = list(codes)
    for level in _levels(codes):
        if _is_single(units, level):
            for place in level:
                codes[place] = _with_flag_of(codes[place], units[place])
    return _reordered(units, codes, range(len(codes))), ()


def _nip(units: Sequence[Unit], codes: Codes) -> tuple[Codes, tuple[str, ...]]:
    free = [_with_flag_of(code, unit) for code, unit in zip(codes, units, strict=True)]
    return _reordered(units, free, range(len(free))), ()


def _mixed(units: Sequence[Unit], codes: Codes) -> tuple[Codes, tuple[str, ...]]:
    whole = [place for place, code in enumerate(codes) if not code % 2]
    shared = [place for place, code in enumerate(codes) if code % 2]
    codes = _reordered(units, codes, whole)
    idle: tuple[str, ...] = () if whole and shared else ("n_interrupts_i",)
    if len({codes[place] for place in shared}) <= 1:
        codes = _reordered(units, codes, shared)
        idle += ("alpha",)
    return codes, idle


def _ip(units: Sequence[Unit], codes: Codes) -> tuple[Codes, tuple[str, ...]]:
    free = [_with_flag_of(code, unit) for code, unit in zip(codes, units, strict=True)]
    if len({code // 2 for code in free}) > 1:
        return free, ()
    return _reordered(units, free, range(len(free))), ("alpha",)


_RULES: dict[str, Callable[[Sequence[Unit], Codes], tuple[Codes, tuple[str, ...]]]] = {
    "eps": _eps,
    "nip": _nip,
    "mixed": _mixed,
    "ip": _ip,
}


def _with_flag_of(code: int, unit: Unit) -> int:
    """The urgency, with the flag that the browser signals."""
    return code - code % 2 + unit.signal % 2


def _is_single(units: Sequence[Unit], level: Sequence[int]) -> bool:
    """Whether these units are one resource at most on every page."""
    return all(sum(counts) <= 1 for counts in zip(*(units[place].counts for place in level), strict=True))


def _levels(codes: Codes) -> list[list[int]]:
    """Places of equal urgency, the most urgent first."""
    by_urgency: list[list[int]] = [[] for _ in range(URGENCY_MAX + 1)]
    for place, code in enumerate(codes):
        by_urgency[code // 2].append(place)
    return [level for level in by_urgency if level]


def _reordered(units: Sequence[Unit], codes: Codes, places: Sequence[int]) -> Codes:
    """The units at these places with other urgencies in the same order, as near to the browser's signals as possible."""
    by_urgency: dict[int, list[int]] = {}
    for place in places:
        by_urgency.setdefault(codes[place] // 2, []).append(place)
    order = sorted(by_urgency)
    wanted = tuple(
        tuple(
            (units[place].signal // 2, codes[place] % 2 == units[place].signal % 2, units[place].kind)
            for place in by_urgency[urgency]
        )
        for urgency in order
    )
    reordered = list(codes)
    for urgency, chosen in zip(order, _nearest(wanted), strict=True):
        for place in by_urgency[urgency]:
            reordered[place] = 2 * chosen + codes[place] % 2
    return reordered


@lru_cache(maxsize=4096)
def _nearest(wanted: tuple[tuple[tuple[int, bool, Kind], ...], ...]) -> tuple[int, ...]:
    """Rising urgencies for levels, as near to the browser's signals as possible.

    wanted: by level, for each member its signalled urgency, whether its flag is as signalled, and its kind: text should not
    come later. As many members as possible get what is signalled; then distances, then urgencies are as small as possible.
    """
    return rising([[sum(_cost(urgency, *member) for member in level) for urgency in range(LEVELS)] for level in wanted])


def rising(costs: Sequence[list[int]]) -> tuple[int, ...]:
    """Urgencies for levels, each higher than the one before, of least cost together; of equals the smallest ones.

    costs: by level, of which there are no more than urgencies, then by urgency.
    """
    choices = combinations(range(LEVELS), len(costs))  # the smallest first
    return min(choices, key=lambda chosen: sum(map(list.__getitem__, costs, chosen)))


def _cost(urgency: int, signal: int, agrees: bool, kind: Kind) -> int:
    departures = (agrees and urgency != signal) + lateness(kind, signal, urgency)
    return _DEPARTURE * departures + abs(urgency - signal)


def enumerated(space: Space, family: int, most: int) -> list[Genome] | None:
    """All candidates of a family that differ in effect, in a fixed order; None if finding them takes more than `most` steps."""
    chosen = space.families[family]
    values = [range(len(item.values)) for item in chosen.steps]
    steps = math.prod(map(len, values))
    if not chosen.has_table:
        return [Genome(family, combination) for combination in product(*values)] if steps <= most else None
    count = len(space.units)
    tables: Sequence[tuple[int, ...]] | None
    if chosen.name in {"eps", "nip"} and steps * 2**count <= most:
        tables = _orders(count, flags=(0, 1) if chosen.name == "eps" else (0,), most=most // steps)
    else:
        tables = list(product(range(CODES), repeat=count)) if steps * CODES**count <= most else None
    if tables is None:
        return None
    found = (
        canonical(space, from_units(space, Genome(family, combination), list(codes)))
        for combination in product(*values)
        for codes in tables
    )
    return list(dict.fromkeys(found))


def everything(space: Space, most: int) -> list[Genome] | None:
    """All candidates of all families that differ in effect, as far as it is known; None if finding them takes too long."""
    found: list[Genome] = []
    for family in range(len(space.families)):
        genomes = enumerated(space, family, most)
        if genomes is None:
            return None
        found += genomes
    return found


def _orders(count: int, flags: Sequence[int], most: int) -> list[tuple[int, ...]] | None:
    """Every order of so many units with ties, and every choice of flags; None if there are more than `most`."""
    orders: list[tuple[int, ...]] = [()]
    for _ in range(count):
        orders = [order for one in orders for order in _with_one_more(one)]
        if len(orders) * len(flags) ** count > most:
            return None
    return [
        tuple(2 * urgency + flag for urgency, flag in zip(order, chosen, strict=True))
        for order in orders
        if max(order, default=0) <= URGENCY_MAX
        for chosen in product(flags, repeat=count)
    ]


def _with_one_more(order: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The order of levels from 0 with another unit: in each of them, or alone before, between and behind them."""
    levels = max(order, default=-1) + 1
    joined = [(*order, level) for level in range(levels)]
    apart = [(*(level + (level >= place) for level in order), place) for place in range(levels + 1)]
    return joined + apart
