"""`server-envoy`: the order of Envoy's HTTP/3, by google/quiche.

Source: google/quiche f44fa9f33 (2026), `quic_write_blocked_list.cc`, as Envoy 2026-08 builds it: `i` is not read (its flag is
off), and urgency only if Envoy's option for priorities is on, as is assumed here. Envoy was not run: the model follows
its source alone.
"""

from collections import deque

from mixedsched.core.schedulers._gupta import by_mapping
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import SERVERS, Parameter, Scheme, Values

_TURN_BYTES = 16_000
URGENCY = Parameter(
    "urgency",
    "whether the client's urgency is read, which is off unless Envoy is told so",
    default="on",
    choices=("on", "off"),
)


class _Batches:
    """All responses in turn, so many bytes each; one that enters goes to the end, unless its turn is not over."""

    def __init__(self) -> None:
        self._ring: deque[int] = deque()
        self._holder: int | None = None
        self._left_bytes = 0

    def __len__(self) -> int:
        return len(self._ring)

    def enter(self, stream_id: int, incremental: bool) -> None:  # noqa: ARG002 - not read
        if stream_id == self._holder and self._left_bytes > 0:
            self._ring.appendleft(stream_id)
        else:
            self._ring.append(stream_id)

    def leave(self, stream_id: int, incremental: bool) -> None:  # noqa: ARG002
        self._ring.remove(stream_id)

    def forget(self, stream_id: int) -> None:
        if stream_id == self._holder:
            self._holder = None

    def first(self) -> int | None:
        return self._ring[0] if self._ring else None

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:  # noqa: ARG002
        if not self._ring or self._ring[0] != stream_id:
            return
        if stream_id != self._holder:
            self._holder, self._left_bytes = stream_id, _TURN_BYTES
        self._left_bytes -= size_bytes
        if self._left_bytes <= 0:
            self._ring.rotate(-1)
            self._holder = None


def _create(_: Values) -> UrgencyLevels:
    return UrgencyLevels(_Batches)


SCHEMES = (
    Scheme(
        name="server-envoy",
        description="What Envoy does by google/quiche: the most urgent first; inside one urgency all responses in turn, 16 kB "
        "each, incremental or not. The response's own priority is not read.",
        source="google/quiche f44fa9f33, quic_write_blocked_list.cc",
        needs="the client's signal (or a mapping's)",
        create=_create,
        place=lambda request, mapping, values: (
            by_mapping(request, mapping, values) if values["urgency"] == "on" else Priority()
        ),
        parameters=(URGENCY,),
        default_mapping="chromium",
        group=SERVERS,
    ),
)
