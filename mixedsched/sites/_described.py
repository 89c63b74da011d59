"""A page with the names of its hosts, be it a site's or a page file's: what can be looked at and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.model.page import Page, Resource
from mixedsched.sites._site import Site


@dataclass(frozen=True, slots=True)
class Described:
    """hosts: by index, as far as they are known. site: if there are files, too. facts: title, source, licence and the like."""

    page: Page
    hosts: tuple[str, ...]
    facts: Mapping[str, str]
    site: Site | None = None

    @classmethod
    def of_site(cls, site: Site) -> Described:
        told = {
            "title": site.title,
            "description": site.description,
            "source": site.source,
            "licence": site.licence,
        }
        return cls(site.page, site.hosts, {key: text for key, text in told.items() if text}, site)

    @classmethod
    def of_page(cls, page: Page, data: Mapping[str, Any]) -> Described:
        """data: the page file as JSON gives it, whose keys beyond the page are taken where they are what they should be."""
        hosts = data.get("hosts")
        named = tuple(hosts) if isinstance(hosts, list) and all(isinstance(host, str) for host in hosts) else ()
        facts = {
            key: data[key] for key in ("title", "description", "source", "licence") if isinstance(data.get(key), str)
        }
        return cls(page, named, facts)

    def host_of(self, item: Resource) -> str:
        """The name of a resource's host; "host 2" where it has none."""
        return self.hosts[item.host] if item.host < len(self.hosts) else f"host {item.host}"
