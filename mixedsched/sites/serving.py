"""A site as the server needs it."""

from pathlib import Path

from mixedsched.model.page import Resource
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.site import Site
from mixedsched.sites.site.responses import ResponseSettings
from mixedsched.world.server.site import RecordedAnswer, ServedSite, SiteEntry


def served_site(site: Site) -> ServedSite:
    """The site as the server takes it."""
    entries = _entries(site)
    recorded = _recorded(site, entries) if site.replay else None
    return ServedSite(site.name, site.url, tuple(site.hosts), entries, recorded, expected_connections(site).count)


def _entries(site: Site) -> dict[str, dict[str, SiteEntry]]:
    """By host name, then path: what the server serves, and what the page's manifest says of it."""
    resources = site.page.by_path()
    entries: dict[str, dict[str, SiteEntry]] = {host: {} for host in site.hosts}
    for (host, path), file in site.files.items():
        entries[site.hosts[host]][path] = _entry(
            file,
            site.mimes[host, path],
            site.encodings.get((host, path)),
            resources.get((host, path)),
            site.settings.get((host, path), ResponseSettings()),
        )
    return entries


def _recorded(site: Site, entries: dict[str, dict[str, SiteEntry]]) -> list[RecordedAnswer]:
    """The answers that are replayed, in the order of the manifest."""
    answers = [
        RecordedAnswer("GET", host, path, entry.status, entry)
        for host, of_host in entries.items()
        for path, entry in of_host.items()
    ]
    resources = site.page.by_id()
    for item in site.variants:
        entry = _entry(item.file, item.mime, item.encoding, resources.get(item.id), item.settings)
        host = site.hosts[item.host]
        answers.append(RecordedAnswer(item.method, host, item.path, entry.status, entry, item.if_none_match))
    return answers


def _entry(
    file: Path | None, mime: str, encoding: str | None, resource: Resource | None, settings: ResponseSettings
) -> SiteEntry:
    return SiteEntry(
        file,
        mime,
        encoding,
        resource.kind if resource else None,
        resource.flags if resource else None,
        settings.status,
        settings.delay_ms,
        tuple((name.encode(), tuple(value.encode() for value in values)) for name, values in settings.headers),
        settings.bare,
    )
