"""What the scripts below results/ have in common: they end like commands."""

import sys
from collections.abc import Callable

from mixedsched.errors import ExitCode, MixedschedError


def tell(remark: str) -> None:
    """What a script has to say meanwhile."""
    sys.stderr.write(f"{remark}\n")
    sys.stderr.flush()


def run_script(main: Callable[[], None]) -> None:
    """Run a script, which ends as commands do: errors in words, and an exit code that says how."""
    try:
        main()
    except MixedschedError as error:
        tell(str(error))
        sys.exit(ExitCode.FAILED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
