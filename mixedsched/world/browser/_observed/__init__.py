"""Puts together what the browser's DevTools, its NetLog and the page itself report about one load."""

from mixedsched.world.browser._observed._assemble import observation_of
from mixedsched.world.browser._observed._report import LoadReport

__all__ = ["LoadReport", "observation_of"]
