"""How `compare` and `report` show an experiment: as text or JSON, and as an HTML report."""

import shlex
import statistics

from rich.text import Text

from mixedsched.cli._console import err, out, say_report
from mixedsched.cli._live import live_words
from mixedsched.cli._output import say_json
from mixedsched.core.metrics import metric_named
from mixedsched.lab.costs import median_overhead_s
from mixedsched.lab.experiment import Experiment
from mixedsched.lab.gates import UNTIL_DECIDED
from mixedsched.lab.model import AS_USUAL, Conditions, RunStatus
from mixedsched.lab.plan import AGAIN
from mixedsched.lab.results import writing_to
from mixedsched.report.ci import CheckedQuestions, gate_text
from mixedsched.report.compare import live_lines, miss_lines, render_comparison, stopping_note, write_comparison
from mixedsched.report.view import ResultKind, write_summary
from mixedsched.units import format_duration, printable


def say_experiment(experiment: Experiment, *, as_json: bool) -> None:
    """Write the report of an experiment into its folder, and say what it shows."""
    comparison, runs = experiment.comparison, experiment.runs
    report = experiment.folder / ResultKind.COMPARE.report
    facts = {
        **experiment.facts.to_dict(),
        "command": _command(experiment),
        "gates": [gate_text(item) for item in experiment.gates],
    }
    with writing_to(experiment.folder):
        write_comparison(comparison, runs, facts, report)
    found = experiment.to_dict(str(report))
    write_summary(experiment.folder, ResultKind.COMPARE, found, facts)
    if as_json:
        say_json(found)
        return
    out.print(render_comparison(comparison))
    for line in miss_lines(comparison, runs):
        out.print(Text(printable(line), style="yellow"), soft_wrap=True)
    for line in live_lines(experiment.live) if experiment.live is not None else ():
        out.print(Text(printable(line)), soft_wrap=True)
    say_report(report)


def questions_of(experiment: Experiment) -> CheckedQuestions:
    """What was asked, for continuous integration."""
    comparison = experiment.comparison
    return CheckedQuestions.of(
        f"mixedsched compare {experiment.facts.site_argument or comparison.plan.site} over {comparison.plan.link}",
        experiment.gates,
        [("", effect) for effect in comparison.effects],
        stopping=stopping_note(comparison),
        report=str(experiment.folder / ResultKind.COMPARE.report),
        cost_s=sum(run.cost_s for run in experiment.runs),
    )


def say_cost(experiment: Experiment) -> None:
    """Say what a run costs, and how much of that beyond the page's own load time."""
    costs_s = [run.cost_s for run in experiment.runs if run.status is RunStatus.OK]
    beyond_s = median_overhead_s(experiment.runs)
    if beyond_s is None:
        return
    err.print(
        f"cost of a run: {statistics.median(costs_s):.1f} s, of which {beyond_s:.1f} s beyond the page's load; "
        f"all {len(experiment.runs)} runs: {format_duration(sum(run.cost_s for run in experiment.runs))}",
        style="dim",
        soft_wrap=True,
    )


def _command(experiment: Experiment) -> str:
    """The command that makes this experiment, in full, as one would type it."""
    plan, facts = experiment.plan, experiment.facts
    arms = plan.arms
    is_aa = len(arms) == 2 and arms[0].scheme == arms[1].scheme and arms[0].mapping == arms[1].mapping
    schemes = [arms[0].scheme] if is_aa else [arm.scheme for arm in arms]
    words = ["mixedsched", "compare", facts.site_argument or plan.site, "--schemes", ",".join(schemes)]
    words += live_words(facts.live)
    if is_aa and ("rules" not in facts.live or AGAIN in arms[1].label):  # else it is compared without and with rules
        words += ["--aa"]
    words += ["--baseline", plan.baseline] if not is_aa or plan.baseline != arms[0].label else []
    words += ["--link", facts.link_argument or plan.link]
    words += ["--backend", plan.backend] if plan.backend != "relay" else []
    words += ["--origins", facts.origins] if facts.origins and not facts.live else []  # whatever the site itself says
    words += ["--across-connections"] if plan.across_connections else []
    words += _conditions_words(plan.conditions)
    if plan.looks is None:
        words += ["--blocks", str(plan.counted_blocks)]
    else:
        words += ["--blocks", str(plan.looks.first), "--until", UNTIL_DECIDED, "--max-blocks", str(plan.looks.last)]
    words += [word for condition in facts.gates for word in ("--fail-if", condition)]
    mapping = next((arm.mapping for arm in arms if arm.mapping is not None), None)
    words += ["--mapping", mapping] if mapping is not None else []
    if plan.metrics != plan.conditions.browser.metrics:
        words += ["--metrics", ",".join(metric_named(key).short.lower() for key in plan.metrics)]
    words += ["--primary", ",".join(plan.primary), "--form-factor", plan.form_factor, "--seed", str(plan.seed)]
    return shlex.join(words)


def _conditions_words(conditions: Conditions) -> list[str]:
    """The options that say so; those that say the usual are left out."""
    usual = AS_USUAL
    given = {
        "--congestion-control": (conditions.congestion_control, usual.congestion_control),
        "--cpu-slowdown": (f"{conditions.cpu_slowdown:g}", f"{usual.cpu_slowdown:g}"),
        "--throttling": (conditions.throttling, usual.throttling),
        "--browser": (conditions.browser, usual.browser),
    }
    return [word for option, (value, default) in given.items() if value != default for word in (option, str(value))]
