"""What the 27 claims of Sander et al. 2022, and two of their blog, say in numbers. Written before any load was seen.

Changes are differences of medians relative to Chrome's in per cent, below zero is better, as in the paper. Shares are of
sites, in points. How statements become words is told in docs/reproductions.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from claims_bursts import bursts, in_general
from claims_links import bandwidth, round_trips
from claims_losses import correlations, random_loss
from data import BLOCKS_LEAST_MEASURED, Pages
from judge import Judge

from mixedsched.report.papers.verdicts import Finding, PaperClaim


def claims_of(pages: Mapping[str, Pages], reno: Mapping[str, Pages], runs: Mapping[str, Finding]) -> list[PaperClaim]:
    """pages: with the study's sender, by collection. reno: the same with Reno. runs: of consecutive losses, by name."""
    simulated = {name: item for name, item in pages.items() if not item.is_measured}
    measured = next(
        (replace(item, blocks_least=BLOCKS_LEAST_MEASURED) for item in pages.values() if item.is_measured), None
    )
    judge = Judge(simulated, measured)
    return [
        *bandwidth(judge, runs),
        *random_loss(judge, Judge(reno, None)),
        *correlations(judge),
        *round_trips(judge),
        *bursts(judge),
        *in_general(judge),
    ]
