"""An edge as a child process: reads an EdgeInput from standard input, and prints what JsonLog says."""

import sys
from dataclasses import replace

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.world.edge.run import INPUT, run_edge
from mixedsched.world.server.log import JsonLog
from mixedsched.world.system.json_lines import say_error


def main() -> int:
    """Serve until standard input ends. Returns the exit code."""
    given = INPUT.validate_json(sys.stdin.buffer.readline())
    try:
        run_edge(replace(given, settings=replace(given.settings, stop_with_stdin=True)), JsonLog())
    except MixedschedError as error:
        return say_error(error)
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
