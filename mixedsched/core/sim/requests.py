"""The requests of a simulated page, as a server sees them."""

from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Request


def signal_of(resource: Resource) -> Priority:
    """The EPS signal that Chromium sends with a request for this resource: urgency = rank of its own priority."""
    return Priority(resource.chromium_priority.rank, resource.incremental)


def flags_of(page: Page, resource: Resource) -> frozenset[Flag]:
    """The manifest's flags; the main document has its own, whether or not the page says so."""
    return resource.flags | {Flag.MAIN} if resource is page.main else resource.flags


def request_for(page: Page, resource: Resource, stream_id: int) -> Request:
    """The request as a server sees it that has the page's manifest."""
    signal = signal_of(resource)
    return Request(
        stream_id=stream_id,
        path=resource.path,
        kind=resource.kind,
        signal=signal,
        signalled=signal != Priority(),
        chromium_priority=resource.chromium_priority,
        mime=resource.mime,
        body_bytes=resource.body_bytes,
        flags=flags_of(page, resource),
        navigates=resource is page.main,
    )
