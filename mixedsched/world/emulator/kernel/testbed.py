"""The process that owns the network of a kernel back end (netns, vm), and the back end that talks to it.

It reads lines of JSON and answers each with one. First the settings, {"profile": facts, "name": "4g", "privilege": "root"}
(kernel/privilege.py; it was started with the prefix of that), answered by {"ready": {"namespaces": {role: name}, "server_host":
..., "client_host": ..., "notes": [...]}}; then {"op": "link", "seed": n}, which makes the link fresh and is answered by
{"link": {}}; {"op": "counters"}, answered by {"counters": {"down": ..., "up": ...}}; and {"op": "check"}, answered by
{"check": {}} if all of it still runs. What cannot be done is answered by {"error": {"what", "why", "fix", "exit_code"}}.

It takes everything down when its standard input ends, however its parent ended, and on SIGTERM. If it is killed itself, the
next start sweeps.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.awake import kept_awake
from mixedsched.world.emulator.backend import Address, LinkInUse
from mixedsched.world.emulator.kernel.namespaces import Claim, claimed_namespaces, enter, sweep
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.system.children import Child, child
from mixedsched.world.system.json_lines import Orders, raise_error_in, say, say_error
from mixedsched.world.system.precedence import Promptness

SERVER_HOST = "198.18.0.1"  # from the addresses for benchmarks, RFC 2544: never those of anything real
CLIENT_HOST = "198.18.0.2"
FIRST_SEED = 0  # of the link before any run
_ANSWER_LIMIT_S = 20.0
_CHECK_EVERY_S = 2.0


class Testbed(Protocol):
    """A network that is up."""

    facts: Mapping[str, Any]
    """What else to say of it when it is ready."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the profile, in words for a report."""

    def renew(self, seed: int) -> object:
        """Empty queues, counters at zero, and netem's randomness from the seed where it takes one."""

    def counters(self) -> Mapping[str, Any]:
        """What the link has counted since the last renew(), by direction."""

    def check(self) -> None:
        """Raises MixedschedError if it does not work any more."""


def own_testbed(kind: str, roles: Sequence[str], set_up: Callable[[Profile, Claim, ExitStack], Testbed]) -> int:
    """Be that process; returns its exit code. roles: of the namespaces to make.

    set_up: makes the network between them. What it puts on the stack goes before the namespaces do.
    """
    orders = Orders()
    settings = next(orders, None)
    if settings is None:
        return ExitCode.DONE
    name = str(settings.get("name", ""))
    try:
        profile = Profile.from_facts(name, settings["profile"])
        privilege = Privilege(settings.get("privilege", Privilege.ROOT))
        with claimed_namespaces(roles, f"{kind} {name}".strip(), privilege) as claim, ExitStack() as stack:
            testbed = set_up(profile, claim, stack)
            say({"ready": _ready_facts(claim, testbed)})
            for order in orders:
                try:
                    say(_answer(order, testbed))
                except MixedschedError as error:
                    say_error(error)
    except MixedschedError as error:
        return say_error(error)
    return ExitCode.DONE


def _ready_facts(claim: Claim, testbed: Testbed) -> dict[str, Any]:
    return {
        "namespaces": dict(claim.namespaces),
        "server_host": SERVER_HOST,
        "client_host": CLIENT_HOST,
        "notes": list(testbed.notes),
        **testbed.facts,
    }


def _answer(order: Mapping[str, Any], testbed: Testbed) -> dict[str, Any]:
    match order.get("op"):
        case "link":
            testbed.renew(int(order.get("seed", FIRST_SEED)))
            return {"link": {}}
        case "counters":
            return {"counters": testbed.counters()}
        case "check":
            testbed.check()
            return {"check": {}}
        case unknown:
            raise UsageError(f"there is no op '{unknown}'", fix="known: link, counters, check")


class TestbedBackend:
    """A testbed that is up, in a child process of its own: the parent's side."""

    promptness = Promptness.KERNEL

    def __init__(self, name: str, privilege: Privilege, process: Child, ready: dict[str, Any]) -> None:
        self.name = name
        self.privilege = privilege
        self._process = process
        self.server_host: str = ready["server_host"]
        self.server_prefix = enter(ready["namespaces"]["server"])
        self.client_prefix = enter(ready["namespaces"]["client"])
        self.notes: tuple[str, ...] = tuple(ready["notes"])

    @asynccontextmanager
    async def link(self, server: Address, seed: int, packet_log: Path | None = None) -> AsyncIterator[LinkInUse]:
        """The server is found at its own address. Raises UsageError if a log of packets is wanted."""
        if packet_log is not None:
            raise UsageError(f"{self.name} keeps no log of packets", fix="use --backend relay, which does")
        await self._ask({"op": "link", "seed": seed})
        link = LinkInUse(server)
        with kept_awake():
            yield link
        link.counters = (await self._ask({"op": "counters"}))["counters"]

    async def ended(self) -> MixedschedError:
        """Wait until the network does not work any more, and return why. A slow answer is no such sign."""
        while True:
            answer = await self._answer_to({"op": "check"})
            if self._process.has_ended:
                return self._silence()
            try:
                raise_error_in(answer or {})
            except MixedschedError as error:
                return error
            await self._process.next_line(_CHECK_EVERY_S)  # none comes; at once if the process ends

    async def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        answer = await self._answer_to(order)
        if answer is None:
            raise self._silence()
        raise_error_in(answer)
        return answer

    async def _answer_to(self, order: dict[str, Any]) -> dict[str, Any] | None:
        """None if none came in time. Late answers to questions that were given up are dropped."""
        self._process.take_lines()
        self._process.tell(order)
        while answer := await self._process.next_line(_ANSWER_LIMIT_S):
            if {order["op"], "error"} & answer.keys():
                return answer
        return None

    def _silence(self) -> MixedschedError:
        fate = "has stopped" if self._process.has_ended else f"gave no answer for {_ANSWER_LIMIT_S:.0f} s"
        return MixedschedError(f"the process that owns the namespaces {fate}")


@asynccontextmanager
async def owned_testbed(
    name: str, profile: Profile, privilege: Privilege, failure: str
) -> AsyncIterator[TestbedBackend]:
    """The testbed of the child process `mixedsched.world.emulator.NAME`; it ends with the `async with`, or if we are killed.

    failure: what to say of a child that does not start.
    """
    settings = {"profile": profile.facts(), "name": profile.name, "privilege": privilege}
    try:
        async with child(
            f"mixedsched.world.emulator.{name}", failure=failure, settings=settings, prefix=privilege.owner_prefix
        ) as process:
            yield TestbedBackend(name, privilege, process, process.first["ready"])
    finally:
        sweep()  # after a child that had to be killed, as when we are interrupted while it starts
