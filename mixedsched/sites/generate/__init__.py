"""Random pages that are made like real ones: drawn from measured distributions by size class and seed. Pure."""

from mixedsched.sites.generate._amounts import KindTotal, Totals
from mixedsched.sites.generate._distributions import Distributions, distributions
from mixedsched.sites.generate._page import generate_page, page_text

__all__ = ["generate_page", "page_text", "Totals", "KindTotal", "Distributions", "distributions"]
