"""Sites: complete pages with all their files, built from recipes or taken from a folder."""

from mixedsched.sites._builder import build
from mixedsched.sites._packages import fetch_packages
from mixedsched.sites._recipe import Recipe, find_recipe, list_recipes
from mixedsched.sites._site import Site, load_site

__all__ = ["Site", "load_site", "Recipe", "list_recipes", "find_recipe", "fetch_packages", "build"]
