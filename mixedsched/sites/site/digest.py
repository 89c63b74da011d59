"""A fingerprint of what a site serves."""

from __future__ import annotations

import hashlib

from mixedsched.sites.site.responses import ResponseSettings
from mixedsched.sites.site.site import Site


def site_digest(site: Site) -> str:
    """A fingerprint of what is served: results of a changed site must not be mixed with earlier ones."""
    digest = hashlib.sha256(site.entry.encode())
    for (host, path), file in sorted(site.files.items()):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{host} {path} {site.mimes[host, path]} {site.encodings.get((host, path))} {content}\n".encode())
        if (settings := site.settings.get((host, path))) is not None:
            digest.update(_settings_text(settings))
    if site.replay:
        digest.update(b"replay\n")
    for item in site.variants:
        content = hashlib.sha256(item.file.read_bytes()).hexdigest() if item.file is not None else ""
        facts = (item.method, item.host, item.path, item.if_none_match, item.mime, item.encoding, content)
        digest.update(f"{facts}\n".encode() + _settings_text(item.settings))
    return digest.hexdigest()[:16]


def _settings_text(settings: ResponseSettings) -> bytes:
    bare = " bare" if settings.bare else ""
    return f"{settings.status} {settings.delay_ms} {sorted(settings.headers)}{bare}\n".encode()
