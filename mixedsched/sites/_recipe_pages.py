"""Recipes of synthetic sites: a page description, or what is known of a page, in the place of contents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mixedsched.errors import PageError, SiteError
from mixedsched.model.page import Page
from mixedsched.model.request import Kind
from mixedsched.sites.generate import KindTotal, Totals, distributions, generate_page

Known = Literal["resources", "body_bytes"]
PAGE_NAME = "page.json"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PageContents(_Strict):
    """A page description beside the recipe, made into files. page: its name."""

    kind: Literal["synth"]
    page: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")] = PAGE_NAME

    def text(self, folder: Path) -> str:
        """The description as it stands. Raises SiteError."""
        try:
            return (folder / self.page).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SiteError(
                f"page {folder / self.page} cannot be read", why=str(error), fix="put it beside site.toml"
            ) from error

    def read(self, folder: Path) -> Page:
        """The page. Raises SiteError."""
        try:
            return Page.from_json(self.text(folder), str(folder / self.page))
        except PageError as error:
            raise SiteError(error.what, why=error.why, fix=error.fix) from error


class Amount(_Strict):
    """How many resources there are of a kind, and how many bytes they have together on the wire.

    assumed: which of the two nobody has told, but had to be assumed. source: where they are from, or why they were assumed so.
    """

    resources: int = Field(ge=1)
    body_bytes: int = Field(ge=1)
    assumed: frozenset[Known] = frozenset()
    source: str = ""


class StatisticsContents(_Strict):
    """What is known of a page, by numbers. All else is drawn from the distributions of a size class.

    page: of the whole page; kinds add up to it. mix_source: where the shares of the kinds are from. main_bytes: of the main
    document, where there are more documents than that. assumptions: in words, what else was assumed.
    """

    kind: Literal["statistics"]
    size_class: str
    seed: int = 1
    page: Amount
    kinds: dict[Kind, Amount]
    mix_source: str = Field(min_length=1)
    main_bytes: int | None = None
    assumptions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.size_class not in distributions().classes:
            raise ValueError(f"size_class is one of {', '.join(distributions().classes)}, not '{self.size_class}'")
        for what in ("resources", "body_bytes"):
            total, parts = getattr(self.page, what), sum(getattr(item, what) for item in self.kinds.values())
            if total != parts:
                raise ValueError(f"{what} of the kinds are {parts} together, those of the page {total}")
        if not self.page.source:
            raise ValueError("page.source must say where its numbers are from")
        self.totals(hosts=1)
        return self

    def totals(self, hosts: int) -> Totals:
        """The numbers as the generator takes them. Raises ValueError if no page can have them."""
        kinds = {kind: KindTotal(item.resources, item.body_bytes) for kind, item in self.kinds.items()}
        return Totals(kinds, self.main_bytes, hosts)

    def read(self, name: str, hosts: int) -> Page:
        """The page."""
        return generate_page(self.size_class, self.seed, totals=self.totals(hosts), name=name)

    def assumed(self) -> Iterator[str]:
        """All that was assumed, by field, as `script.resources`."""
        for name, amount in (("page", self.page), *self.kinds.items()):
            yield from (f"{name}.{field}" for field in sorted(amount.assumed))
