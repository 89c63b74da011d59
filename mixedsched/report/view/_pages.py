"""The pages of `view` as text: what they show of folders."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mixedsched.lab.underway import Underway
from mixedsched.report._document import render
from mixedsched.report._scripts import script
from mixedsched.report.svg import shortened
from mixedsched.report.view import _words as words
from mixedsched.report.view._history import PageHistory
from mixedsched.report.view.folders import Folder, State
from mixedsched.report.view.summary import EffectLine, ResultKind

PAGE_ROWS = 100
SCRIPT = script("view.js")


@dataclass(frozen=True, slots=True)
class PageAddresses:
    """Where pages are; both begin and end with a slash."""

    page: str
    files: str

    def result(self, folder: Folder) -> str:
        return f"{self.page}result/{folder.id}"

    def file(self, folder: Folder, name: str) -> str:
        return f"{self.files}{folder.id}/{quote(name, errors='surrogateescape')}"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which results are shown: those with all words in their names, of a kind, from a number on."""

    text: str = ""
    kind: str = ""
    first: int = 0

    def takes(self, folder: Folder) -> bool:
        if self.kind and folder.kind.value != self.kind:
            return False
        summary = folder.summary
        known = [folder.name, folder.state.value]
        known += [] if summary is None else [summary.subject, summary.verdict, *summary.networks]
        whole = " ".join(known).lower()
        return all(word in whole for word in self.text.lower().split())

    def query(self, first: int) -> str:
        return f"?q={quote(self.text)}&kind={quote(self.kind)}&first={first}"


def index_page(at: PageAddresses, root: str, folders: Sequence[Folder], asked: Filter, message: str) -> str:
    chosen = [item for item in folders if asked.takes(item)]
    shown = chosen[asked.first : asked.first + PAGE_ROWS]
    return _page(
        "view_index.html.j2",
        at,
        root=words.shown_name(root),
        running=[running_view(item, at) for item in folders if item.state is State.RUNNING],
        rows=[_row(item, at) for item in shown],
        asked=asked,
        kinds=[kind.value for kind in ResultKind],
        total=len(chosen),
        everything=len(folders),
        before=asked.query(max(0, asked.first - PAGE_ROWS)) if asked.first else "",
        after=asked.query(asked.first + PAGE_ROWS) if asked.first + PAGE_ROWS < len(chosen) else "",
        message=message,
    )


def result_page(at: PageAddresses, folder: Folder, files: Sequence[tuple[str, int]], log: str, message: str) -> str:
    """files: names and sizes in bytes. log: the end of what its last start from here has said."""
    summary, record = folder.summary, folder.record
    return _page(
        "view_result.html.j2",
        at,
        folder=folder,
        row=_row(folder, at),
        running=[running_view(folder, at)] if folder.state is State.RUNNING else [],
        effects=[] if summary is None else [_effect(item) for item in summary.effects],
        files=[(words.shown_name(name), at.file(folder, name), size) for name, size in files],
        command=_command(record),
        log=log,
        message=message,
        report=at.file(folder, folder.report) if folder.report else "",
        so_far=f"{at.files}{folder.id}" if has_report_so_far(folder) else "",
        facts=[] if summary is None else summary.facts,
    )


def has_report_so_far(folder: Folder) -> bool:
    """Whether its loads can be told before its command tells them."""
    is_told = folder.summary is not None and folder.report and not folder.has_newer_loads
    return folder.kind in (ResultKind.COMPARE, ResultKind.STUDY) and not is_told


def pair_page(at: PageAddresses, pair: tuple[Folder, Folder]) -> str:
    """Two results side by side."""
    are_of_one_place = all(len({(item.site, item.link) for item in _effects_of(folder)}) == 1 for folder in pair)
    by_folder = [_by_question(item, with_place=not are_of_one_place) for item in pair]
    questions = list(dict.fromkeys([*by_folder[0], *by_folder[1]]))
    rows = []
    for question in questions:
        found = [effects.get(question) for effects in by_folder]
        cells = [None if item is None else _effect(item) for item in found]
        rows.append((_effect(next(item for item in found if item is not None)), cells, _agreement(found)))
    return _page(
        "view_pair.html.j2",
        at,
        pair=[_row(item, at) for item in pair],
        rows=rows,
        with_place=not are_of_one_place,
        differences=_differences(pair),
    )


def histories_page(at: PageAddresses, pages: Sequence[PageHistory]) -> str:
    listed = [(item, words.when_text(item.latest_s)) for item in pages]
    return _page("view_histories.html.j2", at, pages=listed)


def history_page(at: PageAddresses, page: PageHistory) -> str:
    series = [
        (item, [(_row(point.folder, at), _effect(point.effect)) for point in reversed(item.points)])
        for item in page.series
    ]
    return _page("view_history.html.j2", at, page=page, series=series)


def problem_page(at: PageAddresses, title: str, lines: Sequence[str]) -> str:
    return _page("view_problem.html.j2", at, problem=title, lines=lines)


def running_view(folder: Folder, at: PageAddresses) -> dict[str, Any]:
    """The part of a running command's page that changes from second to second."""
    record = folder.record
    assert record is not None, "nothing runs without one"
    return {
        "id": folder.id,
        "name": words.shown_name(folder.name),
        "kind": folder.kind.value,
        "address": at.result(folder),
        "what": record.what or "starting",
        "said": words.progress_text(record, time.time()),
        "share": record.share,
        "can_stop": folder.can_stop,
    }


def _page(name: str, at: PageAddresses, /, **values: Any) -> str:
    return render(name, at=at, script=SCRIPT, **values)


def _row(folder: Folder, at: PageAddresses) -> dict[str, Any]:
    summary = folder.summary
    return {
        "id": folder.id,
        "name": words.shown_name(folder.name),
        "address": at.result(folder),
        "kind": folder.kind.value,
        "subject": shortened(_command(folder.record), 90) if summary is None else summary.subject,
        "networks": "" if summary is None else ", ".join(summary.networks),
        "verdict": "" if summary is None else summary.verdict,
        "tone": summary.tone if summary is not None and summary.tone.isalpha() else "undecided",
        "sentences": () if summary is None else summary.sentences,
        "state": words.state_text(folder),
        "counts": words.counts_text(folder),
        "when": words.when_text(folder.when_s),
        "iso": words.iso_text(folder.when_s),
        "report": at.file(folder, folder.report) if folder.report else "",
        "problem": folder.problem,
        "can_go_on": folder.can_go_on,
    }


def _effect(effect: EffectLine) -> dict[str, Any]:
    where = f"{effect.site or 'over sites'}, {effect.link}"
    tone = effect.verdict if effect.verdict.isalpha() else "undecided"
    return {
        "arm": effect.arm, "baseline": effect.baseline, "metric": effect.name, "where": where, "tone": tone,
        "change": effect.change_text, "interval": effect.interval_text, "verdict": effect.verdict,
        "is_primary": effect.is_primary, "blocks": effect.blocks,
    }  # fmt: skip


def _effects_of(folder: Folder) -> Sequence[EffectLine]:
    return () if folder.summary is None else folder.summary.effects


def _by_question(folder: Folder, *, with_place: bool) -> Mapping[tuple[str, ...], EffectLine]:
    """Results of one place each are compared whatever the place is."""
    return {
        ((item.site, item.link) if with_place else ()) + (item.arm, item.baseline, item.metric): item
        for item in _effects_of(folder)
    }


def _agreement(found: Sequence[EffectLine | None]) -> str:
    """Whether two results can both be true, as far as their intervals tell."""
    first, second = found
    if first is None or second is None:
        return "only one has it"
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return "not known"
    return "intervals overlap" if first.low <= second.high and second.low <= first.high else "intervals are apart"


def _differences(pair: tuple[Folder, Folder]) -> list[tuple[str, str, str]]:
    """(what, of the first, of the second): circumstances in which they differ."""
    both = [_circumstances(item) for item in pair]
    names = dict.fromkeys([*both[0], *both[1]])
    return [
        (name, both[0].get(name, "–"), both[1].get(name, "–"))
        for name in names
        if both[0].get(name) != both[1].get(name)
    ]


def _circumstances(folder: Folder) -> dict[str, str]:
    summary = folder.summary
    if summary is None:
        return {"kind": folder.kind.value}
    own = {
        "kind": folder.kind.value, "page": summary.subject, "networks": ", ".join(summary.networks),
        "device": summary.form_factor, "rung": summary.rung,
    }  # fmt: skip
    return own | dict(summary.facts)


def _command(record: Underway | None) -> str:
    """The command as one would type it."""
    return shlex.join(["mixedsched", *record.command]) if record is not None and record.command else ""
