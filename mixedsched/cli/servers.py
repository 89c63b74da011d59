"""`servers`: third-party servers that can be arms, which of them are installed, and what they do with priorities."""

import typer

from mixedsched.cli._console import ListEntry, say_list
from mixedsched.cli._output import Json
from mixedsched.world.servers import KINDS, FoundServer, find_server


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched compare agency --schemes eps,@caddy,@gtlsserver --link slow-4g")(servers)


def servers(as_json: Json = False) -> None:
    """List third-party servers that can be arms (@NAME): which are installed, and what they do with priorities.

    They are looked for in the folders of MIXEDSCHED_SERVERS, in build/servers, where scripts/setup --lab puts them, and on
    PATH.
    """
    say_list([_entry(find_server(kind)) for kind in KINDS.values()], as_json)


def _entry(found: FoundServer) -> ListEntry:
    kind = found.kind
    version = found.version.name if found.version is not None else None
    problem = found.version.lacks if found.version is not None else "not found"
    facts = {
        "name": kind.name,
        "arm": f"@{kind.name}",
        "description": kind.title,
        "found": found.is_usable,
        "version": version,
        "path": str(found.program.path) if found.program is not None else None,
        "problem": problem or None,
        "known_version": found.is_known,
        "priorities": kind.priorities,
        "source": kind.source,
        "parameters": [{"name": item.name, "description": item.description} for item in kind.parameters],
        "get": kind.how_to_get,
    }
    lines = {
        "here": f"{version}, {facts['path']}" if found.program is not None else "no",
        "cannot be used": problem if found.program is not None else "",
        "warning": "" if found.is_known or not found.is_usable else "its priorities were not read in this version",
        "priorities": kind.priorities,
        **{f"{kind.name}:{item.name}": item.description for item in kind.parameters},
        "to get it": "" if found.is_usable else kind.how_to_get,
    }
    return ListEntry(facts, lines)
