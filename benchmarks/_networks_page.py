"""Figures and tables of docs/networks.md, out of what `benchmarks.networks` has stored. Between two marks of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks._networks_figures import BACKENDS, bursts_figure, deviations_figure, losses_figure
from benchmarks._networks_pooled import Deviations, Network, Pooled, stored_networks

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_page(results: Path, docs: Path) -> list[Path]:
    """Redraw the figures and replace the tables; returns the files written, none where nothing is stored."""
    networks = stored_networks(results, BACKENDS)
    if not networks:
        return []
    written = []
    figures = {"deviations": deviations_figure, "losses": losses_figure, "bursts": bursts_figure}
    for name, figure in figures.items():
        file = docs / "images" / f"networks-{name}.svg"
        file.write_text(figure(networks), encoding="utf-8")
        written.append(file)
    page = docs / "networks.md"
    replace_between(page, BEGIN, END, "\n".join(tables(networks)))
    return [*written, page]


def replace_between(page: Path, begin: str, end: str, content: str) -> None:
    """Raises ValueError if the page has not both marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no place between '{begin}' and '{end}'")
    page.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")


def tables(networks: Sequence[Network]) -> list[str]:
    """Lines of Markdown."""
    first = networks[0].rounds[0]
    machine = first["machine"]
    loads = [item["machine"]["load_before"] for network in networks for item in network.rounds]
    rounds = max(len(network.rounds) for network in networks)
    return [
        "",
        _sentence(
            f"Measured on {machine['system']}, {machine['processor']}, {machine['cores']} cores; load average before a round",
            f"{min(loads):.1f} to {max(loads):.1f}.",
            f"Both directions, {'one round' if rounds == 1 else f'{rounds} rounds, each with a seed of its own'}.",
        ),
        "",
        "![Delay, rate and queue against their nominal values](images/networks-deviations.svg)",
        "",
        *_head(
            "profile",
            "back end",
            "one-way delay − nominal, ms",
            "rate − nominal, %",
            "full queue − nominal, packets",
            "passed a full queue",
            "verdicts",
        ),
        *(_timing_row(network) for network in networks),
        "",
        _sentence(
            "Median over rounds and directions, in brackets the least and the greatest. Passed: of the packets offered at 1.5",
            "times the rate, those that the queue did not drop, and in brackets the share that the profile lets pass.",
        ),
        "",
        "![Shares of lost packets](images/networks-losses.svg)",
        "",
        "![Lengths of loss bursts](images/networks-bursts.svg)",
        "",
        *_head(
            "profile",
            "back end",
            "packets",
            "lost, nominal",
            "lost, measured",
            "bursts",
            "mean length, nominal",
            "mean length, measured",
            "geometric?",
        ),
        *(_loss_row(network) for network in networks if network.loss() is not None),
        "",
        _sentence(
            "Intervals of 95 %, over all rounds and directions together. Geometric: p of a chi-square test against the",
            "profile's own distribution; of twenty right ones, one is below 0.05.",
        ),
        "",
    ]


def _sentence(*parts: str) -> str:
    return " ".join(parts)


def _head(*titles: str) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]


def _timing_row(network: Network) -> str:
    passed = network.passed_shares()
    cells = [
        network.link,
        network.backend,
        _deviation(network.deviations("one-way delay"), 2),
        _deviation(network.deviations("rate"), 2),
        _deviation(network.deviations("queue"), 1),
        "–" if passed is None else f"{100 * passed[0]:.1f} % ({100 * passed[1]:.1f} %)",
        _verdicts(network),
    ]
    return f"| {' | '.join(cells)} |"


def _deviation(found: Deviations | None, digits: int) -> str:
    if found is None:
        return "–"
    return f"{found.middle:+z.{digits}f} ({min(found.values):+z.{digits}f} to {max(found.values):+z.{digits}f})"


def _verdicts(network: Network) -> str:
    judged = [item for one in network.rounds for item in one["findings"] if item["verdict"] != "not applicable"]
    off = [f"{item['quantity']} {item['direction']}" for item in judged if item["verdict"] == "off"]
    if not off:
        return f"{len(judged)} ok"
    return f"{len(judged) - len(off)} ok, {len(off)} off: {', '.join(dict.fromkeys(off))}"


def _loss_row(network: Network) -> str:
    loss, bursts = network.loss(), network.bursts()
    assert loss is not None
    cells = [network.link, network.backend, f"{loss.trials:,}", f"{100 * loss.nominal:.3g} %", _percent(loss)]
    if bursts is None:
        cells += ["–"] * 4
    else:
        interval = bursts.interval
        cells += [
            f"{bursts.trials:,}",
            f"{bursts.nominal:.3g}",
            f"{bursts.measured:.2f} ({interval.low:.2f} to {interval.high:.2f})",
            "–" if bursts.p is None else f"p = {bursts.p:.2f}",
        ]
    return f"| {' | '.join(cells)} |"


def _percent(pooled: Pooled) -> str:
    low, high = 100 * pooled.interval.low, 100 * pooled.interval.high
    return f"{100 * pooled.measured:.3f} % ({low:.3f} to {high:.3f})"
