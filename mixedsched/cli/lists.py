"""`schemes`, `mappings`, `networks`, `sites`: what there is to choose from."""

from __future__ import annotations

from typing import Any

import typer

from mixedsched import catalog
from mixedsched.cli._output import Json, ListEntry, say_list
from mixedsched.cli._sites import recipes
from mixedsched.mapping import PriorityMapping
from mixedsched.priority import Priority
from mixedsched.profile import Direction, Profile
from mixedsched.request import ChromiumPriority, Kind
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import Parameter, Scheme
from mixedsched.sites import Recipe
from mixedsched.units import format_bytes, format_rate


def register(app: typer.Typer) -> None:
    for command in (schemes, mappings, networks, sites):
        app.command(epilog=f"Example: mixedsched {command.__name__} --json")(command)


def schemes(as_json: Json = False) -> None:
    """List the delivery schemes: what each does, and where it comes from."""
    say_list([_scheme_entry(scheme) for scheme in SCHEMES.values()], as_json)


def mappings(as_json: Json = False) -> None:
    """List the mapping tables from (Chromium priority, kind) to (urgency, incremental)."""
    say_list([_mapping_entry(mapping) for mapping in catalog.mappings()], as_json)


def networks(as_json: Json = False) -> None:
    """List the network profiles that pages can be loaded over."""
    say_list([_network_entry(profile) for profile in catalog.profiles()], as_json)


def sites(as_json: Json = False) -> None:
    """List the bundled sites; any folder with an index.html can be used as well."""
    say_list([_site_entry(recipe) for recipe in recipes()], as_json)


def _scheme_entry(scheme: Scheme) -> ListEntry:
    facts = {
        "name": scheme.name,
        "description": scheme.description,
        "source": scheme.source,
        "needs": scheme.needs,
        "default_mapping": scheme.default_mapping,
        "parameters": [_parameter_facts(parameter) for parameter in scheme.parameters],
    }
    lines = {f"{item.name}={item.default}": item.description for item in scheme.parameters}
    return ListEntry(facts, {**lines, "needs": scheme.needs, "mapping": scheme.default_mapping or ""})


def _parameter_facts(parameter: Parameter) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": parameter.name,
        "description": parameter.description,
        "default": parameter.default,
    }
    if parameter.choices:
        return {**facts, "choices": list(parameter.choices)}
    return {**facts, "low": parameter.low, "high": parameter.high}


def _mapping_entry(mapping: PriorityMapping) -> ListEntry:
    facts = {
        "name": mapping.name,
        "description": mapping.description,
        "source": mapping.source,
        "table": _table(mapping),
        "switches": [
            {
                "name": switch.name,
                "description": switch.description,
                "default": switch.default,
                "values": list(switch.values),
            }
            for switch in mapping.switches
        ],
    }
    lines = {f"{switch.name}={switch.default}": switch.description for switch in mapping.switches}
    if mapping.cells is not None:
        for rank in ChromiumPriority:
            cells = (f"{kind} {_cell_text(mapping.cells[rank, kind])}" for kind in Kind)
            lines[str(rank)] = ", ".join(cells)
    return ListEntry(facts, lines)


def _table(mapping: PriorityMapping) -> dict[str, dict[str, dict[str, int | bool]]] | None:
    """The cells by Chromium priority and kind; None where the client's signal is taken."""
    if mapping.cells is None:
        return None
    return {
        str(rank): {
            str(kind): {"urgency": cell.urgency, "incremental": cell.incremental}
            for kind in Kind
            for cell in (mapping.cells[rank, kind],)
        }
        for rank in ChromiumPriority
    }


def _cell_text(cell: Priority) -> str:
    return f"{cell.urgency}{'I' if cell.incremental else 'N'}"


def _network_entry(profile: Profile) -> ListEntry:
    facts = {
        "name": profile.name,
        "description": profile.description,
        "source": profile.source,
        "rtt_ms": profile.rtt_ms,
        **profile.facts(),
    }
    return ListEntry(facts, {"down": _direction_text(profile.down), "up": _direction_text(profile.up)})


def _direction_text(direction: Direction) -> str:
    parts = [format_rate(direction.rate_bps), f"{direction.delay_us / 1000:g} ms"]
    if direction.queue_bytes is not None:
        parts.append(f"queue {format_bytes(direction.queue_bytes)}")
    if direction.loss_ratio:
        parts.append(f"loss {direction.loss_ratio:.2%}")
    return ", ".join(parts)


def _site_entry(recipe: Recipe) -> ListEntry:
    facts = {
        "name": recipe.name,
        "description": recipe.description,
        "source": recipe.source,
        "title": recipe.title,
        "licence": recipe.licence,
    }
    return ListEntry(facts, {"licence": recipe.licence})
