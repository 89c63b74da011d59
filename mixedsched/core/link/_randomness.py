"""The randomness of a link: a stream for each kind of decision, so that adding jitter does not change the losses."""

import random


def direction_rng(seed: int, direction: str) -> random.Random:
    """The randomness of one direction ("down" or "up") of the link with this seed. Losses are drawn from it as it is."""
    return random.Random(f"{seed}/{direction}")


def stream_beside(rng: random.Random, kind: str) -> random.Random:
    """A stream of its own for another kind of decision, made from the state of `rng`, which stays as it is."""
    twin = random.Random()
    twin.setstate(rng.getstate())
    return random.Random(f"{twin.getrandbits(128):x}/{kind}")
