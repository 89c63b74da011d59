"""Missing bodies have their sizes and can be decoded, also when there are so many that pictures must be shared."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from mixedsched.model.request import Kind
from mixedsched.sites.har import _write as write
from mixedsched.sites.har._write import Synthesiser


@pytest.mark.parametrize("mime", ["image/jpeg", "image/webp", "image/avif", "image/png", "image/gif"])
@pytest.mark.parametrize("size_bytes", [700, 9001, 40_000])
def test_pictures_beyond_the_budget_are_decodable_and_exact(
    mime: str, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "_BUDGET_BYTES", 0)
    body = Synthesiser()(Kind.IMAGE, mime, size_bytes, 1)
    assert len(body) == size_bytes
    with Image.open(io.BytesIO(body)) as picture:
        picture.load()


@pytest.mark.parametrize("size_bytes", range(20))
def test_what_is_too_small_for_a_picture_has_its_size_too(size_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_BUDGET_BYTES", 0)
    assert len(Synthesiser()(Kind.IMAGE, "image/avif", size_bytes, 1)) == size_bytes


def test_the_same_calls_give_the_same_bodies() -> None:
    first, second = (
        [make(Kind.IMAGE, "image/jpeg", 3000 + n, n) for n in range(5)] for make in (Synthesiser(), Synthesiser())
    )
    assert first == second
