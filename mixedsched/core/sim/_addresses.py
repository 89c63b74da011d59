"""Under which authority and path each resource of a page is asked for when the page is played over HTTP/3."""

from urllib.parse import quote

from mixedsched.model.page import Page

PAGE_HOST = "page.test"
CERTIFICATE_HOSTS = (PAGE_HOST, f"*.{PAGE_HOST}")

_LEGAL = "/:?#[]@!$&'()*+,;=%"  # of RFC 3986, besides letters, digits and "-._~"

Address = tuple[str, str]
"""(authority, path with query)"""


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
