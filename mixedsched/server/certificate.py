"""Self-made certificates: one leaf for all hosts of a site, trusted by browsers through its public key's hash."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

_VALID_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key. Hosts share one, because browsers pool connections only under a certificate for all."""

    certificate: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

    @property
    def spki_sha256(self) -> str:
        """Base64 SHA-256 of the public key, as Chromium's --ignore-certificate-errors-spki-list wants it."""
        spki = self.certificate.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return base64.b64encode(hashlib.sha256(spki).digest()).decode()


def make_certificate(hosts: Sequence[str], *, repeatable: bool = False) -> Certificate:
    """A fresh self-signed certificate whose alternative names are the given host names and addresses.

    repeatable: with an Ed25519 key, whose signatures all have the same length, so that handshakes in virtual time repeat to
    the byte. Browsers do not take those: by default the key is ECDSA.
    """
    key = ed25519.Ed25519PrivateKey.generate() if repeatable else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, None if repeatable else hashes.SHA256())
    )
    return Certificate(certificate, key)


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
