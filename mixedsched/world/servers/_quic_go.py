"""quic-go by a small file server of ours (quic-go/main.go), which leaves all order of bytes to the library."""

from mixedsched.world.servers._file_server import launch, version_of
from mixedsched.world.servers.kind import Abilities, Launch, Order, ServerKind

_WITHOUT_BURSTS = {"QUIC_GO_DISABLE_GSO": "true"}


def _prepare(order: Order) -> Launch:
    return launch(order, {} if order.bursts else _WITHOUT_BURSTS)


QUIC_GO = ServerKind(
    name="quic-go",
    title="quic-go's HTTP/3 server",
    programs=("mixedsched-quic-go",),
    priorities=(
        "since 0.62 follows the request's priority field and PRIORITY_UPDATE of streams that it knows; in one urgency the "
        "first whole response (N) and the shared ones (I) take turns 1:1; its own response field is not read, by decision"
    ),
    source="quic-go 0.62 to 0.65 read, 0.65.0 measured in November 2026",
    stand_in="server-quic-go",
    how_to_get="with Go 1.26 or newer: scripts/setup --lab builds our small file server on it",
    read_versions=("0.62", "0.63", "0.64", "0.65"),
    version_of=version_of("quic-go"),
    prepare=_prepare,
    abilities=Abilities(delays=True, methods=True),
)
