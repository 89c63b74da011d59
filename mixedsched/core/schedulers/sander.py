"""`chrome7`, `packet-rr`, `safari-wrr`, `firefox-tree`, `firefox-eps`: what Sander et al. 2022 had one server do."""

from types import MappingProxyType

from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._fair import WeightedFair
from mixedsched.core.schedulers._levels import Level, StrictLevels
from mixedsched.core.schedulers._queue import Fifo, NewcomersFirst, RoundRobin
from mixedsched.core.schedulers._tree import DependencyTree, Group, TreePlace, group_weights, weighted_groups
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.request import ChromiumPriority, Flag, Kind, Request
from mixedsched.model.scheme import Parameter, Scheme, Values

SOURCE = "Sander et al. 2022, Analyzing the Influence of Resource Prioritization on HTTP/3 HOL Blocking and Performance (TMA)"

URGENT_START, LEADERS, FOLLOWERS, UNBLOCKED, BACKGROUND, SPECULATIVE = (
    "urgent-start",
    "leaders",
    "followers",
    "unblocked",
    "background",
    "speculative",
)

FIREFOX_NEEDS = (
    "kind, and from the manifest: main, in_head, async, defer, preload (else inferred from Chromium's priority)"
)
CHROME_LEVELS = 7  # the last two, idle and throttled, are for what Chromium hardly sends

SAFARI_WEIGHTS = MappingProxyType(
    {Kind.DOCUMENT: 255, Kind.STYLESHEET: 24, Kind.SCRIPT: 24, Kind.XHR: 16, Kind.FONT: 16}  # everything else: 8
)

TREE_GROUPS = (
    Group(LEADERS, 201),
    Group(UNBLOCKED, 101),
    Group(BACKGROUND, 1),
    Group(SPECULATIVE, 1, BACKGROUND),
    Group(FOLLOWERS, 1, LEADERS),
    Group(URGENT_START, 241),
)

TREE_WEIGHTS = group_weights(
    {
        URGENT_START: "the navigation",
        LEADERS: "style sheets and blocking scripts of the head",
        UNBLOCKED: "XHR, all other scripts, and preloaded fonts",
        BACKGROUND: "what Chromium asks for as VeryLow",
        FOLLOWERS: "images and fonts, beside the single responses of the leaders",
    },
    TREE_GROUPS,
)

URGENCIES = MappingProxyType(
    {
        "study": {URGENT_START: 1, LEADERS: 2, FOLLOWERS: 3, UNBLOCKED: 4, BACKGROUND: 5, SPECULATIVE: 6},
        "firefox": {URGENT_START: 1, LEADERS: 2, UNBLOCKED: 3, FOLLOWERS: 4, BACKGROUND: 6, SPECULATIVE: 6},
    }
)


def firefox_group(request: Request) -> str:
    """Firefox's class of service. The study recorded it per URL in a real Firefox; these rules replace that record.

    Source: Firefox's ScriptLoader.cpp (only blocking scripts of the head lead; all others are neither blocked nor preferred),
    FetchPreloader.cpp and ScriptLoadContext.cpp (preloaded fonts, scripts and data are unblocked), and its
    netwerk/docs/http/prioritization.md (preloaded style sheets lead; preloaded images are like other images). No page
    says what is speculative there.
    """
    hints, kind = request.hints, request.kind
    if Flag.MAIN in hints:
        return URGENT_START
    if kind is Kind.SCRIPT:
        leads = Flag.IN_HEAD in hints and not hints & {Flag.ASYNC, Flag.DEFER, Flag.PRELOAD}
        return LEADERS if leads else UNBLOCKED
    if request.chromium_priority is ChromiumPriority.VERY_LOW and Flag.PRELOAD not in hints:
        return BACKGROUND
    match kind:
        case Kind.DOCUMENT | Kind.STYLESHEET:
            return LEADERS
        case Kind.XHR:
            return UNBLOCKED
        case Kind.FONT | Kind.OTHER if Flag.PRELOAD in hints:
            return UNBLOCKED
        case _:
            return FOLLOWERS


def _place_in_chrome(request: Request, _mapping: PriorityMapping | None, values: Values) -> Level:
    rank = request.chromium_priority.rank
    is_raised = request.kind is Kind.IMAGE and bool(request.hints & {Flag.ABOVE_FOLD, Flag.HERO})
    return Level(min(rank, ChromiumPriority.HIGH.rank) if is_raised and values["hints"] == "maximum" else rank)


def _place_in_safari(request: Request, _mapping: PriorityMapping | None, _values: Values) -> int:
    is_manifest = request.kind is Kind.OTHER and ("manifest" in request.mime or "json" in request.mime)
    return SAFARI_WEIGHTS.get(Kind.XHR if is_manifest else request.kind, 8)


def _place_in_tree(request: Request, _mapping: PriorityMapping | None, _values: Values) -> TreePlace:
    """Weights by Firefox's channel priorities, 22 - p: fonts and preloaded scripts highest (-20), what blocks high (-10),
    images normal (0).
    """
    match request.kind:
        case Kind.FONT:
            weight = 42
        case Kind.SCRIPT if Flag.PRELOAD in request.hints:
            weight = 42
        case Kind.DOCUMENT | Kind.STYLESHEET | Kind.SCRIPT | Kind.XHR:
            weight = 32
        case _:
            weight = 22
    return TreePlace(firefox_group(request), weight)


def _place_by_urgency(request: Request, _mapping: PriorityMapping | None, values: Values) -> Level:
    return Level(URGENCIES[str(values["urgencies"])][firefox_group(request)])


SCHEMES = (
    Scheme(
        name="chrome7",
        description="Seven strict levels by Chromium's own priority; inside one, responses in the order of their requests. "
        "A better one interrupts at the next packet.",
        source=f"{SOURCE}, Chrome: a chain of exclusive insertions ordered by (level, arrival)",
        needs="Chromium priority",
        create=lambda _: StrictLevels(CHROME_LEVELS, Fifo),
        place=_place_in_chrome,
        parameters=(
            Parameter(
                "hints",
                "Chromium's priority as it is when a response is placed, or the highest that the URL ever gets, as the study "
                "took it from earlier loads: images of the first screen are High, however early they are asked for",
                default="live",
                choices=("live", "maximum"),
            ),
        ),
    ),
    Scheme(
        name="packet-rr",
        description="All responses take turns of one packet each, in order of stream ID.",
        source=f"{SOURCE}, RR: equal weights below the root of the tree",
        needs="nothing",
        create=lambda _: Siblings(RoundRobin(1), int),
        place=lambda _request, _mapping, _values: 1,
    ),
    Scheme(
        name="safari-wrr",
        description="All responses take turns, with more packets for documents (255) than for style sheets and scripts (24), "
        "XHR and fonts (16) and the rest (8). Weights share packets, as in the H2O server of the study.",
        source=f"{SOURCE}, WRR (Safari)",
        needs="kind",
        create=lambda _: Siblings(WeightedFair(by_packets=True), int),
        place=_place_in_safari,
    ),
    Scheme(
        name="firefox-tree",
        description="Groups that share by weight: urgent start (241: the navigation), leaders (201), unblocked (101), "
        "background (1); images and fonts follow as a sibling of weight 1 beside the leaders.",
        source=f"{SOURCE}, Firefox, Fig. 3 with updated weights; groups by rules instead of recorded per URL",
        needs=FIREFOX_NEEDS,
        create=lambda values: DependencyTree(weighted_groups(TREE_GROUPS, TREE_WEIGHTS, values), by_packets=True),
        place=_place_in_tree,
        parameters=TREE_WEIGHTS,
    ),
    Scheme(
        name="firefox-eps",
        description="Firefox's groups as six urgencies, strictly; inside one, responses take turns packet by packet, "
        "a newcomer first.",
        source=f"{SOURCE}, Firefox (EPS) on H2O's scheduler of extensible priorities",
        needs=FIREFOX_NEEDS,
        create=lambda _: StrictLevels(8, NewcomersFirst),
        place=_place_by_urgency,
        parameters=(
            Parameter(
                "urgencies",
                "of the study (followers 3, unblocked 4) or of Firefox since November 2021 (the other way round)",
                default="study",
                choices=("study", "firefox"),
            ),
        ),
    ),
)
