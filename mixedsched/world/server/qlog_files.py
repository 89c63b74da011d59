"""Files of qlog records, written as events happen, so that a server that is killed leaves complete records."""

import logging
import tempfile
from pathlib import Path

from mixedsched.errors import UsageError

_log = logging.getLogger(__name__)

SUFFIX = ".sqlog"  # by which qvis knows JSON text sequences
_BUFFER_BYTES = 64 * 1024


class QlogFile:
    """Appends whole records. It is open only while it writes: a server may have more connections than open files.

    An earlier file of that name is replaced. If it cannot be written, a warning is logged once and the trace is given up.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._mode = "wb"

    def write(self, record: bytes) -> None:
        """Take a record; it is written by `flush`, or when there are enough of them."""
        self._waiting.append(record)
        self._waiting_bytes += len(record)
        if self._waiting_bytes >= _BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not waiting or not self._mode:
            return
        try:
            with self._path.open(self._mode) as file:
                file.write(b"".join(waiting))
            self._mode = "ab"
        except OSError as error:
            self._mode = ""
            _log.warning("the qlog trace %s ends early: %s", self._path, error.strerror or error)


def prepare_folder(folder: Path, option: str = "--qlog") -> None:
    """Make a folder for traces where there is none. Raises UsageError if traces cannot be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot write traces to {folder}",
            why=error.strerror or str(error),
            fix=f"give {option} a folder that you may write to",
        ) from error
