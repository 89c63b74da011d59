"""One place of a study, as far as it has been loaded."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedsched.lab.comparison import Effect
from mixedsched.lab.study._collecting import VALUE_KEYS


@dataclass(frozen=True, slots=True, eq=False)
class StudiedPlace:
    """A site over a link, as far as it has been loaded."""

    id: int
    site: str
    link: str
    opened_as: str  # what opens the site
    planned: int  # blocks that are wanted
    blocks: tuple[int, ...]  # numbers of the complete ones
    machines: tuple[str, ...]  # by complete block
    values: NDArray[np.float64]  # arms x VALUE_KEYS x complete blocks; NaN where a value is missing
    effects: tuple[Effect, ...]  # as of `analyse`, without the changes of single blocks; () without a complete block
    attempted: tuple[int, ...]  # loads by arm
    failed: tuple[int, ...]  # failed and invalid ones among those
    is_exact: bool  # nothing is random, so one block is all there is

    @property
    def missing(self) -> int:
        """Blocks that are wanted and not complete."""
        return max(0, self.planned - len(self.blocks))

    def row(self, arm: int, key: str) -> NDArray[np.float64]:
        """The values of an arm, by complete block."""
        values: NDArray[np.float64] = self.values[arm, VALUE_KEYS.index(key)]
        return values

    def medians(self) -> list[dict[str, float | None]]:
        """By arm, of all values: over the complete blocks, None where none has the value."""
        ranked = np.sort(self.values, axis=2)  # with missing ones last
        known = (~np.isnan(ranked)).sum(axis=2)
        if not ranked.shape[2]:
            return [dict.fromkeys(VALUE_KEYS) for _ in ranked]
        middle = (np.maximum(known - 1, 0) // 2, np.minimum(known // 2, ranked.shape[2] - 1))
        below, above = (np.take_along_axis(ranked, place[:, :, None], axis=2)[:, :, 0] for place in middle)
        table = np.where(known > 0, (below + above) / 2, np.nan).tolist()
        return [
            {key: None if math.isnan(value) else value for key, value in zip(VALUE_KEYS, row, strict=True)}
            for row in table
        ]

    def effect(self, arm: str, metric: str) -> Effect | None:
        """The effect of an arm (label) on a metric (key), if there is one."""
        return next((item for item in self.effects if (item.arm, item.metric.key) == (arm, metric)), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "link": self.link,
            "blocks": len(self.blocks),
            "missing": self.missing,
            "exact": self.is_exact,
            "failed": sum(self.failed),
        }
