"""The lab's certificate as files, which servers read."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mixedsched.core.h3.certificate import make_certificate

_OWNER_ONLY = 0o600
_END = "-----END"


@dataclass(frozen=True, slots=True)
class LabCertificate:
    """A certificate and its key in PEM."""

    certificate: Path
    key: Path
    spki_sha256: str


def write_certificate(folder: Path, hosts: Sequence[str]) -> LabCertificate:
    """Make a fresh one for the hosts."""
    made = make_certificate([*hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))
    blocks = _blocks(made.to_pem())
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text("".join(block for block in blocks if "PRIVATE KEY" not in block), encoding="ascii")
    key.touch(_OWNER_ONLY)
    key.write_text("".join(block for block in blocks if "PRIVATE KEY" in block), encoding="ascii")
    return LabCertificate(certificate, key, made.spki_sha256)


def _blocks(pem: str) -> list[str]:
    blocks, lines = [], []
    for line in pem.splitlines(keepends=True):
        lines.append(line)
        if line.startswith(_END):
            blocks.append("".join(lines))
            lines = []
    return blocks
