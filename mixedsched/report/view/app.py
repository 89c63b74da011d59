"""The pages of `view`: routes, and what they answer."""

import os
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from urllib.parse import unquote_to_bytes

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mixedsched.errors import MixedschedError
from mixedsched.lab.going_on import go_on, last_words
from mixedsched.lab.underway import stop
from mixedsched.report.view import _pages as pages
from mixedsched.report.view._history import histories
from mixedsched.report.view.folders import Folder, Shelf, State
from mixedsched.report.view.so_far import ReportsSoFar
from mixedsched.world.local_page import Secrets

_FILES_MOST = 200
_DEPTH_MOST = 3
_START_S = 6.0  # in which a command that was started mostly says so
_LOOK_EVERY_S = 0.5  # several pages that look at the same time are told the same
# Reports hold scripts of their own; whatever else they may hold, it can neither reach these pages nor anything beyond.
_FILE_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self'; "
    "font-src data:; media-src data: 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
    ".gif": "image/gif",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".sqlite": "application/octet-stream",
}
_DONE = {
    "stopped": "It was asked to stop; finished loads are stored.",
    "started": "The same command was started again.",
    "elsewhere": "The same command was started again, now in another folder: mixedsched or what it measures has changed.",
}


class _AnyName(PathConvertor):
    """Names of files may hold line ends, too."""

    regex = "(?s:.*)"


register_url_convertor("any", _AnyName())


class NotHereError(Exception):
    """What was asked for does not exist, or no longer does. args: the title, and sentences."""


class ViewPages:
    """All pages, over one folder of results."""

    def __init__(self, root: Path, secrets: Secrets, so_far: ReportsSoFar) -> None:
        self._shelf = Shelf(root)
        self._at = pages.PageAddresses(f"/{secrets.page}/", f"/{secrets.files}/")
        self._so_far = so_far
        self._looking = threading.Lock()
        self._seen: tuple[float, list[Folder]] = (0.0, [])
        self._started: list[Popen[bytes]] = []

    def application(self) -> Starlette:
        page, files = self._at.page.rstrip("/"), self._at.files.rstrip("/")
        routes = [
            self._route(f"{page}/", self._index),
            self._route(f"{page}/live", self._live),
            self._route(f"{page}/pair", self._pair),
            self._route(f"{page}/history", self._histories),
            self._route(f"{page}/history/{{id}}", self._history),
            self._route(f"{page}/result/{{id}}", self._result),
            self._route(f"{page}/result/{{id}}/stop", self._stop, "POST"),
            self._route(f"{page}/result/{{id}}/go-on", self._go_on, "POST"),
            self._route(f"{files}/{{id}}", self._report_so_far),
            self._route(f"{files}/{{id}}/{{name:any}}", self._file),
            self._route(f"{files}/{{id}}~/{{name:any}}", self._file_so_far),
        ]
        routes.insert(0, routes.pop())  # the more special one first
        return Starlette(routes=routes, exception_handlers={404: self._no_such_page})

    def _route(self, path: str, answer: Callable[[Request], Response], method: str = "GET") -> Route:
        """Answers are computed in parallel, so that none waits for a report."""

        async def endpoint(request: Request) -> Response:
            try:
                return await run_in_threadpool(answer, request)
            except NotHereError as error:
                title, *lines = error.args
                return HTMLResponse(pages.problem_page(self._at, title, lines), 404)
            except MixedschedError as error:
                lines = [line for line in (error.why, error.fix) if line]
                return HTMLResponse(pages.problem_page(self._at, error.what, lines), 409)

        return Route(path, endpoint, methods=[method])

    async def _no_such_page(self, _request: Request, _error: Exception) -> Response:
        return HTMLResponse(pages.problem_page(self._at, "There is no such page", []), 404)

    def _look(self, *, anew: bool = True) -> list[Folder]:
        """All folders, those with the latest news first."""
        with self._looking:
            self._started = [process for process in self._started if process.poll() is None]
            if anew or time.monotonic() - self._seen[0] > _LOOK_EVERY_S:
                found = self._shelf.look()
                self._seen = (time.monotonic(), found)
            return self._seen[1]

    def _found(self, request: Request) -> Folder:
        with self._looking:
            folder = self._shelf.find(request.path_params["id"])
        if folder is None:
            raise NotHereError(
                "That result is not here any more", "Its folder was removed or renamed, or never existed."
            )
        return folder

    # Pages

    def _index(self, request: Request) -> Response:
        query = request.query_params
        first = query.get("first", "0")
        asked = pages.Filter(
            query.get("q", "")[:200],
            query.get("kind", "")[:20],
            int(first) if first.isdecimal() and len(first) < 8 else 0,
        )
        return HTMLResponse(
            pages.index_page(
                self._at, self._shelf.root.name or "/", self._look(), asked, _DONE.get(query.get("done", ""), "")
            )
        )

    def _live(self, _request: Request) -> Response:
        """What is running, and a fingerprint that changes with everything else that pages show."""
        folders = self._look(anew=False)
        at_work = [self._now(item) for item in folders if item.state is State.RUNNING]
        running = [pages.running_view(item, self._at) for item in at_work if item is not None]
        rest = [(item.id, item.state, item.when_s) for item in folders if item.state is not State.RUNNING]
        summaries = [(item.id, item.summary is not None, item.report) for item in folders]
        seen = hash((tuple(rest), tuple(summaries), tuple(item["id"] for item in running)))
        return JSONResponse({"running": running, "version": f"{seen & 0xFFFFFFFFFFFF:x}"})

    def _result(self, request: Request) -> Response:
        folder = self._found(request)
        words, said_s = last_words(folder.path)
        is_news = folder.state is not State.RUNNING and said_s >= folder.when_s - 1
        message = _DONE.get(request.query_params.get("done", ""), "")
        files = _files_of(folder.path)
        return HTMLResponse(pages.result_page(self._at, folder, files, words if is_news else "", message))

    def _pair(self, request: Request) -> Response:
        chosen = list(dict.fromkeys(request.query_params.getlist("r")))
        if len(chosen) != 2:
            raise NotHereError("Choose two results", f"{len(chosen)} were chosen; tick two in the list of all results.")
        by_id = {item.id: item for item in self._look()}
        if any(item not in by_id for item in chosen):
            raise NotHereError("One of these results is not here any more", "Its folder was removed or renamed.")
        return HTMLResponse(pages.pair_page(self._at, (by_id[chosen[0]], by_id[chosen[1]])))

    def _histories(self, _request: Request) -> Response:
        return HTMLResponse(pages.histories_page(self._at, histories(self._look())))

    def _history(self, request: Request) -> Response:
        for page in histories(self._look()):
            if page.id == request.path_params["id"]:
                return HTMLResponse(pages.history_page(self._at, page))
        raise NotHereError("Nothing is known about that page any more", "The folders of its results were removed.")

    # Deeds

    def _stop(self, request: Request) -> Response:
        folder = self._found(request)
        stop(folder.path)
        _wait_until(lambda: self._now(folder) is None)
        return RedirectResponse(f"{self._at.result(folder)}?done=stopped", 303)

    def _go_on(self, request: Request) -> Response:
        folder = self._found(request)
        process = go_on(folder.path)
        with self._looking:
            self._started.append(process)
        _wait_until(lambda: self._of_process(process.pid) is not None or process.poll() is not None)
        place = self._of_process(process.pid) or folder
        done = "started" if place.id == folder.id else "elsewhere"
        return RedirectResponse(f"{self._at.result(place)}?done={done}", 303)

    def _of_process(self, pid: int) -> Folder | None:
        """The folder where a process is at work."""
        running = (item for item in self._look() if item.state is State.RUNNING)
        return next((item for item in running if item.record is not None and item.record.pid == pid), None)

    def _now(self, folder: Folder) -> Folder | None:
        """The folder as it is at this moment, if it is at work."""
        with self._looking:
            now = self._shelf.find(folder.id)
        return now if now is not None and now.state is State.RUNNING else None

    # Files

    def _report_so_far(self, request: Request) -> Response:
        folder = self._found(request)
        return RedirectResponse(f"{self._at.files}{folder.id}~/{self._so_far.write(folder)}", 303)

    def _file_so_far(self, request: Request) -> Response:
        folder = self._found(request)
        return _sent(self._so_far.place(folder), request)

    def _file(self, request: Request) -> Response:
        return _sent(self._found(request).path, request)


def _sent(folder: Path, request: Request) -> Response:
    """A file of a folder. Raises NotHereError for everything else, and for what a link leads to elsewhere."""
    # As the bytes that were asked for: names of files need not be text.
    name = os.fsdecode(unquote_to_bytes(request.scope["raw_path"].split(b"/", 3)[3]))
    gone = NotHereError("That file is not here", "It was removed, is not a file, or lies elsewhere.")
    try:
        home = folder.resolve(strict=True)
        path = (home / name).resolve(strict=True)
        about = path.stat()
    except (OSError, ValueError, RuntimeError) as error:
        raise gone from error
    if not path.is_relative_to(home) or not stat.S_ISREG(about.st_mode):
        raise gone
    kind = _TYPES.get(path.suffix.lower(), "text/plain; charset=utf-8")
    return FileResponse(path, stat_result=about, media_type=kind, headers={"content-security-policy": _FILE_POLICY})


def _files_of(folder: Path) -> list[tuple[str, int]]:
    """Names, below the folder, and sizes in bytes of what people may want to see; databases and what is hidden are left out."""
    found: list[tuple[str, int]] = []
    left = [(folder, "", 0)]
    while left and len(found) < _FILES_MOST:
        place, prefix, depth = left.pop()
        with suppress(OSError), os.scandir(place) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                if entry.name.startswith(".") or ".sqlite" in entry.name or entry.name in ("lock", "underway.json"):
                    continue
                if entry.is_dir(follow_symlinks=False) and depth < _DEPTH_MOST:
                    left.append((Path(entry.path), f"{prefix}{entry.name}/", depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    found.append((f"{prefix}{entry.name}", entry.stat(follow_symlinks=False).st_size))
    return found[:_FILES_MOST]


def _wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for a short while; pages show the outcome sooner or later."""
    until_s = time.monotonic() + _START_S
    while not is_so() and time.monotonic() < until_s:
        time.sleep(0.1)
