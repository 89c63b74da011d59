"""Sites are made: built from recipes, taken from plain folders, merged into one host."""

from mixedsched.sites.making._builder import build
from mixedsched.sites.making._merge import merged
from mixedsched.sites.making._packaged import fetch_contents, fetch_packages
from mixedsched.sites.making._recipe import Recipe, find_recipe, list_recipes
from mixedsched.sites.making.plain import load_plain

__all__ = ["Recipe", "build", "fetch_contents", "fetch_packages", "find_recipe", "list_recipes", "load_plain", "merged"]
