"""Which element the Largest Contentful Paint was: two arms may have hurried, or waited for, different ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mixedsched.lab.comparison import Comparison
from mixedsched.lab.model import Run, RunStatus
from mixedsched.report._svg import shortened

_CHARACTERS_MOST = 160


def lcp_element(run: Run) -> str:
    """The element as Lighthouse writes it, its middle left out where it is long; "" if it is not known."""
    element = run.page_load.get("lcp_element")
    return shortened(element, _CHARACTERS_MOST) if isinstance(element, str) else ""


def lcp_elements(comparison: Comparison, runs: Sequence[Run]) -> dict[str, list[tuple[str, int]]]:
    """By arm: the elements and in how many runs each was the LCP, most frequent first; {} where all runs agree.

    Counted are the ok runs of complete blocks in which it is known.
    """
    counted = [run for run in runs if run.status is RunStatus.OK and run.block in comparison.block_indices]
    by_arm = {
        arm.label: Counter(element for run in counted if run.arm == arm.label and (element := lcp_element(run)))
        for arm in comparison.arms
    }
    if len({element for counts in by_arm.values() for element in counts}) < 2:
        return {}
    return {
        label: sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        for label, counts in by_arm.items()
        if counts
    }
