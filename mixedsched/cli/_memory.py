"""The option --memory of commands that serve."""

from pathlib import Path

from mixedsched.errors import UsageError
from mixedsched.lab.learning.taught import asks_for_beacons, is_adaptive
from mixedsched.world.server.running import MemorySettings

LEARNER = "mixedsched.lab.learning"


def memory_settings(
    scheme: str, file: Path | None, *, across_connections: bool = False, hosts: int = 1, beacons: bool = False
) -> MemorySettings | None:
    """What is kept between visits, and which process learns from it; None without --memory. Raises UsageError.

    hosts: how many are served: pages are remembered by path. beacons: whether documents get the script of the beacon.
    """
    beacons = beacons or asks_for_beacons(scheme)
    if file is None and beacons:
        raise UsageError(
            "beacons are of no use without --memory", why="nothing would read them", fix="add --memory FILE"
        )
    if file is None:
        return None
    if not is_adaptive(scheme):
        raise UsageError(
            f"--memory is of no use to scheme {scheme}", why="it learns nothing", fix="add --scheme adaptive"
        )
    if across_connections:
        raise UsageError(
            "--memory is not possible with --across-connections",
            why="each connection has the order of its own page",
            fix="leave out one of the two",
        )
    if hosts > 1:
        raise UsageError(
            "--memory is not possible with several --host",
            why="pages are remembered by their paths",
            fix="run an edge for each host, with a memory of its own",
        )
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise UsageError(
            f"--memory {file} is not possible", why="it is not a file, and none can be made there", fix="name a file"
        )
    return MemorySettings(file, beacons=beacons, learner=LEARNER)
