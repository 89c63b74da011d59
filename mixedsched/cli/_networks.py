"""The networks that one command is to look at."""

from __future__ import annotations

from mixedsched.errors import UsageError
from mixedsched.model.profile import Profile
from mixedsched.world import catalog

NETWORKS_MOST = 4


def networks_named(names: str) -> tuple[Profile, ...]:
    """One to four profiles, by names or files with commas between. Raises UsageError, or InputError for what is no profile."""
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not 1 <= len(listed) <= NETWORKS_MOST:
        raise UsageError(f"{len(listed)} networks were named", fix=f"name one to {NETWORKS_MOST}, such as 4g,slow-4g")
    profiles = tuple(catalog.load_profile(name) for name in listed)
    if len({profile.name for profile in profiles}) < len(profiles):
        raise UsageError("a network is named twice", fix="name each once")
    return profiles
