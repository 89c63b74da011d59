"""How `study` shows progress, and answers continuous integration."""

from collections.abc import Sequence
from pathlib import Path

from mixedsched.cli._console import shown
from mixedsched.cli._progress import Progress
from mixedsched.core.stats import ALPHA
from mixedsched.lab.gates import GateResult
from mixedsched.lab.study.places import Place
from mixedsched.lab.study.results import StudiedPlace, StudyResult
from mixedsched.report.ci import CheckedQuestions
from mixedsched.report.view import ResultKind
from mixedsched.units import format_ms
from mixedsched.world.store import NewLoad


class StudyProgress(Progress):
    """Shows the loads of a study (a StudyObserver); measured ones with a line each."""

    def __init__(self, *, is_simulated: bool) -> None:
        super().__init__("playing pages" if is_simulated else "starting", unit="loads", lines=is_simulated)
        self._is_simulated = is_simulated
        self._work = self.what
        self._machines: Sequence[str] = ()

    def left(self, loads: int, machines: Sequence[str]) -> None:
        """Loads of other machines count as done, too."""
        for name in machines:
            if self._machines and name not in self._machines:
                self.say(f"{shown(name)} joins in")
        for name in self._machines:
            if name not in machines:
                self.say(f"{shown(name)} has stopped working")
        self._machines = machines
        total = max(self.total or 0, self._done + loads)
        where = f" on {len(machines)} machines: {', '.join(machines)}" if len(machines) > 1 else ""
        self.tell(total - loads, total, what=self._work + where)

    def loading(self, place: Place, block: int, arm: str) -> None:
        self.tell(self._done, self.total, what=f"{place.site.name}@{place.link}, block {block}, {arm}")

    def loaded(self, place: Place, block: int, load: NewLoad) -> None:
        self.advance()
        if self._is_simulated:
            return
        if load.status == "ok":
            result = f"FCP {format_ms(load.values['fcp_ms'] or 0)}, LCP {format_ms(load.values['lcp_ms'] or 0)}"
        else:
            result = f"[bold yellow]{load.status}[/]: {shown(load.reason)}; the block is run again"
        what = f"{place.site.name}@{place.link}"
        self.say(f"{shown(f'{what:24}')} block {block:<3} {shown(f'{load.arm:24}')} {result}")


def questions_of(
    result: StudyResult, places: Sequence[StudiedPlace], gates: Sequence[GateResult], folder: Path
) -> CheckedQuestions:
    """What was asked, for continuous integration. places, gates: those of the result that it was asked of."""
    effects = [(f"{place.site} over {place.link}", effect) for place in places for effect in place.effects]
    looks = result.questions.looks
    stopping = ""
    if looks is not None:
        stopping = (
            f"Sequential stopping: each place got blocks until it was decided, {looks.first} to {looks.last} of them. "
            f"All places, looks and declared questions share an error rate of {ALPHA * 100:.0f} %."
        )
    return CheckedQuestions.of(
        f"mixedsched study {result.study.name}",
        gates,
        effects,
        stopping=stopping,
        report=str(folder / ResultKind.STUDY.report),
    )
