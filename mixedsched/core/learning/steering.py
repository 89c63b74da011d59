"""One connection under `adaptive`: each navigation gets its page's order, and each visit is taken down."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mixedsched.core.learning.plan import SAFE, OrderPlan
from mixedsched.core.learning.recorder import VisitRecorder
from mixedsched.core.learning.visit import SeenNetwork, Visit
from mixedsched.core.schedulers.inferred import safe_turn
from mixedsched.model.request import Request
from mixedsched.model.scheme import ConfiguredScheme


class Steering:
    """scheme: for the session, instead of the one that was given. recorder: to be among the decisions' observers.

    plan_for: the order for a path and a network, None for the safe one. take: told of each visit when it is over.
    connection: what the transport knows; to be set once there is one. beacons: whether visitors' browsers report under the
    reserved path.
    """

    def __init__(
        self,
        scheme: ConfiguredScheme,
        plan_for: Callable[[str, SeenNetwork], OrderPlan | None],
        take: Callable[[Visit], None],
        *,
        beacons: bool = False,
    ) -> None:
        self.connection: Callable[[], SeenNetwork] = SeenNetwork
        self.recorder = VisitRecorder(take, self._order, lambda: self.connection(), beacons=beacons)
        self.scheme = replace(scheme, scheme=replace(scheme.scheme, place=self._place))
        self._plan_for = plan_for
        self._plan: OrderPlan | None = None
        self._main = -1

    def _order(self) -> str:
        return SAFE if self._plan is None else self._plan.name

    def _network(self) -> SeenNetwork:
        """What the first flights have told, and the connection's earlier visits."""
        known = self.connection()
        return replace(known, rate_bps=self.recorder.latest_rate_bps if known.rate_bps is None else known.rate_bps)

    def _place(self, request: Request, _mapping: object, _values: object) -> Any:
        if request.navigates and not request.is_prefetch and request.stream_id != self._main:
            self._main = request.stream_id
            self._plan = self._plan_for(request.path, self._network()) if request.is_found else None
        return safe_turn(request) if self._plan is None else self._plan.turn_of(request)
