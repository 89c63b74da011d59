"""A server as a child process. The first line of its standard input is a ServerInput as JSON; it prints what JsonLog says."""

from __future__ import annotations

import sys
from dataclasses import replace

from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from mixedsched.world.server.log import JsonLog
from mixedsched.world.server.run import run_server
from mixedsched.world.server.running import INPUT


def main() -> int:
    """Serve until standard input ends. Returns the exit code."""
    given = INPUT.validate_json(sys.stdin.buffer.readline())
    try:
        scheme = configure(given.scheme, SCHEMES, catalog.load_mapping, given.mapping)
        run_server(given.site, scheme, replace(given.settings, stop_with_stdin=True), JsonLog())
    except MixedschedError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
