"""Cloudflare's quiche by a small file server of ours (quiche/src), which leaves all order of bytes to the library.

quiche's own server is in no registry. Ours treats priorities as that one does: the request's field, or an update that came
before its response begins. Packets leave as soon as quiche makes them, one by one: its pacing needs a socket with SO_TXTIME.
"""

from mixedsched.world.servers._file_server import launch, version_of
from mixedsched.world.servers.kind import Abilities, ServerKind

QUICHE = ServerKind(
    name="quiche",
    title="Cloudflare's quiche",
    programs=("mixedsched-quiche",),
    priorities=(
        "by urgency, whole responses (N) by stream ID, then shared ones (I) in turn; by the request's priority field, or a "
        "PRIORITY_UPDATE that came before the response: its HTTP/3 layer has no call to change a priority later"
    ),
    source="quiche 0.24.4 and 0.30.0 read, 0.24.4 measured in November 2026",
    stand_in="server-quiche",
    how_to_get="with Rust 1.82 or newer and CMake: scripts/setup --lab builds our small file server on it",
    read_versions=("0.24", "0.30"),
    version_of=version_of("quiche"),
    prepare=launch,
    abilities=Abilities(delays=True, methods=True),
)
