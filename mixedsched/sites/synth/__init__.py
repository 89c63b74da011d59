"""Synthesis: a page description becomes files of exactly its sizes."""

from mixedsched.sites.synth._prepare import Deviation
from mixedsched.sites.synth._synthesis import Synthesis, synthesise

__all__ = ["Deviation", "Synthesis", "synthesise"]
