"""What makes the requests of a learned page known to the browser: inferred from what it had whenever it asked."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mixedsched.core.learning.memory import PageRole
from mixedsched.core.metrics.paint import work_ms, work_of_ms
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import FoundWhen, Resource
from mixedsched.model.request import ChromiumPriority, Kind

USUALLY = 0.8
"""Share of its visits by which a role must have been complete to be what another one was found by."""
AT_ONCE_MS = 50.0
"""Who asks so soon after something has come was waiting for it: for the end of the document, which names it, or to be
withheld no longer."""
DELAY_MOST_MS = 5000.0


class InferredDiscovery(NamedTuple):
    """As in page files. parent: number of a role; None for the page itself."""

    parent: int | None
    when: FoundWhen
    at_bytes: int
    delay_ms: float


class DiscoveryInference:
    """Discoveries of one page's roles. roles: in order of request, the document first. blocking: those that the first paint
    waits for, the document among them.

    A browser that withholds requests of Medium and below knows them before it asks. What the document may have named, and was
    asked for when as many others were under way as the model allows, is therefore taken to be named by the document, and
    withholding it is left to the model. Were something that was complete by then taken for the cause, it would be delayed
    twice.
    """

    def __init__(self, roles: Sequence[PageRole], blocking: Sequence[PageRole], model: BrowserModel) -> None:
        self._main = roles[0]
        self._known = {role.number: role for role in roles}
        self._blocking = list(blocking)
        self._model = model
        self._withheld = self._spread([role for role in roles[1:] if self._is_withheld(role)])

    def of(self, role: PageRole, made: Mapping[int, Resource]) -> InferredDiscovery:
        """made: the resources of earlier roles; only these are parents."""
        main = self._main
        if role is main:
            return InferredDiscovery(None, "start", 0, 0.0)
        if role.number in self._withheld:
            return InferredDiscovery(main.number, "bytes", self._withheld[role.number], 0.0)
        usual = {number: values for number, values in self._usual_parents(role).items() if number in made}
        named = [number for number in usual if number != main.number and _is_named(usual[number])]
        offset = min(role.offsets, default=0)
        if not named and (offset < main.size_bytes or not usual):
            return InferredDiscovery(main.number, "bytes", min(offset, main.size_bytes), 0.0)
        parent = min(named or list(usual), key=lambda number: (_passed_ms(usual[number]), number))
        if (
            self._model.finds_at_layout
            and made[parent].kind is Kind.STYLESHEET
            and role.kind in {Kind.FONT, Kind.IMAGE}
        ):
            return InferredDiscovery(parent, "complete", 0, 0.0)  # asked for at the first layout, whenever that is
        passed_ms = _passed_ms(usual[parent])
        if parent == main.number and passed_ms <= AT_ONCE_MS:
            return InferredDiscovery(main.number, "bytes", main.size_bytes, 0.0)
        delay_ms = max(0.0, passed_ms - work_ms(made[parent], self._model))
        return InferredDiscovery(parent, "complete", 0, min(DELAY_MOST_MS, delay_ms))

    def _usual_parents(self, role: PageRole) -> dict[int, list[float]]:
        least = USUALLY * min(role.weight, float(role.visits))
        return {
            number: values for number, values in role.parents.items() if number in self._known and values[0] >= least
        }

    def _is_withheld(self, role: PageRole) -> bool:
        """Whether the document may have named it long before it was asked for."""
        if not self._model.withholds or role.priority.rank < ChromiumPriority.MEDIUM.rank or not role.crowds:
            return False
        if min(role.offsets, default=0) < self._main.size_bytes:
            return False
        usual = self._usual_parents(role)
        if any(number != self._main.number and _is_named(values) for number, values in usual.items()):
            return False
        is_early = any(self._has_just_come(one, usual.get(one.number)) for one in self._blocking)
        model = self._model
        limits = (model.early_low, model.early_medium) if is_early else (model.low_per_host, model.low_per_page)
        limit = min((limit for limit in limits if limit is not None), default=None)
        return limit is not None and statistics.median(role.crowds) >= limit - 1

    def _has_just_come(self, role: PageRole, values: Sequence[float] | None) -> bool:
        """Whether it is not complete yet, or has been used a moment ago: then all that waited for it is asked for at once."""
        if values is None:
            return True
        return _passed_ms(values) - work_of_ms(role.kind, role.size_bytes, self._model) <= AT_ONCE_MS

    def _spread(self, withheld: Sequence[PageRole]) -> dict[int, int]:
        """Where the document names those that are withheld, by number: evenly spread behind the latest place that is known,
        those of each priority in the order of their requests."""
        size_bytes = self._main.size_bytes
        offsets = [min(role.offsets) for role in self._known.values() if role.offsets]
        least = max((offset for offset in offsets if offset < size_bytes), default=size_bytes)
        late: dict[ChromiumPriority, list[int]] = {}
        for role in withheld:
            late.setdefault(role.priority, []).append(role.number)
        return {
            number: least + (size_bytes - least) * place // len(numbers)
            for numbers in late.values()
            for place, number in enumerate(numbers, start=1)
        }


def _is_named(values: Sequence[float]) -> bool:
    """Whether it was usually said to be the referrer."""
    return values[2] >= values[0] / 2


def _passed_ms(values: Sequence[float]) -> float:
    """Since it was complete, in the mean."""
    return values[1] / values[0]
