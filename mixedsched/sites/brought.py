"""Brings sites from elsewhere, once: records a page from its address, or imports a HAR, into the cache."""

import datetime as dt
import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from urllib.parse import urldefrag

from mixedsched.errors import InputError, MixedschedError, SiteError
from mixedsched.sites.elsewhere import is_address, page_address
from mixedsched.sites.har import import_page, page_called, pages_of, read_har
from mixedsched.sites.live import Loads, RecordingPlan, noticed, observe_all, write_loads
from mixedsched.sites.making.plain import INDEX_NAME
from mixedsched.sites.recorded.names import site_name_of_url
from mixedsched.sites.recorded.records import RecordingFacts
from mixedsched.sites.site import MANIFEST_NAME, Application, Site, site_name_of
from mixedsched.units import counted, format_bytes, printable
from mixedsched.world import places
from mixedsched.world.browser.observation import Observation
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import FormFactor
from mixedsched.world.browser.profiles import make_profile_dir, remove_profile_dir
from mixedsched.world.edge.run import running_edge
from mixedsched.world.edge.settings import EdgeInput, EdgeSettings
from mixedsched.world.server.plain import serving
from mixedsched.world.system.loops import run_to_end

LOADS = 2  # of each form factor: what differs between two is not the page's own
QUIET_S = 2.0  # as of `record`
FOLDER = "brought"
_DIGITS = 8
_NOTES_SAID = 5  # of a HAR; all are in the site's page.json

Say = Callable[[str], None]


def bring(name: str, say: Say, *, fresh: bool = False) -> Path:
    """The folder of a site that is elsewhere, as it was brought first, or is brought now.

    name: an address, or a HAR's file. say: takes a line about what takes time. fresh: bring it again. What was there stays if
    that fails. Raises UsageError for what is no address, InputError or a SiteError for a HAR that cannot be used,
    MissingPartError without a browser, and MixedschedError, with the reason, for a page that cannot be recorded.
    """
    address = urldefrag(page_address(name)).url if is_address(name) else None
    key = _digest_of(Path(name)) if address is None else hashlib.sha256(address.encode()).hexdigest()
    called = Path(name).name.partition(".har")[0] if address is None else site_name_of_url(address)
    folder = places.writable_cache() / FOLDER / f"{_plain(called)}-{key[:_DIGITS]}"
    if address is None:
        if fresh or not _is_made(folder):
            _import(Path(name), folder, say)
    elif fresh or not _is_made(folder, say, f"{printable(name)} as it was on", "records it again"):
        plan = RecordingPlan(address, loads=LOADS, quiet_s=QUIET_S)
        _record(nullcontext(plan), site_name_of_url(address), folder, say)
    return folder


def bring_whole(directory: Path, say: Say, *, fresh: bool = False) -> Path:
    """The folder of a site that is made of a folder with an index.html and of what that refers to on other hosts.

    The browser fetches these, once for the same contents of the folder. Raises as `bring`, and SiteError for no such folder.
    """
    if not (directory / INDEX_NAME).is_file():
        raise SiteError(f"{printable(str(directory))} is not a site", why=f"there is no {INDEX_NAME} in it")
    called = site_name_of(directory.resolve().name)
    folder = places.writable_cache() / FOLDER / f"{called}-{_digest_of_folder(directory)[:_DIGITS]}"
    if fresh or not _is_made(folder, say, f"{printable(str(directory))} with what was fetched on", "fetches it again"):
        with serving(directory) as port:
            host = f"{called}.test"
            plan = RecordingPlan(f"http://{host}/", loads=LOADS, quiet_s=QUIET_S, resolve={host: f"127.0.0.1:{port}"})
            _record(nullcontext(plan), called, folder, say)
    return folder


def edge_before(application: Application) -> EdgeSettings:
    """What an edge before an application does, without rules and logs."""
    return EdgeSettings(
        application.origin,
        hosts=(application.host,),
        origin_host=application.authority,
        origin_ca=application.ca,
        origin_verify=application.verify,
    )


def bring_live(live: Site, say: Say, *, fresh: bool = False) -> Path:
    """The folder of what was seen of a live page, once: what simulations need to know of it.

    It is loaded through an edge, as it will be measured: so only what the application itself answers is there.
    Raises as `bring`.
    """
    application = live.application
    assert application is not None, "the page is live"
    shown = f"{application.origin}{live.entry}"
    key = hashlib.sha256(f"live {shown}".encode()).hexdigest()
    folder = places.writable_cache() / FOLDER / f"live-{_plain(live.name)}-{key[:_DIGITS]}"

    @asynccontextmanager
    async def planned() -> AsyncIterator[RecordingPlan]:
        async with running_edge(EdgeInput(edge_before(application)), live.name) as edge:
            facts = edge.facts
            hosts = {application.host: facts.address[1]}
            yield RecordingPlan(live.url, loads=LOADS, quiet_s=QUIET_S, hosts=hosts, spki_sha256=(facts.spki_sha256,))

    if fresh or not _is_made(folder, say, f"{printable(shown)} is simulated as it was on", "looks at it again"):
        _record(planned(), live.name, folder, say)
    return folder


def _is_made(folder: Path, say: Say | None = None, known: str = "", again: str = "") -> bool:
    """Whether the site is there; then a line says so: what is known of it, the date, and what --fresh does."""
    manifest = folder / MANIFEST_NAME
    if manifest.is_file() and say is not None:
        date = dt.datetime.fromtimestamp(manifest.stat().st_mtime, dt.UTC).date().isoformat()
        say(f"{known} {date}; --fresh {again}")
    return manifest.is_file()


def _record(planned: AbstractAsyncContextManager[RecordingPlan], name: str, target: Path, say: Say) -> None:
    bodies_dir = make_profile_dir()  # swept like these by the next start, should this process be killed

    async def load() -> Loads:
        async with planned as plan, Observer() as observer:
            most = len(plan.jobs)
            say(
                f"recording {printable(plan.url)}: {most} loads in Chromium, once; the recording is reused until --fresh"
            )

            def tell(number: int, form_factor: FormFactor, result: Observation | MixedschedError | None) -> None:
                if result is not None:
                    say(f"load {number + 1} of {most}, {form_factor}: {_words(result)}")

            return await observe_all(observer, plan, bodies_dir, tell)

    try:
        found = run_to_end(load())
        today = dt.datetime.now(dt.UTC).date().isoformat()
        write_loads(target, found, name=name, recorded_on=today, replace=True)
        remarks = (*found.missing, *noticed(found.observations[0]))
    finally:
        remove_profile_dir(bodies_dir)
    for remark in remarks:
        say(f"warning: {printable(remark)}")


def _words(result: Observation | MixedschedError) -> str:
    if isinstance(result, MixedschedError):
        return f"failed: {result.why or result.what}"
    size_bytes = sum(request.sent_bytes for request in result.requests)
    end = "" if result.ended == "quiet" else "; it never got quiet, and was stopped at its time limit"
    return f"{counted(len(result.requests), 'request')}, {format_bytes(size_bytes)}{end}"


def _import(file: Path, target: Path, say: Say) -> None:
    log = read_har(file)
    pages = pages_of(log)
    say(f"importing {printable(str(file))}{'' if len(pages) == 1 else f', the first of its {len(pages)} pages'}")

    def named(facts: RecordingFacts) -> tuple[Path, RecordingFacts]:
        record = {**facts.record, "har": file.name.encode("utf-8", "replace").decode()}
        return target, replace(facts, name=site_name_of_url(facts.url), record=record)

    summary = import_page(log, page_called(pages, None), named, replace=True)
    for note in summary.notes[:_NOTES_SAID]:
        say(f"note: {printable(note)}")


def _digest_of(file: Path) -> str:
    what = f"cannot read {printable(str(file))}"
    try:
        if file.exists() and not file.is_file():  # a pipe, or a device that never ends
            raise InputError(what, why="it is not a file")
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise InputError(what, why=error.strerror or "") from error


def _digest_of_folder(directory: Path) -> str:
    """Of all files that are not hidden."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            digest.update(f"{relative.as_posix()}\0{_digest_of(path)}\0".encode())
    return digest.hexdigest()


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "page"
