"""A server's answers for a page that exists as a description only: under which authority and path each resource is asked for,
and bodies of the right size, made as they are read.
"""

from collections.abc import Sequence
from urllib.parse import quote

from mixedsched.core.h3.response import Headers, RequestHead, Response
from mixedsched.core.sim.requests import flags_of
from mixedsched.model.page import Page, Resource

PAGE_HOST = "page.test"
CERTIFICATE_HOSTS = (PAGE_HOST, f"*.{PAGE_HOST}")

_LEGAL = "/:?#[]@!$&'()*+,;=%"  # of RFC 3986, besides letters, digits and "-._~"

Address = tuple[str, str]
"""(authority, path with query)"""
MAX_HEADER_BYTES = 60_000  # QPACK as implemented takes no longer values than 64 KiB
OWN_HEADER_BYTES = 30  # about what the fields below and the name of the padding take, compressed

PADDING_FIELD = b"x-padding"
PADDING = b"X"  # its Huffman code has 8 bits, so compression leaves it as long as it is


def addresses_of(page: Page) -> tuple[Address, ...]:
    """One for each resource, in page order, no two alike.

    Host 0 is page.test, host N is hostN.page.test: one certificate covers them all, so one connection serves them, as in the
    studies. What may not stand in a path is escaped. Where a page lists a path twice, later ones get a query of their own.
    """
    taken: dict[Address, None] = {}
    for item in page.resources:
        authority = PAGE_HOST if item.host == 0 else f"host{item.host}.{PAGE_HOST}"
        path = quote(item.path if item.path.startswith("/") else f"/{item.path}", safe=_LEGAL)
        address, copy = (authority, path), 1
        while address in taken:
            copy += 1
            address = (authority, f"{path}{'&' if '?' in path else '?'}copy={copy}")
        taken[address] = None
    return tuple(taken)


class ZeroBody:
    """So many zero bytes, none of which exists before it is read."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.remaining_bytes = size_bytes

    def read(self, size_bytes: int) -> bytes:
        size_bytes = min(size_bytes, self.remaining_bytes)
        self.remaining_bytes -= size_bytes
        return bytes(size_bytes)


class PageResponder:
    """The server's knowledge of a page: sizes, and as manifest each resource's kind and flags.

    header_bytes is honoured by padding, up to MAX_HEADER_BYTES and to within some tens of bytes: how long a field section
    is depends on what the header compression has seen before.
    """

    def __init__(self, page: Page, addresses: Sequence[Address]) -> None:
        self._page = page
        self._resources: dict[Address, Resource] = dict(zip(addresses, page.resources, strict=True))

    def respond(self, head: RequestHead) -> Response:
        resource = self._resources.get((head.authority, head.path))
        if resource is None:
            return Response(404, [])
        return Response(
            200,
            _fields(resource),
            ZeroBody(resource.body_bytes),
            resource.mime,
            resource.kind,
            flags_of(self._page, resource),
        )


def _fields(resource: Resource) -> Headers:
    fields: Headers = [
        (b"content-type", quote(resource.mime, safe="/;=+. ").strip().encode()),
        (b"content-length", str(resource.body_bytes).encode()),
    ]
    padding_bytes = min(resource.header_bytes, MAX_HEADER_BYTES) - OWN_HEADER_BYTES
    if padding_bytes > 0:
        # The id makes each value a new one: what was sent before would be compressed to a byte or two.
        own = quote(resource.id, safe="").encode()[:padding_bytes]
        fields.append((PADDING_FIELD, own + PADDING * (padding_bytes - len(own))))
    return fields
