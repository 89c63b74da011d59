"""Bodies that a HAR lacks, at their sizes, in reasonable time even where thousands are missing.

Drawing and compressing a picture takes up to some seconds a megabyte. So when the first have used up what a page may cost,
the pictures that follow are of a few sizes only, each drawn once and filled up to its size behind its end, where decoders no
longer read.
"""

from __future__ import annotations

from functools import lru_cache

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.recorded.selection import MAX_TOTAL_BYTES

# Of the formats that take longest, the cost of a byte in bytes of JPEG.
_COST_OF_BYTE = {"jpeg": 1, "webp": 4, "avif": 20}
_BUDGET_BYTES = 4_000_000
_DRAWN_BYTES_MAX = 8192
_BOX_HEADER_BYTES = 8


class Synthesiser:
    """Makes the missing bodies of one HAR. Raises SiteError where it would be more than a site can have.

    blank: make zeros, where only sizes count.
    """

    def __init__(self, *, blank: bool = False) -> None:
        self._is_blank = blank
        self._budget_bytes = _BUDGET_BYTES
        self._room_bytes = MAX_TOTAL_BYTES

    def __call__(self, kind: Kind, mime: str, size_bytes: int, seed: int) -> bytes:
        """A body of exactly that size; the same for the same calls in the same order."""
        self._room_bytes -= size_bytes
        if self._room_bytes < 0:
            raise SiteError(
                "the page is too large for a site",
                why=f"its bodies have more than {MAX_TOTAL_BYTES // 1_000_000} MB",
                fix="save a HAR without downloads and videos",
            )
        if self._is_blank:
            return bytes(size_bytes)
        from mixedsched.sites.synth.assets import asset, format_name  # here, as many HARs lack nothing

        name = format_name(kind, mime, size_bytes)
        cost_bytes = size_bytes * _COST_OF_BYTE.get(name, 0)
        if cost_bytes <= self._budget_bytes:
            self._budget_bytes -= cost_bytes
            return asset(kind, mime, size_bytes, seed)
        return _filled_up(kind, mime, size_bytes, name)


def _filled_up(kind: Kind, mime: str, size_bytes: int, name: str) -> bytes:
    """A picture of a smaller size that is a power of two, if there is one, with what does not show behind it."""
    from mixedsched.sites.synth.assets import asset, smallest_bytes

    drawn_bytes = _DRAWN_BYTES_MAX
    while drawn_bytes and drawn_bytes > size_bytes - _BOX_HEADER_BYTES:
        drawn_bytes //= 2
    if drawn_bytes < smallest_bytes(kind, mime):
        return asset(kind, mime, size_bytes, 0)
    missing_bytes = size_bytes - drawn_bytes
    header = missing_bytes.to_bytes(4, "big") + b"free" if name == "avif" else b""  # a box (ISO/IEC 14496-12, 8.1.2)
    return _drawn(kind, mime, drawn_bytes) + header + bytes(missing_bytes - len(header))


@lru_cache(maxsize=64)
def _drawn(kind: Kind, mime: str, size_bytes: int) -> bytes:
    from mixedsched.sites.synth.assets import asset

    return asset(kind, mime, size_bytes, 0)
