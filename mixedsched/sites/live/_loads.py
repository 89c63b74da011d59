"""The loads of a recording, one after the other, and what became of them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mixedsched.errors import MixedschedError
from mixedsched.model.request import Kind
from mixedsched.world.browser.observation import Observation, ObservationJob, ObservedRequest
from mixedsched.world.browser.pageload import FormFactor, PageLoadFailed

_LOGIN_FIX = "save a HAR of it in your own browser, and give its file instead of the address"
# Chromium's words for a navigation that failed: why, and the remedy.
_CODES = {
    "ERR_NAME_NOT_RESOLVED": (
        "there is no such host",
        "check the address; `mixedsched record` has --resolve, for one that stands in",
    ),
    "ERR_CONNECTION_REFUSED": ("nothing listens there", "start the server, or check the port"),
    "ERR_TOO_MANY_REDIRECTS": ("its redirects go in a circle", "open it in a browser: it may want a cookie or a login"),
    "ERR_EMPTY_RESPONSE": ("the server hung up without an answer", "check scheme and port"),
    "ERR_SSL_PROTOCOL_ERROR": ("no TLS is spoken there", "try http://"),
    "ERR_INVALID_AUTH_CREDENTIALS": ("it wants a login", _LOGIN_FIX),
    "NO_ANSWER": ("it did not answer within the time limit", "try again; `mixedsched record` has --limit-s, for more"),
    "ERR_ABORTED": ("it is a download, or not a page at all", "name the address of a page"),
}
_PAGE = re.compile(r"html|xml|^$")  # what a browser shows as a page: text and PDFs it wraps into one of its own
_LOGIN = frozenset({401, 407})
_FORBIDDEN = 403


class Observes(Protocol):
    """A loader of pages: browser.Observer, or a stand-in."""

    async def observe(self, job: ObservationJob) -> Observation: ...


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """The loads to make; fields without a comment are as in ObservationJob."""

    url: str
    form_factors: tuple[FormFactor, ...] = ("mobile", "desktop")  # the first decides what is on the first screen
    loads: int = 3  # of each form factor
    resolve: dict[str, str] = field(default_factory=dict)
    insecure: bool = False
    quiet_s: float = 2.0
    limit_s: float = 60.0
    hosts: dict[str, int] | None = None
    spki_sha256: tuple[str, ...] = ()

    @property
    def jobs(self) -> list[FormFactor]:
        """The form factor of each load: in turns, so that an early end leaves something of both."""
        return [form_factor for _ in range(self.loads) for form_factor in self.form_factors]


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads that were made of a plan."""

    observations: tuple[Observation, ...]  # of the loads that count, those of the first form factor first
    missing: tuple[str, ...] = ()  # sentences on what is not there


Tell = Callable[[int, FormFactor, Observation | MixedschedError | None], None]


async def observe_all(
    observer: Observes,
    plan: RecordingPlan,
    bodies_dir: Path,
    tell: Tell,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Loads:
    """Load the page as planned.

    bodies_dir: gets a folder of bodies for each load. tell: called before each load (None), and after it with what came of it.
    is_stopped: whether there are to be no more loads. One load of each form factor goes on to scroll through the page.
    The first load decides whether the page can be recorded: raises MixedschedError, with the reason, if it cannot. Later ones
    that fail are missing. Stopped during the first load, before it had the page, there are no observations.
    """
    observations: list[Observation] = []
    scrolled: set[FormFactor] = set()
    missing: list[str] = []
    jobs = plan.jobs
    for number, form_factor in enumerate(jobs):
        if is_stopped():
            missing.append(f"interrupted: {len(jobs) - number} of {len(jobs)} loads are missing")
            break
        tell(number, form_factor, None)
        try:
            job = _job(plan, form_factor, bodies_dir / str(number), scroll=form_factor not in scrolled)
            observation = await observer.observe(job)
            require_page(observation)
        except MixedschedError as failure:
            error = _in_plain_words(plan.url, failure)
            if not observations and not is_stopped():
                raise error from failure
            tell(number, form_factor, error)
            missing.append(f"load {number + 1} ({form_factor}) failed: {error.why or error.what}")
            continue
        tell(number, form_factor, observation)
        observations.append(observation)
        if observation.ended == "quiet":  # others are not scrolled
            scrolled.add(form_factor)
    observations.sort(key=lambda item: plan.form_factors.index(item.form_factor))  # stable
    return Loads(tuple(observations), tuple(missing))


def _in_plain_words(url: str, error: MixedschedError) -> MixedschedError:
    """The browser's refusal to load a page as an error for people; other errors as they are."""
    if not isinstance(error, PageLoadFailed):
        return error
    code = error.reason.removeprefix("navigation:")
    why, fix = _CODES.get(code, (f"{error.reason}, {error.detail}", "open it in a browser to see why"))
    if code.startswith("ERR_CERT"):
        why, fix = f"its certificate is not trusted ({code})", "`mixedsched record` has --insecure, which takes any"
    return MixedschedError(f"'{url}' cannot be recorded", why=why, fix=fix)


def _job(plan: RecordingPlan, form_factor: FormFactor, bodies_dir: Path, *, scroll: bool) -> ObservationJob:
    bodies_dir.mkdir(parents=True)
    return ObservationJob(
        url=plan.url,
        hosts=plan.hosts,
        resolve=plan.resolve,
        spki_sha256=plan.spki_sha256,
        insecure=plan.insecure,
        form_factor=form_factor,
        quiet_s=plan.quiet_s,
        limit_s=plan.limit_s,
        bodies_dir=bodies_dir,
        screenshot=False,
        scroll=scroll,
    )


def require_page(observation: Observation) -> ObservedRequest:
    """The page's document. Raises MixedschedError, with the reason, if this load did not get it."""
    document = _document_of(observation)
    what = f"'{observation.url}' cannot be recorded"
    if document is None:
        raise MixedschedError(what, why="; ".join(observation.notes) or "no document came", fix="open it in a browser")
    if document.status in _LOGIN or "www-authenticate" in dict(document.response_headers):
        raise MixedschedError(what, why=f"it wants a login (status {document.status})", fix=_LOGIN_FIX)
    if document.status == _FORBIDDEN:
        raise MixedschedError(
            what,
            why="the server refuses it (status 403): to strangers, or to browsers that a program drives",
            fix=_LOGIN_FIX,
        )
    if document.status >= 400:
        raise MixedschedError(what, why=f"it answers with status {document.status}", fix="check the address")
    if document.status // 100 == 3:
        raise MixedschedError(what, why="its redirects lead nowhere, or in a circle", fix="check the address")
    if document.status <= 0:
        raise MixedschedError(what, why=document.problem or "no answer came", fix="check the address")
    if document.body is None and document.problem is not None:
        raise MixedschedError(what, why=f"its document could not be kept: {document.problem}")
    if document.kind is not Kind.DOCUMENT or not _PAGE.search(document.mime):
        raise MixedschedError(
            what, why=f"it is not a page but of type {document.mime}", fix="name the address of a page"
        )
    return document


def _document_of(observation: Observation) -> ObservedRequest | None:
    """The request that the navigation led to: the last of its redirects."""
    at = next((item for item in observation.requests if item.initiator.type == "navigation"), None)
    at = at or next((item for item in observation.requests if item.kind is Kind.DOCUMENT), None)
    while at is not None:
        index = at.index
        after = next((item for item in observation.requests if item.redirected_from == index), None)
        if after is None or after.index <= index:
            return at
        at = after
    return None
