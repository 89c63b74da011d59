"""The hosts of a recording under the names that a site can have: plain DNS names, reached over https at the usual port.

Addresses, single labels and hosts at ports of their own get a name below .test: `127.0.0.1:8081` becomes
`127-0-0-1-8081.test`. A DNS name at a port of its own loses the port where no other recorded host has that name, so that
what was of one site (img.shop.test:8443 and www.shop.test:8443) still is; one with underscores gets hyphens in their place.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from mixedsched.sites.site import site_name_of

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LABEL_CHARACTERS = 63


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an exchange was: scheme, and host name with the port unless it is the scheme's usual one."""

    scheme: str
    authority: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def origin_of(url: str) -> Origin | None:
    """The origin of an absolute http or https URL; None if it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return None
    bracketed = f"[{host}]" if ":" in host else host
    return Origin(parts.scheme, bracketed if port in {None, _DEFAULT_PORTS[parts.scheme]} else f"{bracketed}:{port}")


def site_hosts(origins: Iterable[Origin]) -> dict[Origin, str]:
    """The site's name for each origin, in their order. http and https of one authority share a name."""
    wanted = list(dict.fromkeys(origins))
    plain = {item.authority for item in wanted if _is_plain(item.authority)}
    names: dict[str, str] = {}
    taken = set(plain)
    for authority in dict.fromkeys(item.authority for item in wanted):
        if authority in plain:
            names[authority] = authority
            continue
        names[authority] = next(name for name in _proposals(authority) if name not in taken)
        taken.add(names[authority])
    return {item: names[item.authority] for item in wanted}


def _is_plain(authority: str) -> bool:
    """Whether it is a lower-case DNS name of several labels, without a port, that a site may have."""
    labels = authority.split(".")
    return len(labels) > 1 and not _is_address(authority) and all(label == site_name_of(label) for label in labels)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.rpartition(".")[2].isdecimal()  # 127.1 and the like, which browsers take for addresses
    return True


def _proposals(authority: str) -> Iterable[str]:
    """Names to try, the nearest first, without end."""
    host, _, port = ("", "", "") if authority.startswith("[") else authority.partition(":")
    name = ".".join(label.replace("_", "-").strip("-") for label in host.split("."))
    if _is_plain(name):
        first, _, rest = name.partition(".")
        yield name
        if port:
            yield f"{first[: _LABEL_CHARACTERS - 6]}-{port}.{rest}"
    slug = re.sub("-+", "-", site_name_of(authority))
    yield f"{slug}.test"
    number = 2
    while True:
        yield f"{slug[: _LABEL_CHARACTERS - 6]}-{number}.test"
        number += 1
