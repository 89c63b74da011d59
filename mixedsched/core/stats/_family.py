"""Many questions at once."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted so that one false finding in the whole family stays as rare as in one test; in the order given.

    Source: Holm 1979 (step-down Bonferroni). Raises ValueError for a value outside 0 .. 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("p values must lie between 0 and 1")
    order = sorted(range(len(p_values)), key=lambda index: (p_values[index], index))
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for position, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - position)))
        adjusted[index] = largest
    return adjusted
