"""Words and numbers for the pages of `view`."""

import datetime as dt
import time

from mixedsched.lab.underway import Underway
from mixedsched.report.view.folders import Folder, State
from mixedsched.units import format_duration, printable

_DAY_S = 86_400


def when_text(when_s: float, now_s: float | None = None) -> str:
    """ "3 min ago", "5 h ago", or the day."""
    ago_s = max(0.0, (time.time() if now_s is None else now_s) - when_s)
    if ago_s < 60:
        return "just now"
    if ago_s < 3600:
        return f"{ago_s / 60:.0f} min ago"
    if ago_s < _DAY_S:
        return f"{ago_s / 3600:.0f} h ago"
    return day_text(when_s)


def day_text(when_s: float) -> str:
    return _date(when_s).strftime("%Y-%m-%d")


def iso_text(when_s: float) -> str:
    return _date(when_s).strftime("%Y-%m-%dT%H:%M:%SZ")


def _date(when_s: float) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(when_s, dt.UTC)
    except (OverflowError, ValueError, OSError):  # a file's date may be anything
        return dt.datetime.fromtimestamp(0, dt.UTC)


def shown_name(text: str) -> str:
    """A name from a file system, fit for a page: bytes that are no text, and control characters, become escapes."""
    named = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return printable(named)


def counts_text(folder: Folder) -> str:
    """ "12 of 34 runs"; "" if it is not known."""
    if folder.counts is None:
        return ""
    done, total, unit = folder.counts
    return f"{done} of {total} {unit}" if total else f"{done} {unit}"


def progress_text(record: Underway, now_s: float) -> str:
    """ "12 of 34 runs, 35 %, 3 min 5 s left"."""
    parts = []
    if record.unit:
        parts.append(
            f"{record.done} of {record.total} {record.unit}" if record.total else f"{record.done} {record.unit}"
        )
    if record.share is not None:
        parts.append(f"{record.share:.0%}".replace("%", " %"))
    left_s = record.left_at_s(now_s)
    if left_s is not None:
        parts.append(f"{format_duration(left_s)} left")
    parts.append(f"for {format_duration(max(0.0, now_s - record.began_s))} so far")
    return ", ".join(parts)


def state_text(folder: Folder) -> str:
    """The state in a word or two; "" for what is simply done."""
    match folder.state:
        case State.RUNNING:
            return "running"
        case State.STOPPED | State.KILLED:
            return folder.state.value
        case State.FAILED:
            return "failed"
        case State.DONE | State.UNKNOWN:
            is_part = folder.summary is not None and not folder.summary.is_whole
            return "not complete" if is_part else ""
