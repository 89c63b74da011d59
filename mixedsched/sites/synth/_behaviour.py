"""What a site does behind its first paint: work in its scripts, and layout shifts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from mixedsched.model.page import Resource
from mixedsched.sites.synth._ways import shift_call

# A script works by counting, as code does: on a slower processor, and with a slow-down, it takes longer. So many turns took a
# millisecond in Chromium 156 on one processor of the machines on which the bundled sites were measured.
TURNS_PER_MS = 60_000
LARGEST_SHIFT = 0.5  # of a page: stripes that move further would leave a desktop's screen
_LEAST_MOVE = 0.05  # of the longer side of the screen; Chromium overlooks moves of less than 3 pixels


def work_text(item: Resource) -> str:
    """The code that keeps the main thread as long as a script says; "" where there is none, or no room for it."""
    text = f"for(let x=1,i={round(item.work_ms * TURNS_PER_MS)};i--;)x=x*16807%2147483647;" if item.work_ms else ""
    return text if len(text) <= item.body_bytes else ""


@dataclass(frozen=True, slots=True)
class Shifts:
    """White stripes side by side behind the page. Each moves down once its resource is complete.

    A stripe and the place to which it moves fill the height of the screen, so its score is its share of the width times the
    distance, which all have in common: scores add up, also of stripes that move at once.
    """

    program: str = ""
    style: str = ""
    marks: str = ""

    @classmethod
    def of(cls, scores: Sequence[tuple[str, float]]) -> Self:
        """scores: what the runtime calls each resource (host and path), and how much it shifts."""
        total = sum(score for _, score in scores)
        if not total:
            return cls()
        move = min(max(total, _LEAST_MOVE), LARGEST_SHIFT)
        width = 100 / move * min(1.0, LARGEST_SHIFT / total)  # vw for each point of score
        marks, left_vw, names = "", 0.0, dict[str, str]()
        for number, (key, score) in enumerate(scores):
            names[key] = f"y{number}"
            marks += f"<i id=y{number} style=left:{left_vw:.6g}vw;width:{score * width:.6g}vw></i>"
            left_vw += score * width
        style = (
            f"i{{position:absolute;top:0;height:calc(100vh - {move * 100:.6g}vmax);background:#fff;z-index:-1}}"
            f".m{{top:{move * 100:.6g}vmax}}"
        )
        return cls(shift_call(names), style, marks)

    def __bool__(self) -> bool:
        return bool(self.marks)
