"""`server-quiche`: the order of Cloudflare's quiche.

Source: quiche 0.24.4 and 0.30.0, `stream/mod.rs` (`StreamPriorityKey`) and `h3/mod.rs`. A response's priority is final once it
has begun: the library's HTTP/3 layer has no call to change it, and its own server does not. Compared with 0.24.4 in
docs/servers.md. Left out: what was handed to the library's buffers, up to a congestion window, leaves before a more urgent
response that comes later gets room there.
"""

from mixedsched.core.schedulers._blocks_and_ring import BlocksAndRing
from mixedsched.core.schedulers._gupta import by_first_word
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.scheme import SERVERS, Scheme

SCHEMES = (
    Scheme(
        name="server-quiche",
        description="What Cloudflare's quiche does: the most urgent first; inside one urgency non-incremental responses by "
        "stream ID, then incremental ones in turn, packet by packet. A PRIORITY_UPDATE after the request is not followed.",
        source="quiche 0.24.4 and 0.30.0, stream/mod.rs",
        needs="the client's signal (or a mapping's)",
        create=lambda _: UrgencyLevels(BlocksAndRing),
        place=by_first_word,
        default_mapping="chromium",
        group=SERVERS,
    ),
)
