"""The sentences of an audit, the same on the terminal and in the report: the verdict, each finding, each change."""

import math
from collections.abc import Sequence

from mixedsched.advice.audit.budget import block_cost_s, blocks_wanted
from mixedsched.advice.audit.result import PRIMARY, TODAY, Alternative, Audit, AuditVerdict, NetworkResult
from mixedsched.advice.changes.change import Change, name_of
from mixedsched.advice.changes.findings import NAMED_MOST, LateResource, Reason
from mixedsched.advice.changes.look import PaintRole
from mixedsched.core.metrics import METRICS
from mixedsched.lab.comparison import Effect, Verdict
from mixedsched.lab.costs import BLOCKS_MOST
from mixedsched.report._effects import EffectView, effect_views
from mixedsched.report._words import change_text, confidence_text, server_lines
from mixedsched.units import capital, counted, few, format_bytes, format_ms, format_spent
from mixedsched.world.servers import is_server, read_choice

SCHEMES = {
    "eps": "a server that follows the priorities of browsers (RFC 9218)",
    "stock": "a server that sends all responses in turns",
    "sequential": "a server that sends one response after the other",
}
ROLES = {
    PaintRole.DOCUMENT: "the page",
    PaintRole.BLOCKING: "blocks painting",
    PaintRole.HERO: "largest paint",
    PaintRole.FONT: "font",
    PaintRole.VISIBLE: "may be on screen",
    PaintRole.SCRIPT: "late script",
    PaintRole.REST: "",
}
# By verdict: the style of the answer, and the word in front of it.
TONES = {
    AuditVerdict.GOOD: ("equivalent", "= good as it is"),
    AuditVerdict.IMPROVABLE: ("better", "▼ could be better"),
    AuditVerdict.MIXED: ("worse", "▲▼ better here, worse there"),
    AuditVerdict.OPEN: ("undecided", "? not proved yet"),
    AuditVerdict.UNMEASURED: ("undecided", "? not measured"),
}
_SECONDS_PER_MINUTE = 60


def server(scheme: str) -> str:
    """What serves under a scheme, or the server itself that "@NAME" stands for."""
    return (
        f"{read_choice(scheme).kind.title} itself ({scheme})"
        if is_server(scheme)
        else SCHEMES.get(scheme, f"a server played as {scheme}")
    )


def headline(audit: Audit) -> str:
    """The verdict in one sentence, or two."""
    chosen = audit.chosen
    if chosen is None:
        return f"Today's delivery is good: {_nothing_found(audit)}."
    text = "; ".join(_measured(item, chosen) for item in audit.networks)
    what = _what(chosen)
    match audit.outcome:
        case AuditVerdict.IMPROVABLE:
            return f"The page could be faster. With {what}: {text}."
        case AuditVerdict.MIXED:
            return f"No clear advice: {what} helps on one network and harms on another. {capital(text)}."
        case AuditVerdict.GOOD:
            return f"Today's delivery is good: even the best alternative, {what}, is not seen to help. {capital(text)}."
        case AuditVerdict.OPEN:
            return f"Not proved yet: {what} should help according to simulation, but more loads are needed. {capital(text)}."
        case AuditVerdict.UNMEASURED:
            return f"Not measured: {what} should help according to simulation, but no block of loads is complete."


def notes(audit: Audit) -> list[str]:
    """Notes on the verdict: the server that the advice needs, what gets worse, how much time would decide."""
    found = (_server_note(audit), _guard_note(audit), _advice_on_time(audit), _look_note(audit))
    return [*(note for note in found if note), *server_lines(audit.own, is_loaded=True)]


def _server_note(audit: Audit) -> str:
    chosen = audit.chosen
    if chosen is None or chosen.scheme == audit.baseline:
        return ""
    return f"This needs {server(chosen.scheme)}; today's is taken to be {server(audit.baseline)}."


def _guard_note(audit: Audit) -> str:
    """Names the metrics that got worse while the largest paint got better."""
    chosen = audit.chosen
    if chosen is None or audit.outcome is not AuditVerdict.IMPROVABLE:
        return ""
    text = [
        f"{effect.metric.short} over {network.name} {change_text(effect)}"
        for network in audit.networks
        for effect in page_effects(network, [chosen])
        if effect.verdict is Verdict.WORSE
    ]
    return f"Note what seems to get worse: {', '.join(text)}." if text else ""


def _advice_on_time(audit: Audit) -> str:
    """How much more time would decide what is open."""
    if audit.chosen is None or audit.outcome not in {AuditVerdict.OPEN, AuditVerdict.UNMEASURED}:
        return ""
    effects = [item for network in audit.networks for item in network.effects if item.arm == audit.chosen.label]
    needed = max((item.blocks + (item.more_blocks or 0) for item in effects), default=0)
    needed = max(needed, blocks_wanted(len(audit.contenders), len(audit.networks)) + 1)
    costs_s = {item.name: item.looks[audit.baseline].cost_s for item in audit.networks}
    budget_s = audit.spent_s + max(1, needed - audit.complete_blocks) * block_cost_s(costs_s, len(audit.contenders))
    minutes = math.ceil(budget_s / _SECONDS_PER_MINUTE)
    done = f"about {needed} blocks would decide, {audit.complete_blocks} are complete"
    if needed > BLOCKS_MOST:
        return f"The difference is small compared with the scatter of loads: {done}. On a less busy machine they scatter less."
    return f"Not enough time: {done}. The same command with --budget {minutes}m continues."


def _look_note(audit: Audit) -> str:
    """That blocks were added after results had been seen."""
    if not audit.looked or audit.complete_blocks <= audit.looked:
        return ""
    return (
        f"The audit was continued after its results had been shown at {counted(audit.looked, 'block')}: if that was because of "
        "them, its p values are too small."
    )


def finding_sentence(finding: LateResource, network: NetworkResult) -> str:
    """Says what arrives too late, and why."""
    name, size = name_of(finding.key), format_bytes(finding.size_bytes)
    role = ROLES[finding.role]
    match finding.reason:
        case Reason.FOUND_LATE:
            chain = " → ".join(name_of(key) for key in finding.chain)
            when = f"{format_ms(finding.requested_ms)}, {format_ms(finding.cost_ms)} after the document began to arrive"
            return f"{name} ({size}, {role}) is requested only at {when}. These come first: {chain}."
        case Reason.CROWDED:
            named = [f"{name_of(item.key)} {format_bytes(item.size_bytes)}" for item in finding.intruders]
            cost = f" That is {format_ms(finding.cost_ms)} of this link." if finding.cost_ms else ""
            when = f"from {format_ms(finding.requested_ms)} to {format_ms(finding.complete_ms)}"
            late = f"{format_bytes(finding.late_bytes)} of less important files came in between"
            return f"While {name} ({size}, {role}) was under way, {when}, {late}: {few(named, NAMED_MOST)}.{cost}"
        case Reason.BLOCKS:
            return (
                f"Nothing is painted before {name} ({size}) is there and has run: it is complete at "
                f"{format_ms(finding.complete_ms)}, the first paint is at {format_ms(network.look.fcp_ms)}."
            )


def changes_in_words(changes: Sequence[Change]) -> str:
    """For example "preload hero.jpg; defer app.js"."""
    return "; ".join(change.title[:1].lower() + change.title[1:] for change in changes)


def reason_sentence(change: Change) -> str:
    """Why a change is proposed. Names of files at its beginning keep their spelling."""
    begins_with_name = change.why.startswith(tuple(name_of(key) for key in change.targets))
    return f"{change.why if begins_with_name else capital(change.why)}."


def page_effects(network: NetworkResult, contenders: Sequence[Alternative]) -> list[Effect]:
    """The effects of contenders on all metrics of the page, the primary one first."""
    metrics = sorted((item for item in METRICS if item.source == "page"), key=lambda item: item.key != PRIMARY)
    found = (network.effect(contender.label, metric.key) for contender in contenders for metric in metrics)
    return [effect for effect in found if effect is not None]


def effects_on(network: NetworkResult, audit: Audit) -> list[EffectView]:
    """All contenders against today's page, for tables."""
    arms = network.comparison.arms if network.comparison is not None else ()
    return effect_views(page_effects(network, audit.contenders), arms, lambda effect: effect in network.effects)


def time_line(audit: Audit) -> str:
    """How long it took, and what for."""
    done = f"{audit.complete_blocks} of {audit.planned_blocks} blocks of loads on each network"
    blocks = done if audit.contenders else "no comparison"
    time = format_spent(audit.spent_s, audit.budget_s)
    return f"{time}: {blocks}, {len(audit.screening.singles)} changes simulated"


def _what(contender: Alternative) -> str:
    if not contender.changes:
        return "a server that follows the priorities of browsers"
    count = len(contender.changes)
    return "one change" if count == 1 else f"{count} changes"


def _nothing_found(audit: Audit) -> str:
    tried = len(audit.screening.singles)
    if not tried:
        return "there is nothing in it that could come in a better order"
    return f"of {counted(tried, 'change')} tried in simulation, none would make the page faster"


def _measured(network: NetworkResult, chosen: Alternative) -> str:
    effect = network.effect(chosen.label, PRIMARY)
    if effect is None or effect.change is None:
        return f"over {network.name} nothing was measured"
    change, interval = effect.metric.format_change(effect.change), effect.metric.format_range(effect.low, effect.high)
    confidence = "" if confidence_text(effect) == "95 %" else f"{confidence_text(effect)} "
    text = f"{change}, {confidence}interval {interval}" if interval else f"{change}, one block, no interval"
    basis = f"{text}; {counted(effect.blocks, 'block')}; {effect.verdict.value}"
    return f"over {network.name} the largest paint comes {_moved(network, chosen, effect)} ({basis})"


def _moved(network: NetworkResult, chosen: Alternative, effect: Effect) -> str:
    """For example "20 % (340 ms) sooner"."""
    assert effect.change is not None
    if not round(effect.change):
        return "at the same time"
    word = effect.metric.less if effect.change < 0 else effect.metric.more
    gain = _gain(network, chosen, effect.change)
    return f"{abs(effect.change):.0f} %{f' ({gain})' if gain else ''} {word}"


def _gain(network: NetworkResult, chosen: Alternative, change: float) -> str:
    """By how many milliseconds the medians differ; "" where they differ the other way than blocks typically do."""
    if network.comparison is None:
        return ""
    before, after = (network.comparison.arm(label).median[PRIMARY] for label in (TODAY, chosen.label))
    if before is None or after is None or (after - before) * change <= 0:
        return ""
    return format_ms(abs(after - before))
