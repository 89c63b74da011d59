"""Certificates and sockets."""

from __future__ import annotations

import datetime as dt
import socket

from cryptography import x509

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.errors import MixedschedError


def prove_certificate() -> str:
    hosts = ["a.test", "b.test", "127.0.0.1"]
    certificate = make_certificate(hosts, dt.datetime.now(dt.UTC))
    names = certificate.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    covered = {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}
    missing = [host for host in hosts if host not in covered]
    if missing:
        raise MixedschedError(
            f"a self-made certificate does not cover {', '.join(missing)}", fix="reinstall cryptography"
        )
    return f"self-made, covers {len(hosts)} names, key hash {certificate.spki_sha256[:12]}..."


def prove_ports() -> str:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second,
    ):
        for sock in (first, second):
            sock.bind(("127.0.0.1", 0))
        return f"for instance {first.getsockname()[1]} and {second.getsockname()[1]} on the loopback interface"
