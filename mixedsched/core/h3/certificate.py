"""Certificates: self-made ones, one leaf for all hosts of a site, trusted by browsers through its public key's hash; and
those of others, from PEM.
"""

import base64
import datetime as dt
import hashlib
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

_VALID_DAYS = 3650
_REPEATABLE_FROM = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
_REPEATABLE_SERIAL = 1 << 158  # as long as most random ones


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key. Hosts share one, because browsers pool connections only under a certificate for all."""

    certificate: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
    chain: tuple[x509.Certificate, ...] = ()  # of the issuers, from the one that signed it upwards

    @property
    def spki_sha256(self) -> str:
        """Base64 SHA-256 of the public key, as Chromium's --ignore-certificate-errors-spki-list wants it."""
        spki = self.certificate.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return base64.b64encode(hashlib.sha256(spki).digest()).decode()

    def to_pem(self) -> str:
        """Certificate, its chain, and the unencrypted key."""
        key = self.private_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        certificates = (self.certificate, *self.chain)
        return b"".join([*(item.public_bytes(serialization.Encoding.PEM) for item in certificates), key]).decode()

    @classmethod
    def from_pem(cls, pem: str) -> Self:
        """Undoes to_pem. Raises ValueError if there is no certificate, or no key that is unencrypted and of a known kind."""
        try:
            key = serialization.load_pem_private_key(pem.encode(), password=None)
        except (TypeError, UnsupportedAlgorithm) as error:
            raise ValueError(str(error)) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey):
            raise ValueError("the key is neither of elliptic curves, nor Ed25519, nor RSA")  # noqa: TRY004 - the text is at fault
        leaf, *chain = x509.load_pem_x509_certificates(pem.encode())
        return cls(leaf, key, tuple(chain))


def make_certificate(hosts: Sequence[str], now: dt.datetime) -> Certificate:
    """A new self-signed certificate, valid from now, for these host names and addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    unsigned = _unsigned(hosts, key.public_key(), now - dt.timedelta(days=1), x509.random_serial_number())
    return Certificate(unsigned.sign(key, hashes.SHA256()), key)


def make_repeatable_certificate(hosts: Sequence[str]) -> Certificate:
    """A certificate with the same length and dates each time, so that handshakes in virtual time repeat.

    The key is Ed25519: its signatures all have the same length. Browsers do not accept it.
    """
    key = ed25519.Ed25519PrivateKey.generate()
    unsigned = _unsigned(hosts, key.public_key(), _REPEATABLE_FROM, _REPEATABLE_SERIAL)
    return Certificate(unsigned.sign(key, None), key)


def _unsigned(
    hosts: Sequence[str],
    public_key: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey,
    valid_from: dt.datetime,
    serial: int,
) -> x509.CertificateBuilder:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public_key)
        .serial_number(serial)
        .not_valid_before(valid_from)
        .not_valid_after(valid_from + dt.timedelta(days=_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
