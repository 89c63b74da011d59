"""The result of a proof."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.errors import MissingPartError, MixedschedError


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one proof."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    is_missing_part: bool = False  # it failed because something is not installed or not allowed
    is_optional: bool = False  # the main job works without it
    advice: tuple[str, ...] = ()  # what would make it better, though it may do as it is; the greatest gain first

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def checked(name: str, prove: Callable[[], str], *, is_optional: bool = False) -> Check:
    """Run a proof; its text is the detail, its error the failure. is_optional: most work can do without that part."""
    try:
        return Check(name, True, prove(), is_optional=is_optional)
    except MixedschedError as error:
        detail = f"{error.what}: {error.why}" if error.why else error.what
        return Check(name, False, detail, error.fix, isinstance(error, MissingPartError), is_optional)
    except TimeoutError:
        detail, fix = "it took too long", "end what else is running here, and try again"
    except OSError as error:
        detail, fix = error.strerror or str(error), "check the limits of this account"
    return Check(name, False, detail, fix, is_optional=is_optional)
