"""What to propose for the server that one has: lines of HTML, headers and a setting, as far as they act there.

They are played under the server's model on rung stack, first each kind by itself, then together. What is proposed is the best
of these sets, by seeds that did not choose it. Playing may run out of time: then there is nothing to propose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.own_server import SETTING, KeptServer
from mixedsched.advice.tuner.candidate import PLAIN, Candidate
from mixedsched.advice.tuner.result import HeaderRule, HtmlLine, Scored, ServerSetting
from mixedsched.advice.tuner.ship.headers import HeaderPlan, as_candidate, header_plans
from mixedsched.advice.tuner.ship.screening import Ground, Lines, LineTrials, NoTime, effect_of, penalised
from mixedsched.core.schedulers import SCHEMES
from mixedsched.lab.play.scenario import LEAST_GAIN
from mixedsched.model.page import Page
from mixedsched.model.priority import parse_parameters
from mixedsched.world import catalog

URGENCY_ONLY = "its rewrite variable sets urgency alone, responses stay incremental"


def plain_of(server: KeptServer) -> Candidate:
    """How the server delivers the page as it is."""
    return plain_under(server.model)


def plain_under(scheme: str) -> Candidate:
    """Every request as it is signalled. scheme: with its parameters."""
    return Candidate(scheme, published=SCHEMES[scheme.partition(":")[0]].default_mapping)


@dataclass(frozen=True, slots=True)
class OwnLines:
    """The lines that were found. tuned: the page with all of them; None where nothing helps, and then there are no lines."""

    today: Scored
    tuned: Scored | None
    plan: HeaderPlan
    html: tuple[HtmlLine, ...]
    setting: ServerSetting | None
    scheme: str  # the model, with the setting
    loads: int  # played
    tried: int  # single lines and sets of them that were there to choose from

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(item.change for item in self.html)

    def to_kept(self) -> dict[str, Any]:
        """As JSON, for a session that is continued."""
        return {
            **self.plan.to_kept(),
            "html": [item.change.code for item in self.html],
            "scheme": self.scheme,
            "helps": self.tuned is not None,
            "tried": self.tried,
        }


def lines_for(
    server: KeptServer,
    ground: Ground,
    order: Candidate | None,
    changes: Sequence[Change],
    kept: Mapping[str, Any] | None = None,
) -> OwnLines:
    """The lines to propose.

    order: the best that was found among those that headers can say, if they act at all. changes: to the document. kept: what
    an earlier start has chosen, of these changes. Raises MixedschedError if a load never ends.
    """
    trials = LineTrials(ground)
    plan, html, scheme = HeaderPlan(()), tuple[HtmlLine, ...](), server.model
    tried = len(changes)
    if kept is not None:
        by_code = {item.code: item for item in changes}
        # In the order in which they were loaded: another one would be another edition of the site.
        html = tuple(HtmlLine(by_code[code], {}) for code in kept["html"] if code in by_code)
        plan = HeaderPlan.of_kept(kept)
        scheme = str(kept["scheme"])
        helps = bool(kept["helps"])
        tried = int(kept.get("tried", tried))  # an earlier version has not kept it
    else:
        html = trials.best_html(changes)
        plan = _headers(server, trials, ground.scenes[0].page, order)
        chosen, sets = _together(server, trials, ground, plan.rules, tuple(item.change for item in html))
        tried += sets
        helps = chosen is not None
        if chosen is not None:
            html = tuple(item for item in html if item.change in chosen[0])
            plan, scheme = plan if chosen[1] else replace(plan, rules=()), chosen[2]
    if not helps:
        plan, html, scheme = replace(plan, rules=()), (), server.model
    return _told(server, trials, ground, plan, html, scheme, tried, is_kept=kept is not None)


def _headers(server: KeptServer, trials: LineTrials, page: Page, order: Candidate | None) -> HeaderPlan:
    """The headers to propose; none where they do not act."""
    if order is None or server.headers == "none":
        return HeaderPlan(())
    plans = header_plans(page, replace(order, scheme=PLAIN), catalog.load_mapping)
    if server.headers == "rewrite":
        plans = tuple(urgency_alone(item) for item in plans)
    return trials.best_headers(plans)


def urgency_alone(plan: HeaderPlan) -> HeaderPlan:
    """Values as the rewrite variable has them: an urgency, and incremental."""
    rules = []
    for rule in plan.rules:
        told = parse_parameters(rule.value.encode())
        assert told is not None, "our own values are well-formed"
        rules.append(replace(rule, value=f"u={told.urgency}, i"))
    return replace(plan, rules=tuple(rules), lost=(*plan.lost, URGENCY_ONLY))


def _schemes(server: KeptServer) -> tuple[str, ...]:
    """The model with every setting that is worth a try, as it is first."""
    if server.model != SETTING.scheme:
        return (server.model,)
    return (server.model, *(f"{server.model}:{SETTING.parameter}={value}" for value in SETTING.values))


def _together(
    server: KeptServer, trials: LineTrials, ground: Ground, rules: tuple[HeaderRule, ...], changes: tuple[Change, ...]
) -> tuple[Lines | None, int]:
    """The best set, None where nothing is better than the page as it is; and how many there were."""
    as_it_is: Lines = ((), (), server.model)
    sets: list[Lines] = [
        (of_html, of_headers, scheme)
        for of_html in (((), changes) if changes else ((),))
        for of_headers in (((), rules) if rules else ((),))
        for scheme in _schemes(server)
    ]
    sets.remove(as_it_is)
    if not sets:
        return None, 0
    try:
        none, *played = trials.of_lines([as_it_is, *sets], ground.search_seeds)
    except NoTime:
        return (changes, rules, server.model) if changes or rules else None, len(sets)
    scores = [penalised(item, _counted(server, lines)) for item, lines in zip(played, sets, strict=True)]
    best = min(range(len(sets)), key=lambda place: (scores[place], place))
    return (sets[best] if scores[best] < none.score - LEAST_GAIN else None), len(sets)


def _counted(server: KeptServer, lines: Lines) -> tuple[object, ...]:
    changes, rules, scheme = lines
    return (*changes, *rules, *((scheme,) if scheme != server.model else ()))


def _told(
    server: KeptServer,
    trials: LineTrials,
    ground: Ground,
    plan: HeaderPlan,
    html: tuple[HtmlLine, ...],
    scheme: str,
    tried: int,
    *,
    is_kept: bool,
) -> OwnLines:
    """The lines with their paints over seeds that did not choose them; these are played however little time there is."""
    seeds, rules, changes = ground.held_out_seeds, plan.rules, tuple(item.change for item in html)
    trials.hurries = False
    before, after, without = trials.of_lines(
        [((), (), server.model), (changes, rules, scheme), (changes, rules, server.model)], seeds
    )
    today = Scored(ground.plain, before.score, 0.0, before.paints)
    has_lines = bool(_counted(server, (changes, rules, scheme)))
    if not has_lines or (not is_kept and after.score > before.score - LEAST_GAIN):
        return OwnLines(today, None, replace(plan, rules=()), (), None, server.model, trials.loads, tried)
    page = ground.scenes[0].page
    candidate = as_candidate(rules, page, scheme) if rules else replace(ground.plain, scheme=scheme)
    setting = None
    if scheme != server.model:
        value = scheme.partition("=")[2]
        setting = ServerSetting(SETTING.directive, value, str(SETTING.usual), effect_of(without, after))
    if is_kept and html:
        none, *alone = trials.of_changes([(), *((item,) for item in changes)], seeds)
        html = tuple(HtmlLine(item, effect_of(one, none)) for item, one in zip(changes, alone, strict=True))
    penalty = penalised(after, _counted(server, (changes, rules, scheme))) - after.score
    tuned = Scored(candidate, after.score + penalty, penalty, after.paints)
    return OwnLines(today, tuned, plan, html, setting, scheme, trials.loads, tried)
