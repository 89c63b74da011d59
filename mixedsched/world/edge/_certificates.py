"""Certificates from files: chosen by the host that a client asks for, and read again when the files change."""

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509

from mixedsched.core.h3.certificate import Certificate
from mixedsched.errors import MixedschedError
from mixedsched.world.edge.settings import CertificateFiles

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Loaded:
    certificate: Certificate
    names: tuple[str, ...]


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """The DNS names and addresses that a certificate is for, in lower case."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    names = [name.lower() for name in extension.get_values_for_type(x509.DNSName)]
    return (*names, *map(str, extension.get_values_for_type(x509.IPAddress)))


def covers(name: str, host: str) -> bool:
    """Whether a name, perhaps with "*" for its first label (RFC 9525 section 6.3), is that of a host."""
    if name == host:
        return True
    first, dot, rest = host.partition(".")
    return name.startswith("*.") and bool(first and dot) and name[2:] == rest


def load(files: CertificateFiles, now: dt.datetime) -> Certificate:
    """Read a certificate with its key. Raises MixedschedError: missing, broken, of different keys, or expired."""
    failure = f"the certificate {files.certificate} cannot be used"
    try:
        pem = files.certificate.read_text() + "\n" + files.key.read_text()
        loaded = Certificate.from_pem(pem)
    except (OSError, UnicodeDecodeError) as error:
        why = f"{getattr(error, 'filename', None) or files.certificate}: {getattr(error, 'strerror', None) or error}"
        raise MixedschedError(failure, why=why, fix="name files that can be read with --cert and --key") from error
    except (ValueError, TypeError) as error:
        why = str(error) or "it is broken"
        raise MixedschedError(failure, why=why, fix="give PEM files: the chain and an unencrypted key") from error
    if loaded.certificate.public_key() != loaded.private_key.public_key():
        raise MixedschedError(
            failure, why=f"{files.key} is the key of another certificate", fix="give the two that belong together"
        )
    until = loaded.certificate.not_valid_after_utc
    if until <= now:
        raise MixedschedError(failure, why=f"it has expired on {until:%Y-%m-%d}", fix="renew it")
    if loaded.certificate.not_valid_before_utc > now:
        raise MixedschedError(failure, why=f"it is valid from {loaded.certificate.not_valid_before_utc:%Y-%m-%d} on")
    return loaded


class CertificateStore:
    """The certificates of an edge. Those of files that break while it runs stay in use as they were."""

    def __init__(self, files: Sequence[CertificateFiles], hosts: Sequence[str]) -> None:
        """hosts: that are served, each of which must be in a certificate. Raises MixedschedError."""
        self._files = tuple(files)
        self._hosts = tuple(hosts)
        self._loaded = self._load()

    @property
    def names(self) -> tuple[str, ...]:
        """All names of all certificates, in order."""
        return tuple(dict.fromkeys(name for item in self._loaded for name in item.names))

    def choose(self, host: str | None) -> Certificate:
        """The certificate for a host: one of its own name before one with "*"; the first one for any other."""
        asked = (host or "").lower().removesuffix(".")
        for item in self._loaded:
            if asked in item.names:
                return item.certificate
        return next(
            (i.certificate for i in self._loaded if any(covers(n, asked) for n in i.names)), self._loaded[0].certificate
        )

    def reload(self) -> None:
        """Read the files again; if that fails, say so in the log and go on with the old ones."""
        try:
            self._loaded = self._load()
        except MixedschedError as error:
            _log.error("%s; the old ones remain in use", error)
        else:
            _log.info("certificates were reloaded")

    def _load(self) -> list[_Loaded]:
        now = dt.datetime.now(dt.UTC)
        loaded = [_Loaded(item, names_of(item.certificate)) for item in (load(files, now) for files in self._files)]
        for host in self._hosts:
            if not any(covers(name, host) for item in loaded for name in item.names):
                names = ", ".join(name for item in loaded for name in item.names) or "no host"
                raise MixedschedError(
                    f"no certificate is for the host {host}",
                    why=f"they are for {names}",
                    fix="give one for it, or leave out --host",
                )
        return loaded
