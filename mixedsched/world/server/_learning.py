"""What a server under `adaptive` learns while it serves: visits go to the memory file, and orders come back, on a thread.

Serving never waits for the file. Where it cannot be used, an error is logged, pages are served by what is known so far (at
first the safe order), and it is tried again later.
"""

from __future__ import annotations

import contextlib
import queue
import random
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mixedsched.core.learning.plan import OrderPlan
from mixedsched.core.learning.state import PageState
from mixedsched.core.learning.steering import Steering
from mixedsched.core.learning.visit import SeenNetwork, Visit, page_path
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server.running import MemorySettings

if TYPE_CHECKING:
    from mixedsched.world.store import MemoryStore

QUEUE_MOST = 256  # visits that wait to be remembered; those beyond are not learned from
LOOK_S = 1.0  # how often the file is looked at for new orders
RETRY_S = 15.0  # after an error
PAGES_AT_HAND = 500  # whose orders are kept in this process
TEACHES_EVERY_S = 20.0  # a client's visits to one page that are closer together teach once: nobody outvotes the others
CLIENTS_MOST = 5000
REQUESTS_FEWEST = 2  # of a visit: a document alone was asked for by a robot, or had all else in the cache

STOP_S = 2.0  # that the learner may take to end

_STOP = object()


class Learning:
    """file: the memory. say: takes one line about an error; called from another thread. rng: decides which visits try an order.

    every_visit: learn from all visits of a client, however close together, as a laboratory's are. frozen: learn nothing more.
    beacons: whether visitors' browsers report their paints.
    """

    def __init__(
        self,
        file: Path,
        say: Callable[[str], None],
        *,
        every_visit: bool = False,
        frozen: bool = False,
        beacons: bool = False,
        rng: random.Random | None = None,
    ) -> None:
        # Here, because few servers learn, and it takes a while to load; before the thread starts, as serving would feel it.
        from mixedsched.world.store import open_memory

        self._open = open_memory
        self._file = file
        self._every_visit = every_visit
        self._frozen = frozen
        self._beacons = beacons
        self._say = say
        self._rng = rng or random.Random()
        self._visits: queue.Queue[object] = queue.Queue(QUEUE_MOST)
        self._states: dict[str, PageState] = {}
        self._versions: dict[str, int] = {}
        self._taught: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._told = ""
        self._thread = threading.Thread(target=self._work, name="learning", daemon=True)
        if frozen:
            self._look_once()
        else:
            self._thread.start()

    def join(self, client: str, scheme: ConfiguredScheme) -> Steering:
        """For a new connection. client: as of client_of."""
        return Steering(scheme, self._plan_for, lambda visit: self._take(client, visit), beacons=self._beacons)

    def stop(self) -> None:
        """Remember what has come, for a moment at most."""
        if self._frozen:
            return
        with contextlib.suppress(queue.Full):
            self._visits.put_nowait(_STOP)
        self._thread.join(STOP_S)

    def _plan_for(self, path: str, network: SeenNetwork) -> OrderPlan | None:
        state = self._states.get(page_path(path))
        if state is None:
            return None
        return state.settled(network) if self._frozen else state.choose(self._rng, network)

    def _take(self, client: str, visit: Visit) -> None:
        if self._frozen or len(visit.requests) < REQUESTS_FEWEST:
            return
        key, now_s = (client, visit.path), time.monotonic()
        is_soon = now_s - self._taught.get(key, -TEACHES_EVERY_S) < TEACHES_EVERY_S
        if is_soon and not self._every_visit and not _is_local(client):
            return
        self._taught[key] = now_s
        self._taught.move_to_end(key)
        if len(self._taught) > CLIENTS_MOST:
            self._taught.popitem(last=False)
        with contextlib.suppress(queue.Full):
            self._visits.put_nowait(visit)

    def _work(self) -> None:
        store: MemoryStore | None = None
        tries_at_s = looks_at_s = 0.0
        pending: object | None = None
        while True:
            with contextlib.suppress(queue.Empty):
                pending = self._visits.get(timeout=LOOK_S)
            if pending is _STOP:
                break
            now_s = time.monotonic()
            if now_s < tries_at_s:
                pending = None  # it is not learned from
                continue
            try:
                if store is None:
                    store = self._open(self._file)
                if isinstance(pending, Visit):
                    self._remember(store, pending)
                if now_s >= looks_at_s:
                    self._look(store)
                    looks_at_s = now_s + LOOK_S
                self._told = ""
            except (MixedschedError, OSError) as error:
                self._tell(error)
                tries_at_s = time.monotonic() + RETRY_S
                if store is not None:
                    store.__exit__()
                store = None
            pending = None
        if store is not None:
            store.__exit__()

    def _look_once(self) -> None:
        try:
            with self._open(self._file) as store:
                self._look(store)
        except (MixedschedError, OSError) as error:
            self._tell(error)

    def _remember(self, store: MemoryStore, visit: Visit) -> None:
        path = visit.path
        self._keep(path, store.change(path, time.time(), lambda state: state.learn(visit)))

    def _look(self, store: MemoryStore) -> None:
        """Take over what others have changed."""
        versions = store.versions(PAGES_AT_HAND)
        for path, version in versions.items():
            if self._versions.get(path) != version:
                self._keep(path, store.page(path))
        for path in [path for path in self._states if path not in versions]:
            del self._states[path]
        self._versions = versions

    def _keep(self, path: str, state: PageState | None) -> None:
        """Keep at hand what decides, of pages that have an order of their own."""
        kept = None if state is None else state.for_serving()
        self._states.pop(path, None)
        if kept is not None:
            self._states[path] = kept
        while len(self._states) > PAGES_AT_HAND:
            del self._states[next(iter(self._states))]

    def _tell(self, error: Exception) -> None:
        """Say an error once, until another one comes or the file works again."""
        text = f"memory {self._file}: {error}; pages are served by what is known so far, the file is tried again"
        if text != self._told:
            self._told = text
            self._say(text)


@contextlib.contextmanager
def learning_of(settings: MemorySettings | None) -> Iterator[Learning | None]:
    """What is learned while it serves; None without a memory."""
    if settings is None:
        yield None
        return
    learning = Learning(
        settings.file, say, every_visit=settings.every_visit, frozen=settings.frozen, beacons=settings.beacons
    )
    try:
        yield learning
    finally:
        learning.stop()


@contextlib.contextmanager
def background_learner(settings: MemorySettings | None) -> Iterator[None]:
    """A process that searches orders meanwhile, at the lowest priority. It ends with its standard input, and so with us."""
    if settings is None or settings.learner is None:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-m", settings.learner, str(settings.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C is for us alone
    )
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def say(line: str) -> None:
    """An error that does not end the server."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _is_local(client: str) -> bool:
    """This machine, from which laboratories load pages again and again. client: as of client_of."""
    return client.startswith("127.") or client == "::/64"
