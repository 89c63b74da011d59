"""Verdicts on one probe, and on several tries of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Word = Literal["right", "other code", "wrong", "by chance", "unclear"]


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """word: `other code` is an error that is seen and told by another code, `by chance` differs from try to try, and
    `unclear` could not be seen. did: what the server did, in a few words.
    """

    word: Word
    did: str


def over_tries(verdicts: Sequence[RuleVerdict]) -> RuleVerdict:
    """One verdict over several tries. Those that were unclear do not count, unless all were."""
    clear = [verdict for verdict in verdicts if verdict.word != "unclear"]
    if not clear:
        return verdicts[0]
    right = sum(verdict.word == "right" for verdict in clear)
    if right in {0, len(clear)}:
        return clear[0]
    wrong = next(verdict for verdict in clear if verdict.word != "right")
    return RuleVerdict("by chance", f"right in {right} of {len(clear)}; else {wrong.did}")
