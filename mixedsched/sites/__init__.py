"""Sites: complete pages with all their files, built from recipes or taken from a folder."""

from mixedsched.sites._builder import build
from mixedsched.sites._load import load_site
from mixedsched.sites._packages import fetch_packages
from mixedsched.sites._recipe import Recipe, list_recipes
from mixedsched.sites._responses import ResponseSettings
from mixedsched.sites._site import Site

__all__ = ["Site", "ResponseSettings", "load_site", "Recipe", "list_recipes", "fetch_packages", "build"]
