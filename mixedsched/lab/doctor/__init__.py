"""Proves, part by part, that pages can be measured here, or that people get to HTTP/3 at an address."""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from mixedsched.lab.doctor._browser import prove_page_load, prove_runner
from mixedsched.lab.doctor._check import Check, checked
from mixedsched.lab.doctor._edge import examine_edge
from mixedsched.lab.doctor._parts import prove_certificate, prove_namespaces, prove_ports, prove_relay, prove_router
from mixedsched.sites.site import Site
from mixedsched.world.browser.find import find_chromium, find_firefox, find_node
from mixedsched.world.browser.kinds import Browser

__all__ = ["Check", "examine", "examine_edge"]


def examine(
    open_site: Callable[[], Site], site_names: Sequence[str], browser: Browser = Browser.CHROMIUM
) -> Iterator[Check]:
    """All checks, cheap ones first; what needs a part that has failed is not tried.

    open_site: opens the bundled site that is loaded as a proof. site_names: of all bundled sites. browser: that loads it.
    """
    yield checked("sites", lambda: f"{len(site_names)} bundled: {', '.join(site_names)}")
    yield checked("certificate", prove_certificate)
    yield checked("free UDP ports", prove_ports)
    yield checked("relay timers", lambda: asyncio.run(prove_relay()))
    yield checked("kernel's links", lambda: asyncio.run(prove_namespaces()), is_optional=True)
    yield checked("router VM", prove_router, is_optional=True)
    find_browser = find_firefox if browser is Browser.FIREFOX else find_chromium
    parts = [checked("Node", lambda: str(find_node())), checked(browser.brand, lambda: str(find_browser()))]
    yield from parts
    if not all(part.ok for part in parts):
        return
    runner = checked("lighthouse-runner", lambda: asyncio.run(prove_runner(browser)))
    yield runner
    if runner.ok:
        yield from prove_page_load(open_site, browser)
