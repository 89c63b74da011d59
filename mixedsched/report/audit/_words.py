"""What an audit says, in plain words: the verdict, each finding, each change. The same on the terminal and in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mixedsched.advice.audit.budget import block_cost_s, blocks_wanted
from mixedsched.advice.audit.result import Alternative, Audit, NetworkResult
from mixedsched.advice.audit.verdict import PRIMARY, AuditVerdict
from mixedsched.advice.changes.change import Change, name_of
from mixedsched.advice.changes.findings import NAMED_MOST, LateResource, Reason
from mixedsched.advice.changes.look import PaintRole
from mixedsched.core.metrics import METRICS, metric_named
from mixedsched.lab.comparison import Effect, Verdict
from mixedsched.lab.costs import BLOCKS_MOST
from mixedsched.units import format_bytes, format_duration, format_ms

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
TONES = {
    AuditVerdict.GOOD: "equivalent",
    AuditVerdict.IMPROVABLE: "better",
    AuditVerdict.MIXED: "worse",
    AuditVerdict.OPEN: "undecided",
    AuditVerdict.UNMEASURED: "undecided",
}
CHIPS = {
    AuditVerdict.GOOD: "= good as it is",
    AuditVerdict.IMPROVABLE: "▼ could be better",
    AuditVerdict.MIXED: "▲▼ better here, worse there",
    AuditVerdict.OPEN: "? not proved yet",
    AuditVerdict.UNMEASURED: "? not measured",
}
SECONDS_PER_MINUTE = 60


def headline(audit: Audit) -> str:
    """The verdict in one sentence, or two."""
    chosen = audit.chosen
    if chosen is None:
        return f"Today's delivery is good: {_nothing_found(audit)}."
    measured = [_measured(item, chosen) for item in audit.networks]
    told = "; ".join(text for text in measured if text)
    what = _what(chosen)
    match audit.outcome:
        case AuditVerdict.IMPROVABLE:
            return f"The page could be faster. With {what}: {told}."
        case AuditVerdict.MIXED:
            return f"No clear advice: {what} helps on one network and harms on another. {_capital(told)}."
        case AuditVerdict.GOOD:
            best = f"even the best that could be found, {what}, is not seen to help"
            return f"Today's delivery is good: {best}. {_capital(told)}."
        case AuditVerdict.OPEN:
            return (
                f"Not proved yet: {what} should help, says the simulation, but more loads are needed. {_capital(told)}."
            )
        case AuditVerdict.UNMEASURED:
            return f"Not measured: {what} should help, says the simulation, but no block of loads is complete."


def advice_on_time(audit: Audit) -> str:
    """How much time would decide what is open; "" where nothing is."""
    if audit.chosen is None or audit.outcome not in {AuditVerdict.OPEN, AuditVerdict.UNMEASURED}:
        return ""
    effects = [item for network in audit.networks for item in network.effects if item.arm == audit.chosen.label]
    needed = max((item.blocks + (item.more_blocks or 0) for item in effects), default=0)
    needed = max(needed, blocks_wanted(len(audit.contenders), len(audit.networks)) + 1)
    costs_s = {item.name: item.looks[audit.baseline].cost_s for item in audit.networks}
    budget_s = audit.spent_s + max(1, needed - audit.complete_blocks) * block_cost_s(costs_s, len(audit.contenders))
    minutes = math.ceil(budget_s / SECONDS_PER_MINUTE)
    done = f"about {needed} blocks would decide, {audit.complete_blocks} are complete"
    if needed > BLOCKS_MOST:
        return f"The difference is small beside the scatter of loads: {done}. A machine with less to do scatters less."
    return f"Not enough time: {done}. The same command with --budget {minutes}m goes on."


def finding_sentence(finding: LateResource, network: NetworkResult) -> str:
    """What comes too late, and why."""
    name, size = name_of(finding.key), format_bytes(finding.size_bytes)
    role = ROLES[finding.role]
    match finding.reason:
        case Reason.FOUND_LATE:
            chain = " → ".join(name_of(key) for key in finding.chain)
            when = f"{format_ms(finding.requested_ms)}, {format_ms(finding.cost_ms)} after the document began to arrive"
            return f"{name} ({size}, {role}) is requested only at {when}. These come first: {chain}."
        case Reason.CROWDED:
            named = [f"{name_of(item.key)} {format_bytes(item.size_bytes)}" for item in finding.intruders[:NAMED_MOST]]
            more = len(finding.intruders) - len(named)
            others = f" and {more} more" if more > 0 else ""
            cost = f" That is {format_ms(finding.cost_ms)} of this link." if finding.cost_ms else ""
            when = f"from {format_ms(finding.requested_ms)} to {format_ms(finding.complete_ms)}"
            late = f"{format_bytes(finding.late_bytes)} of less important files came in between"
            return f"While {name} ({size}, {role}) was under way, {when}, {late}: {', '.join(named)}{others}.{cost}"
        case Reason.BLOCKS:
            return (
                f"Nothing is painted before {name} ({size}) is there and has run: it is complete at "
                f"{format_ms(finding.complete_ms)}, the first paint is at {format_ms(network.look.fcp_ms)}."
            )


def changes_in_words(changes: Sequence[Change]) -> str:
    """As "preload hero.jpg, defer app.js"."""
    titles = [change.title[:1].lower() + change.title[1:] for change in changes]
    return "; ".join(titles)


def effect_in_words(effect: Effect | None) -> str:
    """As "−18.0 % (−22.1 to −14.3 %)"."""
    if effect is None or effect.change is None:
        return "not measured"
    change = effect.metric.format_change(effect.change)
    if effect.low is None or effect.high is None:
        return f"{change} (one block, no interval)"
    confidence = "" if effect.confidence >= 0.95 else f", confidence only {effect.confidence * 100:.3g} %"
    low, high = effect.metric.format_change(effect.low), effect.metric.format_change(effect.high)
    return f"{change} ({low.removesuffix(' %')} to {high}{confidence})"


def medians(network: NetworkResult, contender: str, metric: str, baseline: str) -> str:
    """As "2.80 s → 1.66 s"; today's first load where nothing was compared."""
    how = metric_named(metric)
    if network.comparison is None or not network.comparison.complete_blocks:
        return how.format(network.looks[baseline].page_load["metrics"].get(metric))
    by_label = {arm.label: arm.median[metric] for arm in network.comparison.arms}
    return f"{how.format(by_label['today'])} → {how.format(by_label[contender])}"


def guard_note(audit: Audit) -> str:
    """What got worse while the largest paint got better; "" if nothing did."""
    chosen = audit.chosen
    if chosen is None or audit.outcome is not AuditVerdict.IMPROVABLE:
        return ""
    told = [
        f"{metric.short} over {network.name} {effect_in_words(effect)}"
        for network in audit.networks
        for metric in METRICS
        if (effect := network.effect(chosen.label, metric.key)) is not None
        and effect.verdict is Verdict.WORSE
        and metric.source == "page"
    ]
    return f"Mind what seems to get worse: {', '.join(told)}." if told else ""


def server_note(audit: Audit) -> str:
    """What server the advice takes."""
    chosen = audit.chosen
    if chosen is None or chosen.scheme == audit.baseline:
        return ""
    return f"This takes {SCHEMES[chosen.scheme]}; today's is taken to be {SCHEMES[audit.baseline]}."


def expected_pct(change: float) -> str:
    """A simulated change in per cent: whole numbers, as simulation is no finer."""
    rounded = round(change)
    return "±0 %" if rounded == 0 else f"{'−' if rounded < 0 else '+'}{abs(rounded)} %"


def time_line(audit: Audit) -> str:
    """How long it took, and what for."""
    done = f"{audit.complete_blocks} of {audit.planned_blocks} blocks of loads on each network"
    blocks = done if audit.contenders else "no comparison"
    time = f"{format_duration(audit.spent_s)} of {format_duration(audit.budget_s)}"
    return f"{time}: {blocks}, {len(audit.screening.singles)} changes simulated"


def _what(contender: Alternative) -> str:
    if contender.is_new_server:
        return "a server that follows the priorities of browsers"
    count = len(contender.changes)
    return "one change" if count == 1 else f"{count} changes"


def _nothing_found(audit: Audit) -> str:
    tried = len(audit.screening.singles)
    if not tried:
        return "there is nothing in it that could come in a better order"
    return f"of {tried} change{'s' if tried > 1 else ''} tried in simulation, none would make the page faster"


def _measured(network: NetworkResult, chosen: Alternative) -> str:
    effect = network.effect(chosen.label, PRIMARY)
    if effect is None or effect.change is None:
        return f"over {network.name} nothing was measured"
    blocks = f"{effect.blocks} block{'s' if effect.blocks > 1 else ''}"
    gain = _gain_ms(network, chosen)
    told = effect_in_words(effect).removesuffix(")").replace(" (", ", interval " if effect.blocks > 1 else ", ", 1)
    basis = f"{told}; {blocks}; {effect.verdict.value}"
    return f"over {network.name} the largest paint {_moves(effect)} {gain}({basis})"


def _moves(effect: Effect) -> str:
    assert effect.change is not None
    word = effect.metric.less if effect.change < 0 else effect.metric.more
    return f"comes {abs(effect.change):.0f} % {word}" if round(effect.change) else "comes at the same time"


def _gain_ms(network: NetworkResult, chosen: Alternative) -> str:
    if network.comparison is None:
        return ""
    by_label = {arm.label: arm.median[PRIMARY] for arm in network.comparison.arms}
    before, after = by_label["today"], by_label[chosen.label]
    return f"by {format_ms(abs(after - before))} " if before is not None and after is not None else ""


def reason_sentence(change: Change) -> str:
    """Why a change is proposed. Names of files at its beginning stay as they are."""
    begins_with_name = change.why.startswith(tuple(name_of(key) for key in change.targets))
    return f"{change.why if begins_with_name else _capital(change.why)}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
