"""The plan of a page's files: how each resource is asked for, and what each document holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.synth._ways import IN_FRAMES, Way

# How a resource is asked for: by a tag of its document, a call of the runtime, or a rule of a style sheet.
Carrier = Literal["navigation", "tag", "call", "style"]

Address = Callable[[Resource, int], str]
"""The URL of a resource, as one writes it on a host."""

# What both form factors of Lighthouse have of the first screen, in CSS pixels: 412 x 823 mobile, 1350 x 940 desktop.
_SCREEN_WIDTH_PX, _SCREEN_HEIGHT_PX = 412, 823
_HERO_WIDTH_PX, _HERO_HEIGHT_PX = 400, 300
_HERO_PX_PER_BYTE = 140  # Chromium leaves images of less than 0.05 bit per pixel shown out of the largest paint
_CELL_PX, _PITCH_PX = 36, 40
_LINE_TOP_PX, _ROWS_TOP_PX = 306, 330

STYLE = (
    f"body{{margin:0;font:9px sans-serif}}p{{position:absolute;top:{_LINE_TOP_PX}px;margin:0}}"
    "img,video,audio,b{position:absolute;top:3000px;max-width:99%}"
    f".a{{width:{_CELL_PX}px;height:{_CELL_PX}px}}iframe{{position:fixed;right:0;bottom:0;width:9px;height:9px;border:0}}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """The place of an image in CSS pixels from the top left corner of the page."""

    left_px: int
    top_px: int
    width_px: int
    height_px: int
    is_cell: bool  # it has the size that the page's style gives to a class

    @property
    def style(self) -> str:
        where = f"left:{self.left_px}px;top:{self.top_px}px"
        return where if self.is_cell else f"{where};width:{self.width_px}px;height:{self.height_px}px"


def boxes_of(resources: Sequence[Resource]) -> dict[str, Box]:
    """The places of images that matter for the first screen: the first flagged `hero` at the top, all others in rows below."""
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


@dataclass(slots=True)
class Planned:
    """A resource and how it is asked for."""

    item: Resource
    carrier: Carrier
    realm: str  # id of the document in which it is asked for; of a document, that of its parent
    way: Way | None = None
    ticket: int = 0  # its turn among the calls of its realm
    wait_ms: float = 0.0  # how long it may be held back for those with earlier turns
    box: Box | None = None
    is_gated: bool = False  # a call in the place of a tag, which waits for its turn
    needs_image: bool = False  # the preload scanner must be shown an image before its tag

    @property
    def priority(self) -> ChromiumPriority:
        return self.way.priority if self.way is not None else ChromiumPriority.VERY_HIGH

    @property
    def call(self) -> str:
        """The function of the runtime that asks for it; "" if none can."""
        return self.way.call if self.way is not None else ""


@dataclass(slots=True)
class Realm:
    """A document that holds tags and runs scripts."""

    document: Resource
    tags: list[Planned] = field(default_factory=list)  # in order, those of the head first
    calls: list[Planned] = field(default_factory=list)  # by ticket
    styled: list[Planned] = field(default_factory=list)
    head_count: int = 0  # how many of the tags are in the head


@dataclass(frozen=True)
class SynthesisPlan:
    """All of a page."""

    planned: Mapping[str, Planned]
    realms: Mapping[str, Realm]
    work_ms: Mapping[str, float]  # main-thread work of scripts, by id

    def shifting(self, realm: Realm) -> list[Planned]:
        """What shifts the layout of this document, if it is the page's own, and is seen to arrive there: nothing in frames."""
        if self.planned[realm.document.id].carrier != "navigation":
            return []
        return [
            one
            for one in self.planned.values()
            if one.item.late_shift
            and one.realm == realm.document.id
            and not (one.carrier == "call" and one.call in IN_FRAMES)
        ]

    @cached_property
    def children(self) -> Mapping[str, list[Planned]]:
        """Calls by the resource that they wait for."""
        children: dict[str, list[Planned]] = {}
        for realm in self.realms.values():
            for call in realm.calls:
                if not call.is_gated and call.item.found_by is not None:
                    children.setdefault(self._trigger_of(call.item), []).append(call)
        return children

    def _trigger_of(self, item: Resource) -> str:
        """The resource after which a child is asked for: its parent, or who asks for that, if found with its request."""
        parent = item.found_by
        assert parent is not None
        while item.found_when == "requested" and (above := self.planned[parent].item.found_by) is not None:
            item, parent = self.planned[parent].item, above
        return parent
