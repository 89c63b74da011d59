"""Where programs of this machine are, including those for administrators.

Debian and Ubuntu keep `tc`, `bridge`, `ethtool` and many servers in folders that are missing in an ordinary user's PATH. So
programs are run by the path that was found.
"""

import os
import shutil
from collections.abc import Sequence

ADMIN_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def find_program(name: str) -> str | None:
    """The path of a program: in the PATH, else in the folders for administrators. A name with a slash is a path already."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(ADMIN_FOLDERS))


def with_path(words: Sequence[str]) -> list[str]:
    """The command with the path of its program; unchanged if there is no such program."""
    return [find_program(words[0]) or words[0], *words[1:]]
