"""Addresses of a site: what a reference in a document points to, and which file that is. Nothing leaves the root."""

import errno
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from mixedsched.errors import SiteError

# What browsers leave as it is in paths and queries (URL standard, path and query percent-encode sets).
_PATH_SAFE = "/%:@!$&'()*+,;=-._~[]|^"
_QUERY_SAFE = _PATH_SAFE.replace("'", "") + "?{}`\\"
_ASCII_WHITESPACE = " \t\n\r\f"
_NO_PART_OF_URLS = {ord(sign): None for sign in "\t\n\r"}
_USUAL_PORTS = {"http": ":80", "https": ":443"}
# Longer ones name no host, and parsers take time beyond their length for what is not ASCII in them.
_LONG_AUTHORITY = re.compile(r"(?:(?P<scheme>[a-z][a-z0-9+.-]*):)?[/\\]{2}[^/\\?#]{1024}", re.IGNORECASE)
_LABEL_MOST = 63  # characters of a part of a name (RFC 1035 section 2.3.4)


@dataclass(frozen=True, slots=True)
class Local:
    """A reference into the site. host: index into its hosts. path: as requested, with query, without fragment."""

    host: int
    path: str

    @property
    def file(self) -> str:
        """The path's file relative to the root: no query, percent-decoded, folders stand for their index.html."""
        return default_file(self.path)


@dataclass(frozen=True, slots=True)
class External:
    """A reference that would leave the site, or that is not a URL at all."""

    url: str


def default_file(path: str) -> str:
    """The file behind a request path: "/a%20b.css?v=1" -> "a b.css", "/docs/" -> "docs/index.html"."""
    bare = unquote(path.partition("?")[0]).lstrip("/")
    return bare + "index.html" if not bare or bare.endswith("/") else bare


def resolve(url: str, base_path: str, hosts: tuple[str, ...], host: int = 0) -> Local | External | None:
    """The meaning of a reference in a document at base_path of hosts[host]; None where it loads nothing (data:, #part, empty).

    What no URL parser takes is External: a browser would not load it, and its author wants to know.
    Source: URL standard, the parts that pages use: white space is trimmed, backslashes are slashes, // means https.
    """
    trimmed = _trimmed(url)
    if not trimmed or trimmed.startswith("#"):
        return None
    if (long := _LONG_AUTHORITY.match(trimmed)) is not None:
        return External(trimmed) if (long["scheme"] or "https").lower() in _USUAL_PORTS else None
    try:
        return _resolved(trimmed, base_path, hosts, host)
    except ValueError:  # half an IPv6 address, a host name that normalises to another
        return External(trimmed)


def _resolved(trimmed: str, base_path: str, hosts: tuple[str, ...], host: int) -> Local | External | None:
    """resolve() of a reference that is not empty. Raises ValueError if it is not a URL."""
    scheme = urlsplit(trimmed).scheme
    if scheme and scheme not in _USUAL_PORTS:
        return None
    joined = urlsplit(urljoin(f"https://{hosts[host]}{base_path}", _with_slashes(trimmed)))
    name = authority(joined.scheme, joined.netloc)
    return Local(hosts.index(name), _path_of(joined)) if name in hosts else External(trimmed)


def absolute(url: str, base_url: str) -> str:
    """The http or https address that a browser asks for where a document at base_url refers to `url`, without fragment.

    "" for what asks for nothing, and for what no URL parser takes. Source: as of resolve().
    """
    trimmed = _trimmed(url)
    if names_no_host(trimmed) or names_no_host(base_url):
        return ""
    try:
        joined = urlsplit(urljoin(base_url, _with_slashes(trimmed)))
        if joined.scheme not in _USUAL_PORTS or not trimmed or trimmed.startswith("#"):
            return ""
        return f"{joined.scheme}://{authority(joined.scheme, joined.netloc)}{_path_of(joined)}"
    except ValueError:  # as in resolve()
        return ""


def names_no_host(url: str) -> bool:
    """Whether what stands for a host in a reference is longer than any, so that parsers had better not see it."""
    return _LONG_AUTHORITY.match(url) is not None


def authority(scheme: str, netloc: str) -> str:
    """Host and port as browsers write them in addresses: without the scheme's usual port."""
    return ascii_host(netloc.removesuffix(_USUAL_PORTS[scheme]))


def _trimmed(url: str) -> str:
    return url.strip(_ASCII_WHITESPACE).translate(_NO_PART_OF_URLS)


def _path_of(parts: SplitResult) -> str:
    """Path and query as browsers send them."""
    query = f"?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else ""
    return quote(parts.path or "/", safe=_PATH_SAFE) + query


def _with_slashes(url: str) -> str:
    """Backslashes before the query as slashes, as browsers read them."""
    path, mark, rest = url.partition("?")
    return path.replace("\\", "/") + mark + rest


def url_of_file(file: str) -> str:
    """The absolute path under which a file of the root is requested: it means the same from every document."""
    return "/" + quote(file, safe=_PATH_SAFE.replace("%", ""))


def ascii_host(name: str) -> str:
    """A host's name as browsers ask for it, in lower case and Punycode (RFC 3492): `Bücher.Test` -> `xn--bcher-kva.test`.

    Labels that no name can hold stay as they are.
    """
    return ".".join(_ascii_label(label) for label in name.split("."))


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label.lower()
    if len(label) > 4 * _LABEL_MOST:  # several signs may become one
        return label
    plain = unicodedata.normalize("NFKC", label.lower())
    if len(plain) > _LABEL_MOST or not all(
        sign.isalnum() or sign == "-" or unicodedata.combining(sign) for sign in plain
    ):
        return label
    return plain if plain.isascii() else f"xn--{plain.encode('punycode').decode()}"


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Whether a request path, its query aside, fits one of the patterns (* ? [])."""
    bare = path.partition("?")[0]
    return any(fnmatchcase(bare, pattern) for pattern in patterns)


def confined(root: Path, relative: str, what: str) -> Path:
    """root/relative, if it is a regular, readable file inside root, symbolic links followed.

    what: how errors call what names it, for instance "site 'shop': resource 'logo'". Raises SiteError.
    """
    refused = f"{what} names the file '{shown(relative)}'"
    pure = PurePosixPath(relative)
    if pure.is_absolute() or ".." in pure.parts or "\\" in relative or "\0" in relative or relative in {"", "."}:
        raise SiteError(
            refused,
            why="that is not a path inside the served folder",
            fix="write it relative to the folder, with / and without ..",
        )
    if shown(relative) != relative:
        raise SiteError(refused, why="its name is not UTF-8", fix="rename the file")
    path = root / pure
    try:
        problem = _problem(root, path)
    except OSError as error:
        shorter = error.errno == errno.ENAMETOOLONG
        fix = "give it a shorter name" if shorter else "make it readable for you"
        raise SiteError(refused, why=error.strerror or str(error), fix=fix) from error
    if problem is not None:
        why, fix = problem
        raise SiteError(refused, why=why, fix=fix)
    return path


def is_confined(root: Path, relative: str) -> bool:
    """Whether `confined` would take this file."""
    try:
        confined(root, relative, "a question")
    except SiteError:
        return False
    return True


def _problem(root: Path, path: Path) -> tuple[str, str] | None:
    """Why a path cannot be served, and the remedy; None if it can. Raises OSError if it cannot be looked at."""
    if not path.exists():
        why = f"{shown(path)} is a link that leads nowhere" if path.is_symlink() else f"{shown(path)} does not exist"
        return why, "put the file there, or correct what names it"
    if not path.resolve().is_relative_to(root.resolve()):
        return f"it is a link that leads out of {shown(root)}", "copy the file into the folder"
    if not path.is_file():
        return "that is not a regular file", "name a file"
    with path.open("rb"):  # permission is known only by trying
        return None


def shown(text: object) -> str:
    """A path as text that can be printed and stored: bytes of file names that are not UTF-8 become \\udcXX."""
    return str(text).encode("utf-8", "backslashreplace").decode()
