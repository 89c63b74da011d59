"""Brings what page loads need beside Python: the Node packages of the browser's worker, and a browser where there is none."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world.browser.find import (
    browsers_in_path,
    chosen_browser,
    find_chromium,
    find_node,
    is_ready_package,
    own_browser,
)
from mixedsched.world.npm import install_packages
from mixedsched.world.places import RUNNER
from mixedsched.world.setup._chrome import bring_chrome, checked_mirror
from mixedsched.world.setup._part import Found, Part, SetupObserver, part
from mixedsched.world.setup._trial import require_starts

__all__ = ["Part", "SetupObserver", "checked_mirror", "set_up"]


def set_up(mirror: str | None, progress: SetupObserver) -> Iterator[Part]:
    """Each part, found or installed. What is there already stays as it is.

    mirror: where to fetch Chrome for Testing, instead of Google's own address.
    """
    node = part("Node", lambda: Found(find_node()))
    yield node
    runner = part("lighthouse-runner", partial(_runner, progress))
    yield runner
    yield part("browser", lambda: _browser(node.path, runner.path, mirror, progress))


def _runner(progress: SetupObserver) -> Found:
    found = RUNNER.found(is_ready_package)
    if found is not None:
        return Found(found)
    folder = RUNNER.provide()
    progress.say(f"installing the lighthouse-runner's Node packages into {folder}")
    install_packages(folder, partial(progress.tell, "installing Node packages"))
    return Found(folder, brought=True)


def _browser(node: Path | None, runner: Path | None, mirror: str | None, progress: SetupObserver) -> Found:
    chosen = chosen_browser()
    if chosen is not None:
        return Found(chosen, "named by CHROME_PATH")
    in_path, _ = browsers_in_path()
    if in_path is not None:
        return Found(in_path, "found in the PATH")
    own, brought = own_browser(), False
    if own is None:
        if node is None or runner is None:
            raise _cannot_bring()
        own, brought = bring_chrome(node, runner, mirror, progress), True
    require_starts(own.program)
    return Found(own.program, f"Chrome for Testing {own.build}", brought)


def _cannot_bring() -> MissingPartError:
    """The error if there is neither a browser nor what it takes to bring one."""
    try:
        find_chromium()
    except MissingPartError as error:
        fix = "fix what is said above and repeat this command, which then brings one; or (Debian) apt-get install chromium"
        return MissingPartError(error.what, why=error.why, fix=fix)
    raise AssertionError("there is a browser")
