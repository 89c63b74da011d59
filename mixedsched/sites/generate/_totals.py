"""How much of what a page consists of, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mixedsched.model.request import Kind


@dataclass(frozen=True, slots=True)
class KindTotal:
    """Of one kind: how many resources, and how many bytes they have together."""

    resources: int
    body_bytes: int

    def __post_init__(self) -> None:
        if self.resources < 0 or self.body_bytes < self.resources or (self.body_bytes and not self.resources):
            raise ValueError(f"{self.resources} resources cannot have {self.body_bytes} bytes: each has at least one")


@dataclass(frozen=True, slots=True)
class Totals:
    """What a page is to consist of, to the byte. A kind that is missing does not occur.

    kinds: the documents include the main one. main_bytes: of the main document; None to have it drawn. hosts: how many there
    may be; None to have that drawn.
    """

    kinds: Mapping[Kind, KindTotal]
    main_bytes: int | None = None
    hosts: int | None = None

    def __post_init__(self) -> None:
        documents = self.kinds.get(Kind.DOCUMENT)
        if documents is None or not documents.resources:
            raise ValueError("a page has at least one document")
        rest_bytes = documents.body_bytes - (self.main_bytes or 0)
        if self.main_bytes is not None and (
            self.main_bytes < 1 or rest_bytes < documents.resources - 1 or (documents.resources == 1 and rest_bytes)
        ):
            raise ValueError(
                f"a main document of {self.main_bytes} bytes does not go with {documents.resources} documents of "
                f"{documents.body_bytes} bytes"
            )
        if self.hosts is not None and self.hosts < 1:
            raise ValueError(f"a page cannot have {self.hosts} hosts")
