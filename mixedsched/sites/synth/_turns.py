"""In which turn requests are made: which tags the parser may find by itself, and tickets for all other requests."""

from collections.abc import Mapping, Sequence, Set
from graphlib import TopologicalSorter

from mixedsched.model.page import Resource
from mixedsched.model.request import Kind
from mixedsched.sites.analysis.difference import rank_correlation
from mixedsched.sites.synth._planned import Planned, Realm

GOOD_CORRELATION = 0.97
WORK_LIMIT_MS = 50.0  # what is longer would be a long task


def parsed_in_order(names: Sequence[str], tags: Set[str]) -> set[str]:
    """The tags to leave to the parser: all before some point, so that the order of requests is close to the wanted one.

    names: resources in the wanted order. The parser (its preload scanner, to be exact) asks for all tags at once, before
    anything else can run; each tag that is taken from it is asked for in its turn.
    """
    kept = [name for name in names if name in tags]
    while kept and order_correlation(names, set(kept)) < GOOD_CORRELATION:
        del kept[-max(1, len(kept) // 20) :]  # the last ones come too early by the most
    return set(kept)


def order_correlation(names: Sequence[str], parsed: Set[str]) -> float:
    """Spearman's coefficient of the wanted order and the one in which parsed tags come first; 1 for fewer than two."""
    first = [index for index, name in enumerate(names) if index == 0 or name in parsed]
    rest = [index for index, name in enumerate(names) if index and name not in parsed]
    correlation = rank_correlation([*first, *rest])
    return 1.0 if correlation is None else correlation


def parents_first(resources: Sequence[Resource]) -> list[Resource]:
    """The same resources, each after the one that finds it."""
    by_id = {item.id: item for item in resources}
    graph = {item.id: [item.found_by] if item.found_by is not None else [] for item in resources}
    return [by_id[name] for name in TopologicalSorter(graph).static_order()]


def script_work(resources: Sequence[Resource]) -> dict[str, float]:
    """Main-thread work of scripts: the think time that all their children have in common, up to a long task."""
    scripts = {item.id for item in resources if item.kind is Kind.SCRIPT}
    shortest: dict[str, float] = {}
    for item in resources:
        if item.found_by in scripts and item.found_by is not None and item.found_when != "requested":
            shortest[item.found_by] = min(item.delay_ms, shortest.get(item.found_by, WORK_LIMIT_MS))
    return shortest


def give_tickets(planned: Mapping[str, Planned], realms: Mapping[str, Realm], work_ms: Mapping[str, float]) -> None:
    """Give calls their tickets in the order of the manifest, parents before children, and say how long each may wait."""
    resources = [one.item for one in planned.values()]
    ordered = parents_first(resources)
    asked_ms = _asking_times(ordered, planned, realms, work_ms)
    position = {item.id: index for index, item in enumerate(resources)}
    turn: dict[str, tuple[int, int]] = {}
    for item in ordered:
        after, depth = turn.get(item.found_by or "", (-1, -1))
        turn[item.id] = max(position[item.id], after), depth + 1
    for realm in realms.values():
        realm.calls.sort(key=lambda one: (*turn[one.item.id], position[one.item.id]))
        latest_ms = 0.0
        for ticket, one in enumerate(realm.calls):
            one.ticket, one.wait_ms = ticket, max(0.0, latest_ms - asked_ms[one.item.id])
            latest_ms = max(latest_ms, asked_ms[one.item.id])


def _asking_times(
    ordered: Sequence[Resource],
    planned: Mapping[str, Planned],
    realms: Mapping[str, Realm],
    work_ms: Mapping[str, float],
) -> dict[str, float]:
    """When each resource would be asked for, ms from the start, if the network took no time and work were all that does."""
    parsed_ms: dict[str, float] = {}  # of documents
    run_ms: dict[str, float] = {}  # of tags
    for realm in realms.values():
        passed_ms = 0.0
        for one in realm.tags:
            passed_ms += work_ms.get(one.item.id, 0.0) + one.item.work_ms
            run_ms[one.item.id] = passed_ms
        parsed_ms[realm.document.id] = passed_ms
    done_ms = {**parsed_ms, **run_ms}
    asked_ms: dict[str, float] = {}
    for item in ordered:
        start_ms = asked_ms[item.found_by] if item.found_by is not None else 0.0
        one = planned[item.id]
        if item.found_by is not None and one.carrier != "tag" and not one.is_gated:
            start_ms += done_ms.get(item.found_by, 0.0) + item.delay_ms
        asked_ms[item.id] = start_ms
    return asked_ms
