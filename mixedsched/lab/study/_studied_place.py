"""One place of a study, as far as it has been loaded."""

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

    def median(self, arm: int, key: str) -> float | None:
        """Over the complete blocks; None where none has the value."""
        row = self.row(arm, key)
        known = row[~np.isnan(row)]
        return float(np.median(known)) if len(known) else None

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
