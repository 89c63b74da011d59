"""The pages of the study as all its arms send them: without content codings, which gtlsserver does not have."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from mixedsched.lab.study.definition import Study
from mixedsched.model.page import Page, Resource
from mixedsched.sites.generate import page_text
from mixedsched.sites.opening import open_site
from mixedsched.sites.serving import served_site
from mixedsched.world.servers import Abilities, levelled

PAGES = Path(__file__).parents[2] / "build" / "pages" / "servers"
MARK = "-decoded"


def with_decoded_pages(study: Study) -> Study:
    """The same study over page files, which it writes; sites are named with MARK."""
    names = []
    for name in study.sites:
        file = PAGES / f"{name}{MARK}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page_text(decoded(name), source=f"{name}, decoded"))
        names.append(file.relative_to(PAGES).as_posix())
    return Study.from_dict({**study.to_dict(), "sites": names}, PAGES)


def decoded(name: str) -> Page:
    """A bundled site's page."""
    site = open_site(name)
    with TemporaryDirectory() as folder:
        served, _ = levelled(served_site(site), [Abilities(codings=False)], Path(folder))
        files = {item.id: served.entries[served.hosts[item.host]][item.path].file for item in site.page.resources}
        sizes = {name: file.stat().st_size if file is not None else 0 for name, file in files.items()}
    by_id = site.page.by_id()

    def changed(item: Resource) -> Resource:
        offset = item.found_at_bytes
        if item.found_by is not None and offset:  # at the same place of the parent's text
            offset = min(offset * sizes[item.found_by] // by_id[item.found_by].body_bytes, sizes[item.found_by])
        return item.model_copy(update={"body_bytes": sizes[item.id], "found_at_bytes": offset})

    return site.page.model_copy(update={"resources": tuple(map(changed, site.page.resources))})
