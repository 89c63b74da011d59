"""gtlsserver, the example server of ngtcp2: nghttp3's priorities, and a folder of files."""

from mixedsched.world.servers._tree import ending, file_path, make_tree
from mixedsched.world.servers._versions import packaged_version
from mixedsched.world.servers.kind import Abilities, Launch, Order, ServerKind


def _prepare(order: Order) -> Launch:
    types = {ending(file_path(item)): item.mime for item in reversed(order.answers)}
    # In its file of types, a type ends at the first space.
    lines = [f"{mime.replace(' ', '')} {end}\n" for end, mime in types.items() if end]
    mimes = order.write("types", "".join(lines))
    root = make_tree(order.folder / "www", order.answers)
    bursts = () if order.bursts else ("--max-gso-dgrams=1",)
    options = ("--quiet", f"--htdocs={root}", f"--mime-types-file={mimes}", *bursts)
    where = (order.host, str(order.port), str(order.key), str(order.certificate))
    return Launch((str(order.program.path), *options, *where))


GTLSSERVER = ServerKind(
    name="gtlsserver",
    title="gtlsserver (ngtcp2 and nghttp3)",
    programs=("gtlsserver",),
    priorities=(
        "follows the request's priority field and PRIORITY_UPDATE; in one urgency, whole responses (N) come before shared ones "
        "(I), which take turns; its own response field is not read"
    ),
    source="nghttp3 b1d0596 read, 0.8.0 measured in November 2026",
    stand_in="server-nghttp3",
    how_to_get="apt-get install ngtcp2-server (Debian, Ubuntu), or scripts/setup --lab",
    read_versions=("0.12",),
    version_of=packaged_version,
    prepare=_prepare,
    abilities=Abilities(
        hosts=False, queries=False, fields=False, codings=False, statuses=False, types=False, heeds_queries=True
    ),
)
