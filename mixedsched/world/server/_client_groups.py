"""The connections of each client share one scheduler, where the server schedules across connections."""

from collections.abc import Callable
from typing import Any

from mixedsched.core.h3.shared import Share, SharedScheduler
from mixedsched.model.scheduler import Scheduler


class ClientGroups:
    """Groups connections, named by number, by the address of their client, and lets those of a group take turns.

    create_scheduler: makes the scheduler of a group. flush: lets one connection send what it may.
    """

    def __init__(self, create_scheduler: Callable[[], Scheduler[Any]], flush: Callable[[int], None]) -> None:
        self._create_scheduler = create_scheduler
        self._flush = flush
        self._groups: dict[str, SharedScheduler] = {}
        self._members: dict[int, tuple[str, Share]] = {}
        self._numbers: dict[Share, int] = {}

    def join(self, number: int, client: str) -> Share:
        """A new connection's part in the scheduler of its client. client: its IP address."""
        if client not in self._groups:
            self._groups[client] = SharedScheduler(self._create_scheduler())
        share = self._groups[client].join()
        self._members[number] = client, share
        self._numbers[share] = number
        return share

    def set_stall_test(self, number: int, is_stalled: Callable[[], bool]) -> None:
        """is_stalled: whether the connection cannot use its turn, see Share."""
        self._members[number][1].is_stalled = is_stalled

    def flush(self, number: int) -> None:
        """Something has happened to a connection: let it send what it may, then those whose turn comes by that."""
        client, share = self._members[number]
        self._groups[client].take_turns(share, self._flush_share)

    def leave(self, number: int) -> Callable[[], None]:
        """A connection is gone. Returns a function to call soon, which lets the others of its client go on."""
        client, share = self._members.pop(number)
        group = self._groups[client]
        share.leave()
        del self._numbers[share]
        if not len(group):
            del self._groups[client]
        return lambda: group.take_turns(share, self._flush_share)

    def _flush_share(self, share: Share) -> None:
        self._flush(self._numbers[share])
