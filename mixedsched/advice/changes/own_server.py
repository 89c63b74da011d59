"""The server that a site's owner has, and what advice for it needs: what acts there, its model, and what loads are made with.

Sources: docs/servers.md and docs/shipping.md, with the versions that were read or run.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from mixedsched.advice.changes.servers import OTHER, web_server
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.scheme import SERVER_MARK
from mixedsched.world.servers import KINDS, find_server


@dataclass(frozen=True, slots=True)
class KeptServer:
    """A server that advice is made for."""

    name: str
    """As users give it."""
    title: str
    model: str
    """The scheme that plays it in simulation."""
    headers: Literal["merged", "rewrite", "none"]
    """How a site can place its own responses: by `priority` fields, by rewrite rules that know urgency alone, or not at all."""
    heeds: bool
    """Whether it follows what the browser asks for."""
    words: str
    """What it does, and what follows from that for the advice, in a sentence without a stop."""
    update_wins: bool = False
    """Whether a late PRIORITY_UPDATE of the browser undoes what the site said."""
    in_order: bool = False
    """Whether it has no HTTP/3, so that in simulation all responses come in one line, as over TCP."""
    arm: str = ""
    """The real server's name as an arm, where it can be one."""
    on: str = ""
    """What loads are made with: an arm such as @caddy, or the model over our own server."""
    version: str = ""
    """Version of the real server, where loads are made with it."""
    version_words: str = ""
    """Why its loads may differ from what is said here; empty where that version was read."""

    @property
    def is_real(self) -> bool:
        """Whether loads are made with the real server."""
        return self.on.startswith(SERVER_MARK)

    @property
    def acts(self) -> tuple[str, ...]:
        """What can be proposed for it."""
        lines = {"merged": ("html", "headers"), "rewrite": ("html", "rewrite"), "none": ("html",)}[self.headers]
        return (*lines, *(("settings",) if SETTING.scheme == self.model else ()))

    def proof_words(self, *, is_loaded: bool) -> str:
        """How results for it were come by, a sentence without a stop. is_loaded: whether a browser was asked."""
        if not is_loaded:
            return f"{self.title} was only simulated, as {self.model}"
        if self.is_real:
            return f"loads were made with the real {self.title} {self.version}".rstrip()
        if self.in_order:
            return (
                f"{self.title} was not run: loads were made with its order ({self.model}) over our own server's HTTP/3"
            )
        missing = f"the real {self.title} is not on this machine" if self.arm else f"{self.title} cannot be run here"
        return f"{missing}: loads were made with its model {self.model} over our own server"

    def to_dict(self, *, is_loaded: bool) -> dict[str, Any]:
        """For JSON. proved: real, model or simulated."""
        proved = "simulated" if not is_loaded else "real" if self.is_real else "model"
        return {
            "name": self.name,
            "title": self.title,
            "model": {
                "scheme": self.model,
                "source": SCHEMES[self.model].source,
                "over_tcp": self.in_order,
                "late_update_wins": self.update_wins,
            },
            "heeds_priorities": self.heeds,
            "acts": list(self.acts),
            "words": self.words,
            "proved": proved,
            "proved_on": self.on if is_loaded else None,
            "version": self.version or None,
            "proof": self.proof_words(is_loaded=is_loaded),
        }


@dataclass(frozen=True, slots=True)
class OrderSetting:
    """A setting of a server's configuration that changes its order: its name there, and as a parameter of model and arm."""

    scheme: str
    parameter: str
    directive: str
    usual: int
    values: tuple[int, ...]


SETTING = OrderSetting("server-nginx", "stream_buffer_bytes", "http3_stream_buffer_size", 65_536, (262_144, 1_048_576))
"""The only one that is known. With its default nginx 1.31.4 ends connections of many responses early (docs/servers.md). Smaller
sizes are not tried: a response that is alone gets one buffer a round trip, which the model leaves out.
"""

_KNOWN = (
    KeptServer(
        "nginx", "nginx", "server-nginx", "none", heeds=False, arm="nginx",
        words="nginx sends all responses in turns, whatever browsers ask for, and does not read the header that it sends; what "
        "acts is when the page requests each file (preloads act, fetchpriority only as far as the browser itself holds "
        "requests back), and http3_stream_buffer_size",
    ),
    KeptServer(
        "caddy", "Caddy", "server-quic-go", "none", heeds=True, arm="caddy",
        words="Caddy follows what browsers ask for, and does not read the header that it sends: what acts is the HTML",
    ),
    KeptServer(
        "apache", "Apache", "rr", "none", heeds=False, in_order=True,
        words="Apache has no HTTP/3, and headers act only behind an edge or CDN that has it: what acts is the HTML; it is "
        "simulated as responses in turns on one stream, as over TCP",
    ),
    KeptServer(
        "h2o", "H2O", "server-h2o", "merged", heeds=True, update_wins=True, arm="h2o",
        words="H2O merges `priority` headers, but when Chromium raises an image that it finds on the screen, this undoes the "
        "image's header",
    ),
    KeptServer(
        "litespeed", "LiteSpeed", "server-lsquic", "rewrite", heeds=True, update_wins=True,
        words="OpenLiteSpeed follows what browsers ask for, and does not read headers; its rewrite variable http-prio, which "
        "is not documented, sets an urgency; it is inferred that a later update from the browser undoes this",
    ),
    KeptServer(
        "cloudflare", "Cloudflare", "eps", "merged", heeds=True,
        words="Cloudflare merges `priority` headers of the origin according to its documentation; its order inside one urgency "
        "is not public, so it is simulated as in RFC 9218; whether a late update from the browser undoes a header is unknown",
    ),
    KeptServer(
        OTHER, "an unknown server", "rr", "none", heeds=False,
        words="nothing is known about the server, so it is simulated as one that ignores priorities and alternates responses, "
        "as most do: only the HTML is proposed",
    ),
)  # fmt: skip


def own_server(name: str) -> KeptServer:
    """The one of that name, with what is on this machine of it. Raises UsageError for a name that is not known."""
    web_server(name)
    known = next(item for item in _KNOWN if item.name == name)
    if known.arm:
        found = find_server(KINDS[known.arm])
        if found.is_usable and found.version is not None:
            read = ", ".join(found.kind.read_versions)
            words = "" if found.is_known else f"{known.title} {found.version.name} was not read, only {read}"
            return replace(known, on=SERVER_MARK + known.arm, version=found.version.name, version_words=words)
    return replace(known, on=known.model)
