"""`firefox`: the dependency tree of Firefox as Marx et al. drew it in 2019."""

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._marx import is_delayed, kind_of
from mixedsched.core.schedulers._tree import DependencyTree, Group, TreePlace, group_weights, weighted_groups
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheme import Parameter, Scheme, Values

LEADERS, UNBLOCKED, BACKGROUND, FOLLOWERS, SPECULATIVE = (
    "leaders",
    "unblocked",
    "background",
    "followers",
    "speculative",
)

GROUPS = (
    Group(LEADERS, 201),
    Group(UNBLOCKED, 101),
    Group(BACKGROUND, 1),
    Group(FOLLOWERS, 1, LEADERS),
    Group(SPECULATIVE, 1, BACKGROUND),
)

GROUP_WEIGHTS = group_weights(
    {
        LEADERS: "style sheets and blocking scripts",
        UNBLOCKED: "XHR and scripts that block nothing",
        BACKGROUND: "the rest",
        FOLLOWERS: "documents, images and fonts, beside the single responses of the leaders",
    },
    GROUPS,
)

JS = Parameter(
    "js",
    "which scripts lead: all but async and deferred ones (case study 1 of the paper), those and all in the head (the published "
    "code), or those in the head only (the survey of 2018)",
    default="case",
    choices=("case", "code", "survey"),
)
WEIGHTS = Parameter(
    "weights",
    "weights as intended (fonts 42, other 16) or as the published code computes them (32, by mistake)",
    default="intended",
    choices=("intended", "code"),
)


def _group_of_script(request: Request, variant: str) -> str:
    in_head = Flag.IN_HEAD in request.hints
    leads = {"case": not is_delayed(request), "code": in_head or not is_delayed(request), "survey": in_head}
    return LEADERS if leads[variant] else UNBLOCKED


def group_of(request: Request, values: Values) -> str:
    """The group that a response belongs to."""
    kind = kind_of(request, values)
    if kind is Kind.SCRIPT:
        return _group_of_script(request, str(values["js"]))
    if Flag.PRELOAD in request.hints:
        return SPECULATIVE
    match kind:
        case Kind.DOCUMENT | Kind.IMAGE | Kind.FONT:
            return FOLLOWERS
        case Kind.XHR:
            return UNBLOCKED
        case Kind.STYLESHEET:
            return LEADERS
        case _:
            return BACKGROUND


def weight_of(request: Request, values: Values) -> int:
    """Its weight in the group. An SVG is an image here, whatever group it is in."""
    if request.kind is Kind.IMAGE:
        return 22
    if values["weights"] == "intended":
        if request.kind is Kind.FONT:
            return 42
        if kind_of(request, values) in {Kind.MEDIA, Kind.OTHER}:
            return 16
    return 32


SCHEMES = (
    Scheme(
        name="firefox",
        description="Groups that share by weight: leaders (201: style sheets, blocking scripts), unblocked (101: XHR, async "
        "scripts), background (1). Documents, images and fonts follow as a sibling of weight 1 beside the leaders.",
        source=f"{_marx.SOURCE}, firefox; weights and deferred scripts as its case study has them, not its code",
        needs="kind, and from the manifest: in_head, async, defer, preload (else inferred from Chromium's priority)",
        create=lambda values: DependencyTree(weighted_groups(GROUPS, GROUP_WEIGHTS, values)),
        place=lambda request, _mapping, values: TreePlace(group_of(request, values), weight_of(request, values)),
        parameters=(JS, WEIGHTS, _marx.SVG, *GROUP_WEIGHTS),
    ),
)
