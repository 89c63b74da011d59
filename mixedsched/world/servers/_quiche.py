"""quiche-server, the example server of Cloudflare's quiche (its folder apps): a folder of files, without types."""

from mixedsched.world.servers._tree import INDEX, make_tree
from mixedsched.world.servers._versions import packaged_version
from mixedsched.world.servers.kind import Abilities, Launch, Order, ServerKind
from mixedsched.world.system.udp import host_and_port


def _prepare(order: Order) -> Launch:
    root = make_tree(order.folder / "www", order.answers)
    where = host_and_port(order.host, order.port)
    options = ("--listen", where, "--root", str(root), "--index", INDEX, "--name", order.hosts[0], "--no-retry")
    bursts = () if order.bursts else ("--disable-gso",)
    files = ("--cert", str(order.certificate), "--key", str(order.key))
    return Launch((str(order.program.path), *options, *bursts, *files))


QUICHE = ServerKind(
    name="quiche",
    title="quiche-server (Cloudflare's quiche)",
    programs=("quiche-server",),
    priorities=(
        "the library orders by urgency, whole responses (N) by stream ID, then shared ones (I); the application says which: "
        "its example server reads the request's priority field"
    ),
    source="quiche of August 2026, read; not measured",
    stand_in="eps",
    how_to_get=(
        "it is in no registry: `cargo build --release --bin quiche-server` in a checkout of quiche makes it; name its folder "
        "in MIXEDSCHED_SERVERS"
    ),
    read_versions=(),
    version_of=packaged_version,
    prepare=_prepare,
    abilities=Abilities(hosts=False, queries=False, fields=False, codings=False, statuses=False, says_types=False),
)
