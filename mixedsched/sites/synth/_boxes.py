"""Where images stand that matter for the first screen: the hero at the top, the others in rows below it, on any screen.

The first screen is 412 x 823 CSS pixels on the mobile form factor of Lighthouse, 1350 x 940 on the desktop one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.model.page import Resource
from mixedsched.model.request import Flag, Kind

_SCREEN_WIDTH_PX = 412
_SCREEN_HEIGHT_PX = 823
_HERO_WIDTH_PX = 400
_HERO_HEIGHT_PX = 300
_HERO_PX_PER_BYTE = 140  # Chromium leaves images of less than 0.05 bit per pixel shown out of the largest paint
_CELL_PX = 36
_PITCH_PX = 40
_LINE_TOP_PX = 306
_ROWS_TOP_PX = 330


@dataclass(frozen=True, slots=True)
class Box:
    """CSS pixels from the top left corner of the page. is_cell: of the size that the style of the page gives to a class."""

    left_px: int
    top_px: int
    width_px: int
    height_px: int
    is_cell: bool

    @property
    def style(self) -> str:
        where = f"left:{self.left_px}px;top:{self.top_px}px"
        return where if self.is_cell else f"{where};width:{self.width_px}px;height:{self.height_px}px"


def boxes_of(resources: Sequence[Resource]) -> dict[str, Box]:
    """The places of the images flagged `hero` (the first of them) and `above_fold`."""
    seen = [item for item in resources if item.kind is Kind.IMAGE and item.flags & {Flag.HERO, Flag.ABOVE_FOLD}]
    hero = next((item for item in seen if Flag.HERO in item.flags), None)
    boxes = {hero.id: _hero_box(hero.body_bytes)} if hero is not None else {}
    cells = [item for item in seen if item is not hero]
    return boxes | {item.id: _cell(index) for index, item in enumerate(cells)}


def _hero_box(size_bytes: int) -> Box:
    scale = min(1.0, (size_bytes * _HERO_PX_PER_BYTE / (_HERO_WIDTH_PX * _HERO_HEIGHT_PX)) ** 0.5)
    return Box(0, 0, max(1, int(_HERO_WIDTH_PX * scale)), max(1, int(_HERO_HEIGHT_PX * scale)), is_cell=False)


def _cell(index: int) -> Box:
    columns = _SCREEN_WIDTH_PX // _PITCH_PX
    rows = (_SCREEN_HEIGHT_PX - _ROWS_TOP_PX) // _PITCH_PX
    row, column = divmod(index % (rows * columns), columns)
    return Box(column * _PITCH_PX, _ROWS_TOP_PX + row * _PITCH_PX, _CELL_PX, _CELL_PX, is_cell=True)


STYLE = (
    f"body{{margin:0;font:9px sans-serif}}p{{position:absolute;top:{_LINE_TOP_PX}px;margin:0}}"
    "img,video,audio,b{position:absolute;top:3000px;max-width:99%}"
    f".a{{width:{_CELL_PX}px;height:{_CELL_PX}px}}iframe{{position:fixed;right:0;bottom:0;width:9px;height:9px;border:0}}"
)
