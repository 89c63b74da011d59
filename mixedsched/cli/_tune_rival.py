"""`tune --space`: a search that is not ours."""

from mixedsched.advice.tuner.candidate import PLAIN
from mixedsched.advice.tuner.job import PIPE, SPACES
from mixedsched.advice.tuner.objective import Objective
from mixedsched.errors import UsageError, nearest_hint
from mixedsched.model.profile import Profile


def rival(
    space: str,
    sites: list[str],
    networks: tuple[Profile, ...],
    rung: str | None,
    objective: str | None,
    schemes: str | None,
) -> tuple[Objective, tuple[str, ...]]:
    """The objective and the scheme of a search that is not ours. Raises UsageError, MissingPartError."""
    from mixedsched.advice.tuner.vgprio import OBJECTIVE, refuse_without_optimiser  # here: few ask for it

    if space not in SPACES:
        raise UsageError(f"there is no space '{space}'", fix=nearest_hint(space, SPACES))
    if len(sites) > 1 or len(networks) > 1 or rung == PIPE or schemes is not None or objective not in {None, "si"}:
        raise UsageError(
            "VGPrio learns the Speed Index of one site over one network, by loads",
            fix="name one site and one network; leave --schemes and --objective out, and --rung pipe",
        )
    refuse_without_optimiser()
    return OBJECTIVE, (PLAIN,)
