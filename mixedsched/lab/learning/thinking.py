"""Search the orders of remembered pages that want it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from mixedsched.core.learning.state import PageState, Proposal
from mixedsched.lab.learning.search import search
from mixedsched.model.browser_model import BrowserModel
from mixedsched.world import catalog
from mixedsched.world.store import MemoryStore

BROWSER = "chromium"  # the browser model by which learned pages are played


def think_once(
    store: MemoryStore, goes_on: Callable[[], bool] = lambda: True, model: BrowserModel | None = None
) -> int:
    """Search for each page that wants it; returns how many. goes_on: asked before each order that is played. Raises as the
    store.
    """
    model = model or catalog.load_browser_model(BROWSER)
    paths = store.wanting_thought()
    for path in paths:
        state = store.page(path)
        if state is None:
            store.settle(path)
            continue
        found = search(state.memory, state.classes, model, goes_on=goes_on, left=state.guard.left)
        store.change(path, time.time(), _Finding(found, state.memory.visits, state.memory.relearned).hand_over)
    return len(paths)


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a search has found for a page as it was then."""

    proposals: list[Proposal]
    visits: int
    relearned: int

    def hand_over(self, state: PageState) -> None:
        """Visits may have come meanwhile; if they showed another page, the finding is of no use."""
        if state.memory.relearned != self.relearned or state.memory.strange:
            return
        state.propose(self.proposals)
        state.thought = self.visits
