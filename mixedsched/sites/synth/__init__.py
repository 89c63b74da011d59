"""Synthesis: a page description becomes files of exactly its sizes."""

from mixedsched.sites.synth._prepare import SynthesisDeviation
from mixedsched.sites.synth._synthesis import Synthesis, synthesise

__all__ = ["SynthesisDeviation", "Synthesis", "synthesise"]
