"""The page of one place: what each scheme did in every metric, and how to play it again."""

import shlex
from contextlib import suppress

from mixedsched.errors import MixedschedError
from mixedsched.lab.learning.taught import is_adaptive
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.results import OTHER_KEYS, StudiedPlace, StudyResult
from mixedsched.model.browser_model import IDEAL
from mixedsched.report import _words as words
from mixedsched.report._document import render
from mixedsched.units import format_ms

_OTHER_NAMES = {
    "score": "Lighthouse’s score",
    "finished_ms": "all loaded",
    "byte_index_ms": "ByteIndex",
    "byte_index_atf_ms": "ByteIndex above the fold",
    "loss_pct": "packets lost",
}


def render_place(result: StudyResult, place: StudiedPlace, back: str) -> str:
    """The page as text. back: address of the study's report."""
    medians = place.medians()
    others = [key for key in OTHER_KEYS if any(of_arm[key] is not None for of_arm in medians)]
    by_question = {(effect.arm, effect.metric.key): effect for effect in place.effects}
    rows = [
        (
            arm.label,
            [
                (metric.format(of_arm[metric.key]), by_question.get((arm.label, metric.key)))
                for metric in result.metrics
            ],
            [_other(key, of_arm[key]) for key in others],
        )
        for arm, of_arm in zip(result.arms, medians, strict=True)
    ]
    return render(
        "study_place.html.j2",
        result=result,
        place=place,
        back=back,
        rows=rows,
        words=words,
        other_names=[_OTHER_NAMES[key] for key in others],
        notes=sorted({effect.note for effect in place.effects if effect.note and effect.metric in result.primary}),
        command=simulate_command(result.study, place),
        failed=sum(place.failed),
        attempted=sum(place.attempted),
    )


def _other(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    if key.endswith("_pct"):
        return f"{value:.1f} %"
    return format_ms(value) if key.endswith("_ms") else f"{value:.0f}"


def simulate_command(study: Study, place: StudiedPlace) -> str:
    """What plays the place's first block from any folder; "" where `simulate` has no words for it."""
    if not study.is_simulated or study.variation or (study.rung == "pipe" and not study.is_pipe(place.link)):
        return ""
    command = ["mixedsched", "simulate", place.opened_as, "--schemes", ",".join(study.arms)]
    command += ["--link", _link(study, place.link)] if study.rung == "stack" else []
    command += ["--mapping", study.located(study.mapping)] if study.mapping is not None else []
    if study.browser_model != IDEAL.name:
        command += ["--browser-model", study.located(study.browser_model)]
    command += ["--visits", str(study.visits)] if study.visits and any(map(is_adaptive, study.arms)) else []
    command += ["--hol-blocking"] if study.hol_blocking else []
    command += ["--congestion-control", study.congestion_control] if study.congestion_control != "cubic" else []
    command += ["--seed", str(study.seed)]
    return shlex.join(command)


def _link(study: Study, name: str) -> str:
    """What `simulate` is to open for a network: the file of one's own, if it is still there."""
    if name not in study.links:
        with suppress(MixedschedError):
            for entry, profile in zip(study.links, study.read_links(), strict=True):
                if profile is not None and profile.name == name:
                    return study.located(entry)
    return name
