"""Random pages that are made like real ones: drawn from measured distributions by size class and seed. Pure."""

from __future__ import annotations

from mixedsched.sites.generate._distributions import Distributions, distributions
from mixedsched.sites.generate._manifest import page_text
from mixedsched.sites.generate._page import generate_page
from mixedsched.sites.generate._totals import KindTotal, Totals

__all__ = ["generate_page", "page_text", "Totals", "KindTotal", "Distributions", "distributions"]
