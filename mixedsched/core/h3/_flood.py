"""Limits how fast a client may send what costs work and is of no use."""

from mixedsched.core.h3.codes import ErrorCode, Http3Error

BURST = 1000
PER_SECOND = 100


class FloodGate:
    """A token bucket on the caller's clock, one per connection.

    Frames of the control stream, useless frames on request streams, and cancelled requests take a token each; a request brings
    one back, so that a page may signal each of its requests however many and fast they are. (nghttp3 allows 1000 at once and
    33 per second.)
    """

    def __init__(self, now_s: float) -> None:
        self._tokens = float(BURST)
        self._at_s = now_s

    def take(self, now_s: float, count: int = 1) -> None:
        """Take tokens for `count` frames or cancellations. Raises Http3Error when there are too many."""
        if count == 0:
            return
        self._tokens = min(float(BURST), self._tokens + (now_s - self._at_s) * PER_SECOND) - count
        self._at_s = now_s
        if self._tokens < 0:
            raise Http3Error(ErrorCode.H3_EXCESSIVE_LOAD, "too many frames without use")

    def earn(self) -> None:
        """Give a token back for a request."""
        self._tokens = min(float(BURST), self._tokens + 1)
