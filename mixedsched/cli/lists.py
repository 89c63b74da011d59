"""`schemes`, `mappings`: list what there is to choose from."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from mixedsched.cli._console import ListEntry, out, say_list
from mixedsched.cli._output import Json
from mixedsched.core.schedulers import COMPARED, LEARNING_SCHEMES, SCHEMES, SERVER_SCHEMES
from mixedsched.core.sim.example import LEGEND, example_order
from mixedsched.model.mapping import Override, PriorityMapping
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.model.scheme import ConfiguredScheme, Parameter, configure
from mixedsched.report.simulation import strip_text
from mixedsched.units import few
from mixedsched.world import catalog

SHOWN_OVERRIDES = 5


def register(app: typer.Typer) -> None:
    for command in (schemes, mappings):
        app.command(epilog=f"Example: mixedsched {command.__name__} --json")(command)


def schemes(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these, possibly with parameters, as in batched-rr:packets=2.", metavar="[NAME...]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain the delivery schemes: what each does and needs to know, its source, and how it orders an example.

    At the end come schemes that learn, and models of third-party servers (server-...). In other commands `all` means the
    schemes from the literature alone, and `servers` the models.
    """
    wanted = names or (*COMPARED, *LEARNING_SCHEMES, *SERVER_SCHEMES)
    configured = [configure(name, SCHEMES, catalog.load_mapping) for name in wanted]
    say_list([_scheme_entry(scheme) for scheme in configured], as_json)
    if not as_json:
        out.print("[bold]The example[/], in order of request; one letter is one packet on an ideal wire:")
        for letter, meaning in LEGEND.items():
            sample = strip_text([(letter, 1)], 1, tuple(LEGEND))
            out.print(Text.assemble("    ", sample, f" {meaning}"))


def mappings(as_json: Json = False) -> None:
    """List the mapping tables from (Chromium priority, kind) to (urgency, incremental)."""
    say_list([_mapping_entry(mapping) for mapping in catalog.mappings()], as_json)


def _scheme_entry(configured: ConfiguredScheme) -> ListEntry:
    scheme = configured.scheme
    order = example_order(configured)
    facts = {
        "name": configured.label,
        **{name: getattr(scheme, name) for name in ("description", "source", "needs", "default_mapping")},
        "group": scheme.group,
        "parameters": [_parameter_facts(parameter) for parameter in scheme.parameters],
        "example_order": "".join(letter * packets for letter, packets in order),
    }
    lines = {f"{item.name}={_value_text(configured.values[item.name])}": item.description for item in scheme.parameters}
    return ListEntry(
        facts,
        {**lines, "needs": scheme.needs, "mapping": configured.mapping.name if configured.mapping else ""},
        strip_text(order, sum(packets for _, packets in order), tuple(LEGEND)),
    )


def _value_text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _parameter_facts(parameter: Parameter) -> dict[str, Any]:
    told = ("name", "description", "default", *(("choices",) if parameter.choices else ("low", "high")))
    return {name: getattr(parameter, name) for name in told}


def _mapping_entry(mapping: PriorityMapping) -> ListEntry:
    facts = {
        "name": mapping.name,
        "description": mapping.description,
        "source": mapping.source,
        "table": _table(mapping),
        "switches": [asdict(switch) for switch in mapping.switches],
        "overrides": [{"match": item.match, **asdict(item.priority), "why": item.why} for item in mapping.overrides],
    }
    lines = {f"{switch.name}={switch.default}": switch.description for switch in mapping.switches}
    if mapping.cells is not None:
        for rank in ChromiumPriority:
            cells = (f"{kind} {_cell_text(mapping.cells[rank, kind])}" for kind in Kind)
            lines[str(rank)] = ", ".join(cells)
    if mapping.overrides:
        lines["by path"] = _overrides_text(mapping.overrides)
    return ListEntry(facts, lines)


def _overrides_text(overrides: Sequence[Override]) -> str:
    """The first few of them; `--json` has all."""
    return few([f"{item.match} {_cell_text(item.priority)}" for item in overrides], SHOWN_OVERRIDES)


def _table(mapping: PriorityMapping) -> dict[str, dict[str, dict[str, int | bool]]] | None:
    """The cells by Chromium priority and kind; None where the client's signal is taken."""
    if mapping.cells is None:
        return None
    return {str(rank): {str(kind): asdict(mapping.cells[rank, kind]) for kind in Kind} for rank in ChromiumPriority}


def _cell_text(cell: Priority) -> str:
    return f"{cell.urgency}{'I' if cell.incremental else 'N'}"
