"""One observed load compared with the manifest. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.analysis.difference import rank_correlation
from mixedsched.sites.site import Site
from mixedsched.world.browser.observation import Observation, ObservedRequest
from mixedsched.world.browser.pageload import FormFactor

GOOD_SHARE = 0.95
GOOD_CORRELATION = 0.9
_FEWEST_TO_ORDER = 3

What = Literal[
    "request", "status", "kind", "priority", "incremental", "size", "hero", "above_fold", "extra", "connections"
]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that was not as the manifest says."""

    id: str  # of the resource; the address of a request that the manifest does not have; the site's name for the whole page
    url: str
    what: What
    wanted: str
    got: str


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How well a load agrees with the manifest."""

    site: str
    form_factor: FormFactor
    chromium_version: str
    resources: int
    requested: int
    faithful: int  # resources requested with the kind and the priority of the manifest
    # Spearman's coefficients, None for fewer than three: the order of the manifest against the order in which the page asked,
    # and in which requests left. These differ, because Chromium holds back what is not urgent.
    order_correlation: float | None
    sent_correlation: float | None
    findings: tuple[Mismatch, ...]  # in the order of the manifest
    ended: str
    notes: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of resources requested with their kind and priority, 0..1."""
        return self.faithful / self.resources

    @property
    def has_exact_sizes(self) -> bool:
        return not any(finding.what == "size" for finding in self.findings)

    @property
    def is_good(self) -> bool:
        """At least 95 % faithful, in an order that correlates with 0.9 or more, sizes exact."""
        in_order = self.order_correlation is None or self.order_correlation >= GOOD_CORRELATION
        return self.share >= GOOD_SHARE and in_order and self.has_exact_sizes

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share, "has_exact_sizes": self.has_exact_sizes, "good": self.is_good}


def compare(site: Site, seen: Observation, connections: int | None = None) -> Fidelity:
    """Compare the observed load of a site with its manifest. Only loads of the lab show priorities as they were sent.

    connections: how many it took, if that is known.
    """
    requests = _by_address(seen.requests)
    found: list[Mismatch] = []
    faithful, asked, sent = 0, [], []
    for item in site.page.resources:
        url = f"https://{site.hosts[item.host]}{item.path}"
        request = requests.pop(_address(url), None)
        if request is None or not request.status:
            found.append(
                Mismatch(item.id, url, "request", "requested", "not requested" if request is None else "not answered")
            )
            continue
        asked.append((request.asked_ms, request.index))
        sent.append(request.index)
        deviations = list(_deviations(item, request))
        faithful += not any(finding.what in {"kind", "priority"} for finding in deviations)
        found += deviations
    found += _of_first_screen(site, seen)
    found += [Mismatch(one.url, one.url, "extra", "no such resource", _asked(one)) for one in requests.values()]
    expected = expected_connections(site)
    if connections is not None and connections != expected.count:
        found.append(Mismatch(site.name, site.url, "connections", str(expected), str(connections)))
    return Fidelity(
        site=site.name,
        form_factor=seen.form_factor,
        chromium_version=seen.chromium_version,
        resources=len(site.page.resources),
        requested=len(sent),
        faithful=faithful,
        order_correlation=order_correlation(asked),
        sent_correlation=order_correlation(sent),
        findings=tuple(found),
        ended=seen.ended,
        notes=seen.notes,
    )


def order_correlation(places: Sequence[float] | Sequence[tuple[float, int]]) -> float | None:
    """Spearman's coefficient of distinct places against a rising order; None for fewer than three, where it says nothing."""
    if len(places) < _FEWEST_TO_ORDER:
        return None
    return rank_correlation(sorted(range(len(places)), key=places.__getitem__))


def _by_address(requests: Sequence[ObservedRequest]) -> dict[tuple[str, str], ObservedRequest]:
    """The first request for each address."""
    first: dict[tuple[str, str], ObservedRequest] = {}
    for request in requests:
        first.setdefault(_address(request.url), request)
    return first


def _address(url: str) -> tuple[str, str]:
    """Host, and path with query, in the one spelling that all encodings of it have in common."""
    parts = urlsplit(url)
    has_query = parts.query or url.partition("#")[0].endswith("?")  # an empty one is part of the address, too
    query = f"?{parts.query}" if has_query else ""
    return parts.hostname or "", unquote(f"{parts.path}{query}")


def _deviations(item: Resource, request: ObservedRequest) -> Sequence[Mismatch]:
    url = request.url
    pairs: Mapping[What, tuple[str, str]] = {
        "status": ("answered", f"status {request.status}"),
        "kind": (item.kind.value, request.kind.value),
        "priority": (item.chromium_priority.value, _priority(request).value),
        "incremental": (_yes(item.incremental), _yes(bool(request.incremental))),
        "size": (str(item.body_bytes), str(request.sent_bytes)),
    }
    agrees: Mapping[What, bool] = {
        "status": request.status < 400,
        "kind": _same_kind(item.kind, request),
        "priority": item.chromium_priority is _priority(request),
        "incremental": request.incremental is None or item.incremental is request.incremental,
        "size": _same_size(item, request),
    }
    return [Mismatch(item.id, url, what, *pairs[what]) for what, fine in agrees.items() if not fine]


def _priority(request: ObservedRequest) -> ChromiumPriority:
    """The priority at the moment when the request left, by its signal."""
    by_urgency = tuple(ChromiumPriority)
    if request.urgency is None or request.urgency >= len(by_urgency):
        return request.priority
    return by_urgency[request.urgency]


def _same_kind(kind: Kind, request: ObservedRequest) -> bool:
    """Requests that DevTools calls Other count as such, whatever their destination says."""
    return request.kind is kind or (kind is Kind.OTHER and request.resource_type == "Other")


def _same_size(item: Resource, request: ObservedRequest) -> bool:
    """Media are requested in ranges, and may be stopped when enough is there; a partial answer says nothing about the size."""
    if request.kind is Kind.MEDIA or request.complete_ms is None:
        return request.sent_bytes <= item.body_bytes
    return request.sent_bytes == item.body_bytes


def _of_first_screen(site: Site, seen: Observation) -> Sequence[Mismatch]:
    found = []
    by_address = _by_address(seen.requests)
    for item in site.page.resources:
        url = f"https://{site.hosts[item.host]}{item.path}"
        request = by_address.get(_address(url))
        if Flag.HERO in item.flags and (seen.lcp_url is None or _address(seen.lcp_url) != _address(url)):
            found.append(
                Mismatch(item.id, url, "hero", "the largest paint", seen.lcp_url or seen.lcp_element or "none")
            )
        elif (
            item.kind is Kind.IMAGE
            and item.flags & {Flag.ABOVE_FOLD, Flag.HERO}
            and request is not None
            and not request.flags & {Flag.ABOVE_FOLD, Flag.HERO}
        ):
            found.append(Mismatch(item.id, url, "above_fold", "on the first screen", "not there"))
    return found


def _asked(request: ObservedRequest) -> str:
    return f"{request.kind}, status {request.status}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
