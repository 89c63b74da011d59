"""Questions to a site: how many connections a load takes, whether it is sound, how it differs from another."""

from mixedsched.sites.analysis._check import Severity, SiteFinding, check_site
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.analysis.difference import Described, Difference, FieldChange, ResourcePair, difference

__all__ = [
    "Described",
    "Difference",
    "FieldChange",
    "ResourcePair",
    "Severity",
    "SiteFinding",
    "check_site",
    "difference",
    "expected_connections",
]
