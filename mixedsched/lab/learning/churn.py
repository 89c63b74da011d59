"""URLs of real pages change between two loads; so do those of a page that is played with churn."""

import random

from mixedsched.model.page import PAGE_FORMAT, Page, Resource


def churned(page: Page, ratio: float, rng: random.Random) -> Page:
    """The page with this share of its URLs (at random, but the main document's) under new names in the same folder."""
    if not ratio:
        return page
    return Page(
        format=PAGE_FORMAT,
        name=page.name,
        resources=tuple(
            _renamed(item, rng) if item is not page.main and rng.random() < ratio else item for item in page.resources
        ),
    )


def _renamed(item: Resource, rng: random.Random) -> Resource:
    bare, mark, query = item.path.partition("?")
    folder, slash, name = bare.rpartition("/")
    _, dot, ending = name.rpartition(".")
    fresh = f"{rng.getrandbits(48):012x}"
    return item.model_copy(update={"path": f"{folder}{slash}{fresh}{dot}{ending}{mark}{query}"})
