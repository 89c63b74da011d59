"""Orders worth simulating for a learned page, in rounds: each builds on the best of the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.plan import SAFE, OrderPlan, PlannedRole
from mixedsched.core.schedulers.inferred import LevelTurn, levels, safe_turn
from mixedsched.model.page import Resource
from mixedsched.model.request import Kind, Request

MARGIN_BYTES = 400
"""Beyond what names a resource, until the client knows of it."""
LIKELY = 0.02
"""Guesses below that do not count where bytes of the document are kept back."""

Document = Literal["needed", "staged", "head", "gradual", "patient", "safe"]
Images = Literal["value", "likely", "request", "shared", "safe"]
_AFTER_BLOCKING = levels.BLOCKING + 1


@dataclass(frozen=True, slots=True)
class OrderRecipe:
    """How a plan is made.

    document: how much of it goes before all else: what names anything that may be waited for, in one go (needed), or that
    beyond the head after what blocks (staged); what names what blocks (head); the same, and the rest behind images (patient);
    or only so much as is safe, what names more of what blocks after what is known of that, and the rest behind images
    (gradual). images: by size over belief (value), the likeliest first (likely), as asked for (request), or together (shared,
    in turns of so many packets).
    """

    document: Document = "safe"
    images: Images = "safe"
    batch_packets: int = 1
    fonts_first: bool = False
    others_last: bool = True

    @property
    def name(self) -> str:
        """For logs and as a key."""
        turns = f"{self.batch_packets}" if self.images == "shared" else ""
        fonts = "+fonts" if self.fonts_first else ""
        return SAFE if self == SAFE_RECIPE else f"{self.document}/{self.images}{turns}{fonts}"


SAFE_RECIPE = OrderRecipe(others_last=False)


def first_round(*, is_told: bool) -> list[OrderRecipe]:
    """How the document goes.

    is_told: whether browsers report their paints. As long as they do not, no more of it goes first than is safe: nobody would
    notice that the first paint comes later.
    """
    kinds: tuple[Document, ...] = ("needed", "staged", "head", "gradual", "patient") if is_told else ("gradual",)
    return [SAFE_RECIPE, *(OrderRecipe(document, "value") for document in kinds)]


def next_round(best: OrderRecipe, *, is_told: bool) -> list[OrderRecipe]:
    """How images and fonts go, with the best document so far. is_told: as for `first_round`."""
    document: Document = best.document if best.document != "safe" else "staged" if is_told else "gradual"
    return [
        OrderRecipe(document, "likely"),
        OrderRecipe(document, "request"),
        OrderRecipe(document, "shared", 1),
        OrderRecipe(document, "shared", 8),
        OrderRecipe(document, "safe"),
        OrderRecipe(document, "value", fonts_first=True),
    ]


def plan_of(recipe: OrderRecipe, learned: LearnedPage) -> OrderPlan:
    """The recipe's order for this page."""
    if recipe == SAFE_RECIPE:
        return OrderPlan(SAFE, (), "what is safe for a page of which nothing is known")
    waited = _waited_for(learned)
    images = _image_turns(recipe, learned)
    roles = []
    for item in learned.page.resources:
        turn, why = _turn(item, recipe, learned, waited, images)
        # What is learned is for all: were one turn to say which client asks, the connection would be served as that one's.
        turn = replace(turn, client=None, if_firefox=None)
        role = learned.roles[item.id]
        roles.append(
            PlannedRole(role.path, role.kind, role.size_bytes, role.priority, round(role.position, 2), turn, why)
        )
    return OrderPlan(recipe.name, tuple(roles), _why(recipe))


def _turn(
    item: Resource,
    recipe: OrderRecipe,
    learned: LearnedPage,
    waited: Mapping[str, float],
    images: Mapping[str, LevelTurn],
) -> tuple[LevelTurn, str]:
    safe = safe_turn(_as_request(item, learned))
    if item.id == learned.needs.main:
        return _document_turn(recipe, learned, safe), "the page itself"
    if item.id in learned.needs.blocking:
        return LevelTurn(levels.BLOCKING), "the first paint waits for it"
    if item.id in images:
        return images[item.id], f"an image, on the first screen with a belief of {learned.seen.get(item.id, 0.0):.2f}"
    if waited.get(item.id, 0.0) >= LIKELY:
        return LevelTurn(levels.BLOCKING), "makes known what is waited for"
    if item.kind is Kind.FONT and recipe.fonts_first:
        return LevelTurn(_AFTER_BLOCKING), "text waits for it"
    if recipe.others_last and item.kind in {Kind.SCRIPT, Kind.STYLESHEET}:
        return LevelTurn(max(safe.level, levels.FONT + 1)), "nothing that is seen first waits for it"
    return safe, "as safe"


def _document_turn(recipe: OrderRecipe, learned: LearnedPage, safe: LevelTurn) -> LevelTurn:
    blocking, everything = _named_by(learned)
    match recipe.document:
        case "needed":
            return LevelTurn(levels.DOCUMENT, early=((everything, levels.HEAD),))
        case "staged":
            parts = ((blocking, levels.HEAD), (everything, _AFTER_BLOCKING))
            return LevelTurn(levels.DOCUMENT, early=parts if everything > blocking else parts[:1])
        case "head":
            return LevelTurn(levels.SMALL + 1, early=((blocking, levels.HEAD),))
        case "gradual":
            parts = ((levels.HEAD_BYTES, levels.HEAD), (blocking, _AFTER_BLOCKING))
            return LevelTurn(
                levels.DOCUMENT, early=parts if blocking > levels.HEAD_BYTES else ((blocking, levels.HEAD),)
            )
        case "patient":
            return LevelTurn(levels.DOCUMENT, early=((blocking, levels.HEAD),))
        case "safe":
            return safe


def _named_by(learned: LearnedPage) -> tuple[int, int]:
    """Bytes of the document that name what blocks, and what anything waits for, with what makes these known."""
    waited = _waited_for(learned)
    blocking = _with_parents(learned, learned.needs.blocking)
    main, by_id = learned.needs.main, learned.needs.resources
    offsets = {item.id: item.found_at_bytes for item in learned.page.resources if item.found_by == main}
    first = max((offsets[name] for name in blocking if name in offsets), default=0) + MARGIN_BYTES
    last = max((offsets[name] for name, belief in waited.items() if name in offsets and belief >= LIKELY), default=0)
    size_bytes = by_id[main].body_bytes
    return min(first, size_bytes) or 1, min(max(first, last + MARGIN_BYTES), size_bytes) or 1


def _waited_for(learned: LearnedPage) -> dict[str, float]:
    """How much each resource is believed to be waited for: images by the guesses, and what makes them known."""
    beliefs: dict[str, float] = {}
    for guess in learned.guesses:
        for name in _with_parents(learned, guess.ids):
            beliefs[name] = beliefs.get(name, 0.0) + guess.belief
    for name in _with_parents(learned, learned.needs.blocking):
        beliefs[name] = 1.0
    return beliefs


def _with_parents(learned: LearnedPage, names: tuple[str, ...]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        current: str | None = name
        while current is not None and current not in found:
            found[current] = None
            current = learned.needs.resources[current].found_by
    return list(found)


def _image_turns(recipe: OrderRecipe, learned: LearnedPage) -> dict[str, LevelTurn]:
    """LevelTurns of images that may be seen, between SMALL and LARGE_SEEN."""
    if recipe.images == "safe":
        return {}
    waited = _waited_for(learned)
    by_id = learned.needs.resources
    names = [item.id for item in learned.page.resources if item.id in learned.seen and waited.get(item.id, 0.0) > 0]
    alone = {guess.ids[0]: guess.belief for guess in learned.guesses if len(guess.ids) == 1}
    names = [name for name in names if alone.get(name, 0.0) >= LIKELY / 4 or learned.seen[name] >= 0.3]
    if recipe.images == "shared":
        turn = LevelTurn(levels.SMALL + 2, shared=True, batch_packets=recipe.batch_packets)
        return dict.fromkeys(names, turn)
    if recipe.images == "request":
        return dict.fromkeys(names, LevelTurn(levels.SMALL + 2))

    def cost(name: str) -> float:
        return (by_id[name].body_bytes + 500) / max(alone.get(name, 0.0), 1e-4)

    names.sort(key=lambda name: (cost(name), name))
    if recipe.images == "likely" and alone:
        first = max(names, key=lambda name: alone.get(name, 0.0), default=None)
        names.sort(key=lambda name: name != first)
    return {name: LevelTurn(levels.SMALL + 2 + min(place, 190)) for place, name in enumerate(names)}


def _as_request(item: Resource, learned: LearnedPage) -> Request:
    return Request(
        stream_id=0 if item.id == learned.needs.main else 4,
        path=item.path,
        kind=item.kind,
        chromium_priority=item.chromium_priority,
        mime=item.mime,
        body_bytes=item.body_bytes,
    )


def _why(recipe: OrderRecipe) -> str:
    documents = {
        "needed": "first so much of the document as names all that is waited for",
        "staged": "the document's head, what blocks, then what names images",
        "head": "the document's head, what blocks, the rest of the document before images",
        "gradual": "the document's beginning, what blocks, what names more of it, images, then the rest of the document",
        "patient": "the document's head, what blocks, images, then the rest of the document",
        "safe": "the document as is safe",
    }
    images = {
        "value": "images by size over how much each is believed to be waited for",
        "likely": "the likeliest largest image first",
        "request": "images as they were asked for",
        "shared": f"images in turns of {recipe.batch_packets} packets",
        "safe": "images as is safe",
    }
    fonts = "; fonts before images" if recipe.fonts_first else ""
    return f"{documents[recipe.document]}; {images[recipe.images]}{fonts}"
