"""Content codings: what goes in comes out, and what lies is refused at little cost."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.codings import _ZLIB_STEP_BYTES, CODINGS, UndecodableError, decode, encode

TEXT = b"the quick brown fox " * 500
BOMB_BYTES = 64 * 1024 * 1024


@given(data=st.binary(max_size=3000), coding=st.sampled_from(CODINGS))
def test_decoding_undoes_encoding_and_encoding_repeats(data: bytes, coding: str) -> None:
    assert decode(encode(data, coding), coding) == data
    assert encode(data, coding) == encode(data, coding)


@pytest.mark.parametrize("coding", CODINGS)
def test_the_limit_is_the_last_size_that_passes(coding: str) -> None:
    body = encode(TEXT, coding)
    assert decode(body, coding, len(TEXT)) == TEXT
    with pytest.raises(UndecodableError, match="too large"):
        decode(body, coding, len(TEXT) - 1)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_cut_off_body_is_refused(coding: str) -> None:
    body = encode(TEXT, coding)
    for size_bytes in (len(body) - 1, len(body) // 2, 1, 0):
        with pytest.raises(UndecodableError):
            decode(body[:size_bytes], coding)


@given(data=st.binary(max_size=200), coding=st.sampled_from(CODINGS))
def test_rubbish_is_refused_with_one_kind_of_error(data: bytes, coding: str) -> None:
    with suppress(UndecodableError):
        assert isinstance(decode(data, coding, 10_000), bytes)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_refused_before_it_fills_memory(coding: str) -> None:
    coders: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": partial(brotli.compress, quality=2),
        "zstd": zstandard.ZstdCompressor().compress,
    }
    bomb = coders[coding](bytes(BOMB_BYTES))
    with pytest.raises(UndecodableError, match="too large"):
        decode(bomb, coding, 1000)


def test_members_and_frames_may_follow_one_another() -> None:
    for coding in ("gzip", "zstd"):
        assert decode(encode(b"a", coding) + encode(b"b", coding), coding) == b"ab"


def test_thousands_of_short_members_cost_no_more_than_their_own_bytes_and_a_step_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fed: list[int] = []
    make = zlib.decompressobj

    class Counted:
        def __init__(self, wbits: int) -> None:
            self._decoder = make(wbits=wbits)

        def decompress(self, data: bytes, room: int) -> bytes:
            fed.append(len(data))
            return self._decoder.decompress(data, room)

        def __getattr__(self, name: str) -> object:
            return getattr(self._decoder, name)

    monkeypatch.setattr(zlib, "decompressobj", Counted)
    assert decode(encode(b"x", "gzip") * 2000, "gzip") == b"x" * 2000
    assert sum(fed) <= 2000 * _ZLIB_STEP_BYTES


def test_deflate_is_taken_without_its_envelope_too() -> None:
    packer = zlib.compressobj(wbits=-15)
    assert decode(packer.compress(TEXT) + packer.flush(), "deflate") == TEXT


def test_an_unknown_coding_is_named() -> None:
    for work in (decode, encode):
        with pytest.raises(ValueError, match="'lzma'"):
            work(b"", "lzma")
