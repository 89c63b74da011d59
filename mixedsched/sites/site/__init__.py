"""A site: a complete page with all its files, their description in the manifest, and how it is served.

Nothing here reads HTML or CSS, or makes files: a server of a built site needs only this.
"""

from mixedsched.sites.site._site import (
    MANIFEST_NAME,
    ROOT_NAME,
    Application,
    Connections,
    Key,
    Origins,
    Site,
    SiteVariant,
    site_name_of,
)
from mixedsched.sites.site.load import built_problems, load_built, site_digest, site_of
from mixedsched.sites.site.responses import ResponseSettings

__all__ = [
    "MANIFEST_NAME",
    "ROOT_NAME",
    "Application",
    "Connections",
    "Key",
    "Origins",
    "ResponseSettings",
    "Site",
    "SiteVariant",
    "built_problems",
    "load_built",
    "site_digest",
    "site_name_of",
    "site_of",
]
