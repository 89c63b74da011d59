"""What must come of a client's bytes, read at leisure: all at once, straight from the RFCs, sharing no code with the server.

Sources: RFC 9114 sections 4.1, 5.2, 6.2, 7.1 and 7.2; RFC 9218 section 7.2. Limits are the server's own.
"""

from __future__ import annotations

FRAME_UNEXPECTED, FRAME_ERROR, EXCESSIVE_LOAD, ID_ERROR, SETTINGS_ERROR, MISSING_SETTINGS = range(0x105, 0x10B)

_MAX_UPDATE_BYTES = 1024
_MAX_SETTINGS_BYTES = 4096
_MAX_SECTION_BYTES = 32 * 1024

_NEVER_ON_CONTROL = (0x0, 0x1, 0x5, 0x2, 0x6, 0x8, 0x9)
_NEVER_ON_REQUESTS = (0x3, 0x4, 0x5, 0x7, 0xD, 0x2, 0x6, 0x8, 0x9, 0xF0700, 0xF0701)


class BrokenError(Exception):
    """The connection must be closed with this code."""

    def __init__(self, error_code: int) -> None:
        super().__init__(hex(error_code))
        self.error_code = error_code


def varint(data: bytes, at: int) -> tuple[int, int] | None:
    """Value and the position behind it, bit by bit as RFC 9000 appendix A.1 does it."""
    if at >= len(data):
        return None
    length = 2 ** (data[at] // 64)
    if at + length > len(data):
        return None
    value = data[at] % 64
    for byte in data[at + 1 : at + length]:
        value = value * 256 + byte
    return value, at + length


def read_control(data: bytes) -> list[tuple[int, bytes]]:
    """The PRIORITY_UPDATE frames of a control stream, behind its type: stream IDs and values. Raises BrokenError."""
    updates: list[tuple[int, bytes]] = []
    settings_seen = False
    goaway = max_push = None
    at = 0
    while True:
        kind = varint(data, at)
        size = varint(data, kind[1]) if kind else None
        if kind is None or size is None:
            return updates
        frame_type, (length, start) = kind[0], size
        if not settings_seen and frame_type != 0x4:
            raise BrokenError(MISSING_SETTINGS)
        if frame_type in _NEVER_ON_CONTROL or (frame_type == 0x4 and settings_seen):
            raise BrokenError(FRAME_UNEXPECTED)
        if frame_type in (0x3, 0x7, 0xD) and not 1 <= length <= 8:
            raise BrokenError(FRAME_ERROR)
        if (frame_type == 0x4 and length > _MAX_SETTINGS_BYTES) or (
            frame_type in (0xF0700, 0xF0701) and length > _MAX_UPDATE_BYTES
        ):
            raise BrokenError(EXCESSIVE_LOAD)
        at = start + length
        if at > len(data):
            return updates
        payload = data[start:at]
        first = varint(payload, 0)
        if frame_type == 0x4:
            _check_settings(payload)
            settings_seen = True
        elif frame_type in (0x3, 0x7, 0xD):
            if first is None or first[1] != len(payload):
                raise BrokenError(FRAME_ERROR)
            if frame_type == 0x3:
                raise BrokenError(ID_ERROR)
            if frame_type == 0x7:
                if goaway is not None and first[0] > goaway:
                    raise BrokenError(ID_ERROR)
                goaway = first[0]
            else:
                if max_push is not None and first[0] < max_push:
                    raise BrokenError(ID_ERROR)
                max_push = first[0]
        elif frame_type in (0xF0700, 0xF0701):
            if first is None:
                raise BrokenError(FRAME_ERROR)
            if frame_type == 0xF0701 or first[0] % 4 != 0:
                raise BrokenError(ID_ERROR)
            updates.append((first[0], payload[first[1] :]))


def _check_settings(payload: bytes) -> None:
    pairs: list[tuple[int, int]] = []
    at = 0
    while at < len(payload):
        key = varint(payload, at)
        value = varint(payload, key[1]) if key else None
        if key is None or value is None:
            raise BrokenError(FRAME_ERROR)
        if key[0] in (0x0, 0x2, 0x3, 0x4, 0x5) or any(known == key[0] for known, _ in pairs):
            raise BrokenError(SETTINGS_ERROR)
        pairs.append((key[0], value[0]))
        at = value[1]
    if any(key in (0x8, 0x33) and value > 1 for key, value in pairs):
        raise BrokenError(SETTINGS_ERROR)


def read_request(data: bytes, is_ended: bool) -> None:
    """The frames of a request stream in their order, whatever is in them. Raises BrokenError.

    A stream that is given up for what its sections hold may never come to be judged by this; what is broken here may thus
    pass, but nothing may be broken there that passes here.
    """
    sections = 0
    at = 0
    while at < len(data):
        kind = varint(data, at)
        size = varint(data, kind[1]) if kind else None
        if kind is None or size is None:
            break
        frame_type, (length, start) = kind[0], size
        if frame_type in _NEVER_ON_REQUESTS:
            raise BrokenError(FRAME_UNEXPECTED)
        if frame_type == 0x1:
            if sections == 2:
                raise BrokenError(FRAME_UNEXPECTED)
            if length > _MAX_SECTION_BYTES:
                return
            sections += start + length <= len(data)
        elif frame_type == 0x0 and sections != 1:
            raise BrokenError(FRAME_UNEXPECTED)
        at = start + length
    if is_ended and at != len(data):
        raise BrokenError(FRAME_ERROR)
