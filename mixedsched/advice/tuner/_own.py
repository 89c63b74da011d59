"""A tuning for the server that one has: its arms, and the page as it shows itself there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.tuner._contest import TUNED, promising
from mixedsched.advice.tuner._looks import View
from mixedsched.advice.tuner._search import SearchResult, run_search
from mixedsched.advice.tuner.job import TuneJob, TuneSurroundings
from mixedsched.advice.tuner.result import Contender, Role, RungResult
from mixedsched.advice.tuner.ship.headers import as_changes
from mixedsched.advice.tuner.ship.own_lines import OwnLines, lines_for, plain_of, plain_under
from mixedsched.advice.tuner.ship.screening import Ground
from mixedsched.advice.tuner.trials import Options
from mixedsched.model.page import Page
from mixedsched.model.scheme import SERVER_MARK

LINES = "lines"  # the rung of what acts on one's own server
OWN_ARMS = 2  # the server with all lines, and as it is; others show what a part of the lines does


def as_seen_by(server: KeptServer | None, view: View) -> View:
    """The view with what only this server's loads have: late updates of the browser, or responses in one line."""
    if server is None:
        return view
    scenes = tuple(replace(scene, raises=server.heeds, in_order=server.in_order) for scene in view.scenes)
    return replace(view, scenes=scenes)


def as_it_is(server: KeptServer) -> Contender:
    """The server with the page as it is: the baseline."""
    return Contender(server.on, Role.BASELINE, plain_of(server), on=server.on)


def in_order_of_interest(server: KeptServer, lines: OwnLines, page: Page) -> tuple[Contender, ...]:
    """All lines together and the page as it is; then each kind of lines, and each line of HTML, where there are several."""
    headers = as_changes(lines.plan.rules, page)
    on = _with_setting(server, lines)
    together = _arm(TUNED, Role.TUNED, on, lines.scheme, [*lines.changes, *headers])
    found = [together, as_it_is(server)]
    if headers and lines.changes:
        found.append(_arm("headers", Role.HEADERS, server.on, server.model, headers))
    if lines.changes and (headers or on != server.on):
        found.append(_arm("html", Role.HTML, server.on, server.model, lines.changes))
    if len(lines.changes) > 1:
        found += [
            _arm(f"html line {place}", Role.LINE, server.on, server.model, [change])
            for place, change in enumerate(lines.changes, start=1)
        ]
    return tuple(found)


def _arm(label: str, role: Role, on: str, scheme: str, changes: Sequence[Change]) -> Contender:
    return Contender(label, role, plain_under(scheme), tuple(changes), on=on)


def _with_setting(server: KeptServer, lines: OwnLines) -> str:
    """What tuned loads are made with: the server with its setting, written as an arm, or its model."""
    if lines.setting is None:
        return server.on
    if server.on.startswith(SERVER_MARK):
        return f"{server.on}:{lines.setting.directive}={lines.setting.value}"
    return lines.scheme


def search_orders(
    server: KeptServer, job: TuneJob, world: TuneSurroundings, view: View, options: Options
) -> SearchResult | None:
    """The best among the orders that headers can say there, or go on with that search; None where they do not act."""
    if server.headers == "none":
        return None
    world.say(f"searching orders that headers can express, simulated as {server.model}")
    return run_search(
        view.space((server.model,)), view.scenes, job.objective, world.workers, options,
        clock_s=world.clock_s, watch=world.watch, baselines={server.on: plain_of(server)},
    )  # fmt: skip


def find_lines(
    server: KeptServer,
    world: TuneSurroundings,
    view: View,
    ground: Ground,
    found: SearchResult | None,
    kept: Mapping[str, Any] | None,
) -> tuple[OwnLines, SearchResult]:
    """The lines, and all of it as other searches tell it. found: the search for orders. kept: what an earlier start chose."""
    world.say(f"trying changes that act on {server.title}, simulated as {server.model}")
    began_s, better = world.clock_s(), promising(found) if found is not None else ()
    lines = lines_for(server, ground, better[0].candidate if better else None, view.changes, kept)
    best = (lines.tuned,) if lines.tuned is not None else ()
    history = ((lines.tried, lines.tuned.score),) if lines.tuned is not None else ()
    rung = RungResult(LINES, lines.tried, lines.loads, world.clock_s() - began_s, lines.tuned, history)
    earlier = found.rungs if found is not None else ()
    return lines, SearchResult((*earlier, rung), best, {server.on: lines.today}, server.on)
