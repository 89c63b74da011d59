"""How large datagrams may be on a path: packetization layer path MTU discovery (RFC 8899, RFC 9000 section 14.3).

All sizes are bytes of UDP payload. Times are seconds of the caller's clock.
"""

BASE_BYTES = 1200  # what every path of QUIC carries
MAX_BYTES = 16_000  # what a frame's length in two bytes allows, rounded down
MAX_PROBES = 3  # of one size; when all are lost, the path does not carry it (RFC 8899 section 5.1.2)
STEP_BYTES = 8  # a search ends when it knows the size as closely as that
MAX_SIGNS = 3  # of a black hole, without a large datagram acknowledged in between, before it is taken for one
RAISE_S = 600.0  # after which a finished search looks for more again (PMTU_RAISE_TIMER)
HOLD_S = 5.0  # between a black hole and the next search, doubled each time
_ETHERNET_BYTES = 1472  # what nearly every path carries, behind IPv4 headers
_COMMON_BYTES = (8972, 8952, 1452)  # worth a try before halving: jumbo frames, and either with IPv6 headers


class SizeSearch:
    """Finds the largest datagram that the path carries, and falls back when it carries it no more.

    One probe is under way at a time: the caller asks for `next_probe_bytes` when it may send one, and reports what became of
    it. Ordinary datagrams have at most `size_bytes`; those above BASE_BYTES are reported as well.

    limit_bytes: the most that is tried, at least BASE_BYTES; with BASE_BYTES nothing is.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.size_bytes = BASE_BYTES
        self._limit_bytes = max(BASE_BYTES, min(MAX_BYTES, limit_bytes))
        self._falls = 0
        self._start_search(from_s=None)

    def _start_search(self, from_s: float | None) -> None:
        """Forget which sizes were lost. from_s: when to begin; at once if None."""
        self._from_s = from_s
        self._too_large_bytes = self._limit_bytes + 1  # the smallest that is known not to be carried, or not allowed
        self._probe_bytes: int | None = None  # under way
        self._lost_probes = 0  # of the size that is tried now
        self._signs = 0
        self._last_sign_s: float | None = None

    @property
    def limit_bytes(self) -> int:
        return self._limit_bytes

    @property
    def is_searching(self) -> bool:
        """Whether there are larger sizes to try, now or after a pause."""
        return self._next_size() is not None

    def next_probe_bytes(self, now_s: float) -> int | None:
        """The size of the probe to send now; None while one is under way, or there is nothing to try."""
        if self._probe_bytes is not None or (self._from_s is not None and now_s < self._from_s):
            return None
        size = self._next_size()
        if size is None and self._from_s is not None and self.size_bytes < self._limit_bytes:
            self._start_search(from_s=None)
            size = self._next_size()
        return size

    def probe_sent(self, size_bytes: int) -> None:
        self._probe_bytes = size_bytes

    def probe_acknowledged(self, now_s: float) -> None:
        """The probe under way has arrived: the path carries its size."""
        if self._probe_bytes is not None:
            self.size_bytes = max(self.size_bytes, self._probe_bytes)
            self._end_probe(now_s)
            self.arrived()

    def probe_lost(self, now_s: float) -> None:
        """The probe under way is lost, by its size or by chance."""
        if self._probe_bytes is None:
            return
        self._lost_probes += 1
        if self._lost_probes >= MAX_PROBES:
            self._too_large_bytes = min(self._too_large_bytes, self._probe_bytes)
            self._end_probe(now_s)
        else:
            self._probe_bytes = None

    def arrived(self) -> None:
        """A datagram above BASE_BYTES has been acknowledged."""
        self._signs = 0
        self._last_sign_s = None

    def lost(self, sent_s: float, now_s: float) -> None:
        """A datagram above BASE_BYTES, not a probe, is lost. What was sent before the last sign is part of the same one."""
        if self._last_sign_s is None or sent_s >= self._last_sign_s:
            self._note_sign(now_s)

    def timed_out(self, now_s: float) -> None:
        """Nothing was acknowledged for a probe timeout (RFC 9002), with datagrams above BASE_BYTES in flight."""
        self._note_sign(now_s)

    def refused(self, size_bytes: int, now_s: float) -> None:
        """The system does not send datagrams of this size: they are larger than what its interface takes."""
        if BASE_BYTES < size_bytes <= self._limit_bytes:
            self._limit_bytes = size_bytes - 1
            self._too_large_bytes = min(self._too_large_bytes, size_bytes)
            if self._probe_bytes is not None and self._probe_bytes >= size_bytes:
                self._end_probe(now_s)
            if self.size_bytes >= size_bytes:
                self.size_bytes = BASE_BYTES
                self._start_search(from_s=None)

    def lower_limit(self, limit_bytes: int) -> None:
        """The peer takes no more. To be called before anything is probed."""
        self._limit_bytes = max(BASE_BYTES, min(self._limit_bytes, limit_bytes))
        self._start_search(from_s=None)

    def restart(self) -> None:
        """The path is another one, of which nothing is known."""
        self.size_bytes = BASE_BYTES
        self._start_search(from_s=None)

    def _note_sign(self, now_s: float) -> None:
        if self.size_bytes == BASE_BYTES:
            return
        self._signs += 1
        self._last_sign_s = now_s
        if self._signs >= MAX_SIGNS:
            self.size_bytes = BASE_BYTES
            self._start_search(now_s + min(RAISE_S, HOLD_S * 2**self._falls))
            self._falls += 1

    def _end_probe(self, now_s: float) -> None:
        """What the probe was to find out is known."""
        self._probe_bytes = None
        self._lost_probes = 0
        self._from_s = None if self._next_size() is not None else now_s + RAISE_S

    def _next_size(self) -> int | None:
        """Ethernet's; then the largest that is allowed; then common ones; then halves between what is carried and what not."""
        low, high = self.size_bytes, self._too_large_bytes
        if low < _ETHERNET_BYTES < high:
            return _ETHERNET_BYTES
        if high > self._limit_bytes:
            return self._limit_bytes if self._limit_bytes > low else None
        common = next((size for size in _COMMON_BYTES if low < size < high), None)
        if common is not None:
            return common
        return (low + high) // 2 if high - low > STEP_BYTES else None
