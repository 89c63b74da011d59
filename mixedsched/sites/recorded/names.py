"""Names that a site can have for recorded hosts, and names of files for recorded addresses.

Hosts get plain DNS names, reached over https at the usual port. Addresses, single labels and hosts at ports of their own get
a name below .test: `127.0.0.1:8081` becomes `127-0-0-1-8081.test`. A DNS name at a port of its own loses the port where no
other recorded host has that name, so that what was of one site (img.shop.test:8443 and www.shop.test:8443) still is; one
with underscores gets hyphens in their place.

A file's name is made of the letters, digits, `-`, `_`, `.` and `~` of ASCII only, has no segment that begins with a dot, and
differs from every other name by more than case, so that it also holds on file systems that do not tell `A` from `a`. So no
file can lie outside the site's folder.
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mixedsched.sites.site import site_name_of
from mixedsched.sites.site.paths import names_no_host

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LABEL_CHARACTERS = 63


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an exchange: scheme, and host name with the port unless it is the scheme's usual one."""

    scheme: str
    authority: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def origin_of(url: str) -> Origin | None:
    """The origin of an absolute http or https URL; None if it is none."""
    if names_no_host(url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return None
    bracketed = f"[{host}]" if ":" in host else host
    return Origin(parts.scheme, bracketed if port in {None, _DEFAULT_PORTS[parts.scheme]} else f"{bracketed}:{port}")


def site_name_of_url(url: str) -> str:
    """A name for the site of a page: its host without www, and the port if it has one of its own."""
    parts = urlsplit(url)
    host = (parts.hostname or "page").removeprefix("www.")
    return site_name_of(f"{host}-{parts.port}" if parts.port is not None else host)


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


_SEGMENT_CHARACTERS = 60
_SEGMENTS = 8  # deeper paths become flat
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_HASH_DIGITS = 8
# Devices, on some systems, whatever their suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)


class FileNames:
    """Gives each address a file name, relative to the site's root, that no other address has."""

    def __init__(self) -> None:
        self._files: set[str] = set()  # in lower case
        self._folders: set[str] = set()

    def name(self, host: str, path: str, suffix: str = "") -> str:
        """A name for a path with its query on a host. suffix: what a name that has none gets, such as ".html"."""
        bare, mark, query = path.partition("?")
        folders, base = _segments(host, bare)
        if not _SUFFIX.search(base):
            base += suffix
        if mark:
            base = _marked(base, query)
        name = next(name for name in _candidates(folders, base, f"{host} {path}") if not self._is_taken(name))
        self._files.add(name.lower())
        self._folders.update(_parents(name))
        return name

    def _is_taken(self, name: str) -> bool:
        lower = name.lower()
        return lower in self._files or lower in self._folders or bool(self._files & _parents(name))


def _candidates(folders: list[str], base: str, address: str) -> Iterator[str]:
    """Names to try, the most readable first, without end."""
    yield "/".join([*folders, base])
    yield "/".join([*folders, _marked(base, address)])
    number = 1
    while True:  # one of the folders is a file, or a hash has met its like
        yield f"{folders[0]}/{_marked(base, f'{number} {address}')}"
        number += 1


def _segments(host: str, bare: str) -> tuple[list[str], str]:
    """Safe names of the folders and of the file. bare: a path without its query."""
    raw = bare.lstrip("/").split("/")
    names = [_safe(segment) for segment in raw[:-1] if segment]
    base = _safe(raw[-1]) if raw[-1] else "index.html"
    if len(names) > _SEGMENTS:
        names = [*names[: _SEGMENTS - 1], _hash("/".join(raw[:-1]))]
    return [_safe(host), *names], base


def _safe(segment: str) -> str:
    """A segment with nothing in it that a file system could take for something else."""
    text = _UNSAFE.sub("_", unquote(segment)).lstrip(".").rstrip(".")
    if not text or _DEVICES.match(text):
        text = f"_{text}"
    if len(text) > _SEGMENT_CHARACTERS:
        found = _SUFFIX.search(text)
        suffix = found[0] if found else ""
        text = f"{text[: _SEGMENT_CHARACTERS - len(suffix) - _HASH_DIGITS - 1]}~{_hash(segment)}{suffix}"
    return text


def _marked(base: str, text: str) -> str:
    """A file name with a hash of `text` before its suffix: "style.css" -> "style~1f3870be.css"."""
    found = _SUFFIX.search(base)
    stem, suffix = (base[: found.start()], found[0]) if found else (base, "")
    return f"{stem}~{_hash(text)}{suffix}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]


def _parents(name: str) -> set[str]:
    """All folders on the way to a file, in lower case."""
    parts = name.lower().split("/")[:-1]
    return {"/".join(parts[: count + 1]) for count in range(len(parts))}
