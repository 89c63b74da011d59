"""Certificates as text: what was written is read, and what cannot be used is told by one kind of error."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed448

from mixedsched.core.h3.certificate import Certificate, make_certificate

MADE = make_certificate(["a.test", "127.0.0.1"], dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
KEY_TEXT = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


def with_key(key: bytes) -> str:
    certificate, _, _ = MADE.to_pem().partition("-----BEGIN PRIVATE KEY-----")
    return certificate + key.decode()


def test_what_was_written_is_read() -> None:
    read = Certificate.from_pem(MADE.to_pem())
    assert (read.certificate, read.chain, read.spki_sha256) == (MADE.certificate, (), MADE.spki_sha256)


def test_what_cannot_be_used_is_a_value_error() -> None:
    encrypted = MADE.private_key.private_bytes(*KEY_TEXT, serialization.BestAvailableEncryption(b"secret"))
    other_kind = ed448.Ed448PrivateKey.generate().private_bytes(*KEY_TEXT, serialization.NoEncryption())
    for text in ("", "rubbish", with_key(b""), with_key(encrypted), with_key(other_kind)):
        with pytest.raises(ValueError):  # noqa: PT011 - the texts are those of the library
            Certificate.from_pem(text)
