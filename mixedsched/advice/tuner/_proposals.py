"""New candidates: from known ones, and those that somebody who knows the page would try first. All in canonical form."""

import random
from collections.abc import Sequence

from mixedsched.advice.tuner._canonical import Codes, canonical, from_units, unit_codes
from mixedsched.advice.tuner.candidate import PLAIN, cell_of
from mixedsched.advice.tuner.space import CODES, OFF, Genome, Space, signal_code
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import URGENCY_MAX
from mixedsched.model.request import Flag, Kind

MOST_CHANGES = 4  # of one mutation


def informed(space: Space) -> list[Genome]:
    """Each family as it is by default; then tables by what paints wait for, in a few readings of it."""
    found = [space.usual(family) for family in range(len(space.families))]
    ranks = _unit_ranks(space)
    for family in range(len(space.families)):
        if space.families[family].has_table:
            usual = space.usual(family)
            found += [from_units(space, usual, codes) for codes in _readings(ranks)]
    return list(dict.fromkeys(canonical(space, genome) for genome in found))


def anyone(space: Space, rng: random.Random) -> Genome:
    """A random candidate: any family, any value, few urgencies or many, and mostly no overrides."""
    family = rng.randrange(len(space.families))
    chosen = space.families[family]
    values = tuple(rng.randrange(len(item.values)) for item in chosen.steps)
    if not chosen.has_table:
        return Genome(family, values)
    most = rng.randrange(2, CODES + 1)
    cells = tuple(rng.randrange(most) for _ in space.cells)
    targets = tuple(rng.randrange(most) if rng.random() < 0.4 else OFF for _ in space.targets)
    return canonical(space, Genome(family, values, cells, targets))


def mutated(space: Space, genome: Genome, rng: random.Random) -> Genome:
    """A few random changes."""
    changed = genome
    for _ in range(rng.randint(1, MOST_CHANGES)):
        changed = _changed(space, changed, rng)
    return canonical(space, changed)


def neighbour(space: Space, genome: Genome, rng: random.Random) -> Genome:
    """One random change."""
    return canonical(space, _changed(space, genome, rng))


def crossed(space: Space, one: Genome, other: Genome, rng: random.Random) -> Genome:
    """The first one's scheme, with a part of the other's placements."""
    if not (one.cells and other.cells):
        return mutated(space, one, rng)
    ours, theirs = unit_codes(space, one), unit_codes(space, other)
    mixed = [rng.choice(pair) for pair in zip(ours, theirs, strict=True)]
    return canonical(space, from_units(space, one, mixed))


def simpler(space: Space, genome: Genome) -> list[Genome]:
    """The candidate without one of its departures, each in turn: a parameter, a placement, the scheme."""
    family = space.families[genome.family]
    found = []
    for place, step in enumerate(family.steps):
        if genome.values[place] != step.usual:
            values = (*genome.values[:place], step.usual, *genome.values[place + 1 :])
            found.append(genome._replace(values=values))
    if family.has_table:
        for place, (cell, code) in enumerate(zip(space.cells, genome.cells, strict=True)):
            if code != signal_code(cell):
                found.append(genome._replace(cells=_with(genome.cells, place, signal_code(cell))))
        for place, code in enumerate(genome.targets):
            if code != OFF:
                found.append(genome._replace(targets=_with(genome.targets, place, OFF)))
        plain = next((place for place, one in enumerate(space.families) if one.name == PLAIN and one.has_table), None)
        if plain is not None and plain != genome.family:
            found.append(_under(space, genome, plain))
    return list(dict.fromkeys(canonical(space, one) for one in found))


def _with(codes: tuple[int, ...], place: int, code: int) -> tuple[int, ...]:
    return (*codes[:place], code, *codes[place + 1 :])


def _changed(space: Space, genome: Genome, rng: random.Random) -> Genome:
    family = space.families[genome.family]
    kinds = ["step"] * len(family.steps)
    if family.has_table:
        kinds += ["place"] * (2 * len(space.units)) + ["insert"] * len(space.units) + ["swap"] * (len(space.units) > 1)
    if len(space.families) > 1:
        kinds.append("family")
    if not kinds:
        return genome
    match kind := rng.choice(kinds):
        case "step":
            return _stepped(space, genome, rng)
        case "family":
            return _under(space, genome, rng.randrange(len(space.families)))
        case _:
            codes = unit_codes(space, genome)
            _EDITS[kind](codes, rng)
            return from_units(space, genome, codes)


def _stepped(space: Space, genome: Genome, rng: random.Random) -> Genome:
    """Another value for a parameter: one of the next, or any."""
    steps = space.families[genome.family].steps
    place = rng.randrange(len(steps))
    values, count = list(genome.values), len(steps[place].values)
    near = min(count - 1, max(0, values[place] + rng.choice((-1, 1))))
    values[place] = near if rng.random() < 0.5 else rng.randrange(count)
    return genome._replace(values=tuple(values))


def _under(space: Space, genome: Genome, family: int) -> Genome:
    """The same table under another scheme, whose parameters are as usual."""
    usual = space.usual(family)
    if space.families[family].has_table and genome.cells:
        return usual._replace(cells=genome.cells, targets=genome.targets)
    return usual


def _place(codes: Codes, rng: random.Random) -> None:
    """Any placement for one unit."""
    codes[rng.randrange(len(codes))] = rng.randrange(CODES)


def _swap(codes: Codes, rng: random.Random) -> None:
    """Two units change places."""
    one, other = rng.sample(range(len(codes)), 2)
    codes[one], codes[other] = codes[other], codes[one]


def _insert(codes: Codes, rng: random.Random) -> None:
    """One unit gets an urgency of its own, somewhere between the others'; urgencies are spread anew for that."""
    chosen = rng.randrange(len(codes))
    others = sorted({code // 2 for place, code in enumerate(codes) if place != chosen})
    if len(others) > URGENCY_MAX:
        return
    spot = rng.randint(0, len(others))
    for place, code in enumerate(codes):
        rank = others.index(code // 2) if place != chosen else spot
        codes[place] = 2 * (rank + (place != chosen and rank >= spot)) + code % 2


_EDITS = {"place": _place, "swap": _swap, "insert": _insert}


def _unit_ranks(space: Space) -> list[int]:
    """How soon paints need each unit: of its resources, the one that is needed first counts."""
    ranks = [_LAST_RANK] * len(space.units)
    places = {(unit.home, unit.target): place for place, unit in enumerate(space.units)}
    homes = {cell: place for place, cell in enumerate(space.cells)}
    for page in space.pages:
        blocking = frozenset(PaintNeeds.of(page).blocking)
        for item in page.resources:
            home = homes.get(cell_of(item))
            if home is None:
                continue
            target = next((index for index, one in enumerate(space.targets) if item.id in one.covers), OFF)
            place = places.get((home, target), places.get((home, OFF)))
            if place is not None:
                ranks[place] = min(ranks[place], _rank(page, item, blocking))
    return ranks


_LAST_RANK = 7


def _rank(page: Page, item: Resource, blocking: frozenset[str]) -> int:
    is_deferred = bool(item.flags & {Flag.ASYNC, Flag.DEFER})
    ranks = (
        item is page.main,
        item.id in blocking,
        Flag.HERO in item.flags,
        item.kind is Kind.FONT,  # text waits for it
        Flag.ABOVE_FOLD in item.flags or (item.kind is Kind.SCRIPT and not is_deferred),
        item.kind not in {Kind.IMAGE, Kind.MEDIA} and not is_deferred,
    )
    return ranks.index(True) if True in ranks else len(ranks)


_LEVELS = (  # urgency by rank
    (0, 0, 1, 2, 2, 4, 4, 4),  # few levels
    (0, 0, 0, 3, 3, 6, 6, 6),  # all that the largest paint needs at once
    (0, 2, 1, 4, 4, 4, 4, 4),  # its image first of all
    (2, 0, 1, 0, 3, 5, 5, 5),  # the end of the page behind its image
)


def _readings(ranks: Sequence[int]) -> list[Codes]:
    """Tables that follow the ranks."""
    strictly = [2 * min(rank, URGENCY_MAX) for rank in ranks]
    sharing = [code + (rank >= 4) for code, rank in zip(strictly, ranks, strict=True)]  # what is not urgent
    return [strictly, sharing, *([2 * levels[rank] for rank in ranks] for levels in _LEVELS)]
