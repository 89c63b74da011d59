"""The userspace UDP relay: clients talk to it as if it were the server, through an emulated link.

It is a process of its own, `python -m mixedsched.world.emulator.relay`, so that neither the server's nor the browser's work
delays a packet. The first line of its standard input is JSON: {"profile": facts, "seed": n, "server": [host, port],
"listen": [host, port], "packet_log": folder or null}; hosts are IP addresses. It prints {"listening": [host, port],
"promptness": what lets it run ahead of others}, runs until its input ends or SIGTERM, and prints its counters as the last line.

`_core.py` is the work itself, a plain loop, and says why it is not an event loop.
"""

import contextlib
import gc
import resource
import sys
from pathlib import Path
from typing import Any

from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.relay._clients import MAX_CLIENTS
from mixedsched.world.emulator.relay._core import Relay
from mixedsched.world.emulator.relay._promptness import ask_for_promptness
from mixedsched.world.emulator.relay.log import PacketLog
from mixedsched.world.system.json_lines import Orders, say, say_error

_OTHER_FILES = 64  # open beside a socket for each client


def main() -> int:
    """Entry point of the relay's process. Returns its exit code."""
    orders = Orders()
    try:
        settings = _read_settings(orders)
        log = PacketLog(Path(settings["packet_log"])) if settings.get("packet_log") else None
        relay = _open_relay(settings, log)
    except MixedschedError as error:
        return say_error(error)
    try:
        promptness = ask_for_promptness()
        _prepare_process()
        relay.selector.add(orders.fd, lambda: _read_orders(orders, relay))
        say({"listening": relay.address, "promptness": promptness})
        relay.run(lambda: orders.has_ended)
        counters = relay.counters()
    finally:
        relay.close()
    if log is not None:
        relay.decide_all()
        counters["packet_log"] = log.close()
    say(counters)
    return ExitCode.DONE


def _read_settings(orders: Orders) -> dict[str, Any]:
    try:
        settings = next(orders, None)
    except ValueError as error:
        raise UsageError("the relay got no settings", why=str(error), fix="send a line of JSON") from error
    if settings is None:
        raise UsageError("the relay got no settings", fix="send a line of JSON")
    return settings


def _read_orders(orders: Orders, relay: Relay) -> None:
    """A relay takes no orders; the end of its input is what it waits for."""
    orders.read()
    if orders.has_ended:
        relay.selector.remove(orders.fd)


def _open_relay(settings: dict[str, Any], log: PacketLog | None) -> Relay:
    server, listen = tuple(settings["server"]), tuple(settings["listen"])
    try:
        return Relay(Profile.from_facts("", settings["profile"]), settings["seed"], server, listen, log=log)
    except OSError as error:
        why = error.strerror or str(error)
        raise MixedschedError(f"the relay cannot listen at {listen[0]} port {listen[1]}", why=why) from error


def _prepare_process() -> None:
    """Let it open as many files as it may need, and keep the garbage collector out of its way."""
    _ask_for_files(MAX_CLIENTS + _OTHER_FILES)
    # Nothing on a packet's way makes cycles (a test counts them), so the collector would only take time.
    gc.collect()
    gc.freeze()
    gc.disable()


def _ask_for_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    sys.exit(main())
