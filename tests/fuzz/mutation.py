"""Turns what well-behaved clients send into what hostile ones do. Each function draws from the generator it is given."""

from __future__ import annotations

from random import Random

from tests.fuzz.seeds import (
    CONTROL_STREAMS,
    CONVERSATION,
    DECODER_STREAMS,
    ENCODER_INSTRUCTIONS,
    FRAME_TYPES,
    NUMBERS,
    REQUEST_STREAMS,
    SETTINGS,
    Frame,
    Frames,
    update,
    varint,
)

_WIDTHS = (1, 2, 4, 8)
_VALUES = (
    b"u=1",
    b"i",
    b"u=9, i",
    b"u=1,",
    b"u",
    b"\xff\0",
    b"",
    b'x="' + b"y" * 1100,
    b"a=1;b=(2 3), u=0",
    b"u=" + b"1" * 20,
)
_LIMIT_VALUES = tuple(b'x="' + b"y" * (size_bytes - 4) + b'"' for size_bytes in (1015, 1016, 1022, 1023, 1024))
_ALL_FRAMES = tuple(frame for frames in (*CONTROL_STREAMS, *REQUEST_STREAMS) for frame in frames)


def mutated_frames(frames: Frames, rng: Random) -> Frames:
    """Some frames of a stream changed, doubled, dropped, moved."""
    changed = list(frames)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        index = rng.randrange(len(changed) + 1)
        match rng.randrange(8):
            case 0:
                changed.insert(index, rng.choice(_ALL_FRAMES))
            case 6:
                changed.insert(index, update(rng.choice(NUMBERS), rng.choice(_VALUES + _LIMIT_VALUES)))
            case 1:
                changed.insert(index, Frame(rng.choice(FRAME_TYPES), rng.choice(_VALUES)))
            case 2 if index < len(changed):
                del changed[index]
            case 3 if len(changed) > 1:
                other = rng.randrange(len(changed))
                index = min(index, len(changed) - 1)
                changed[index], changed[other] = changed[other], changed[index]
            case _ if index < len(changed):
                changed[index] = _mutated_frame(changed[index], rng)
            case _:
                changed.append(Frame(rng.choice(FRAME_TYPES)))
    return tuple(changed)


def _mutated_frame(frame: Frame, rng: Random) -> Frame:
    size = len(frame.payload)
    match rng.randrange(8):
        case _ if frame.type == SETTINGS and rng.random() < 0.5:
            pairs = [
                (rng.choice((*range(10), 0x33, 0x21)), rng.choice((0, 1, 2, 4096))) for _ in range(rng.randrange(1, 5))
            ]
            return Frame(SETTINGS, b"".join(varint(key) + varint(value, rng.choice(_WIDTHS)) for key, value in pairs))
        case 0:
            return Frame(rng.choice(FRAME_TYPES), frame.payload)
        case 1:
            return Frame(frame.type, frame.payload, max(0, size + rng.choice((-2, -1, 1, 2))))
        case 2:
            return Frame(frame.type, frame.payload, rng.choice(NUMBERS))
        case 3:
            return Frame(frame.type, frame.payload, None, (rng.choice(_WIDTHS), rng.choice(_WIDTHS)))
        case 4:
            return Frame(frame.type, varint(rng.choice(NUMBERS), rng.choice(_WIDTHS)) + rng.choice(_VALUES))
        case 5:
            return Frame(frame.type, frame.payload[: rng.randrange(size + 1)])
        case 6:
            return Frame(frame.type, frame.payload + rng.choice(_VALUES))
        case _:
            return Frame(frame.type, mutated_bytes(frame.payload, rng))


def mutated_bytes(data: bytes, rng: Random) -> bytes:
    """A bit flipped, bytes put in, doubled, cut out or off."""
    changed = bytearray(data)
    place = rng.randrange(len(changed) + 1)
    match rng.randrange(6):
        case 0 | 1 if place < len(changed):
            changed[place] ^= 1 << rng.randrange(8)
        case 2:
            changed[place:place] = rng.randbytes(rng.randrange(1, 5))
        case 3:
            changed[place:place] = varint(rng.choice(NUMBERS))
        case 4:
            del changed[place : place + rng.randrange(1, 4)]
        case _:
            del changed[place:]
    return bytes(changed)


def control_stream(rng: Random, wildness: float) -> tuple[bytes, bool]:
    """All that comes on the control stream, behind its type, and whether it was mutated, which is as likely as `wildness`."""
    seeds = CONTROL_STREAMS if wildness == 1 else CONTROL_STREAMS[:-1]  # the last one is wrong as it is
    return _drawn(rng.choice(seeds), rng, wildness)


def request_stream(index: int, rng: Random, wildness: float) -> tuple[bytes, bool]:
    """All that comes on a request stream; every third time with references to the dynamic table of the conversation."""
    sections = CONVERSATION.sections
    frames = sections[index % len(sections)] if rng.random() < 0.33 else rng.choice(REQUEST_STREAMS)
    return _drawn(frames, rng, wildness)


def encoder_stream(rng: Random, wildness: float) -> tuple[bytes, bool]:
    """Instructions to the dynamic table: those of the conversation, as they were or not."""
    pieces = list(CONVERSATION.encoder)
    if rng.random() >= wildness:
        return b"".join(pieces), False
    if rng.random() < 0.5:
        pieces.insert(rng.randrange(len(pieces) + 1), rng.choice(ENCODER_INSTRUCTIONS))
        return b"".join(pieces), True
    return mutated_bytes(b"".join(pieces), rng), True


def decoder_stream(rng: Random, wildness: float) -> tuple[bytes, bool]:
    if rng.random() >= wildness:
        return b"", False
    data = rng.choice(DECODER_STREAMS)
    return mutated_bytes(data, rng) if rng.random() < 0.3 else data, True


def cuts(size_bytes: int, rng: Random) -> list[int]:
    """Where a stream's bytes are cut into pieces: nowhere, at a few places, or everywhere; first and last included."""
    match rng.randrange(4):
        case 0:
            places = []
        case 1 if size_bytes <= 120:
            places = list(range(1, size_bytes))
        case _:
            places = sorted(rng.randrange(size_bytes + 1) for _ in range(rng.randrange(1, 5)))
    return [0, *places, size_bytes]


def _drawn(frames: Frames, rng: Random, wildness: float) -> tuple[bytes, bool]:
    if rng.random() >= wildness:
        return b"".join(frame.encode() for frame in frames), False
    data = b"".join(frame.encode() for frame in mutated_frames(frames, rng))
    return mutated_bytes(data, rng) if rng.random() < 0.3 else data, True
