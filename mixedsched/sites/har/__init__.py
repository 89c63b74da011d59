"""HTTP Archives, as browsers and measuring tools save them, become recorded sites."""

from mixedsched.sites.har._entries import HarLog
from mixedsched.sites.har._pages import HarPage, page_called, pages_of
from mixedsched.sites.har._reading import read_har
from mixedsched.sites.har._write import import_page

__all__ = ["HarLog", "HarPage", "import_page", "page_called", "pages_of", "read_har"]
