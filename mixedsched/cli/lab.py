"""`lab`: an emulated network for any program."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.cli import _lab_check
from mixedsched.cli._console import err, out, say_remark, shown
from mixedsched.cli._options import LinkOption
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_site
from mixedsched.errors import UsageError
from mixedsched.lab.command.request import CommandRequest, checked
from mixedsched.lab.command.run import carry_out, counters_text
from mixedsched.model.profile import direction_text
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import BackendName
from mixedsched.world.emulator.keeper import lab_status, refuse_second_lab, start_keeper, take_down
from mixedsched.world.emulator.kernel.privilege import require_privilege
from mixedsched.world.emulator.kernel.shaping import shape
from mixedsched.world.system.udp import parse_address

_BackendOption = Annotated[
    BackendName,
    typer.Option(
        help="What emulates the network: relay needs no privilege; netns uses tbf and netem of this kernel, vm of a router."
    ),
]
_SeedOption = Annotated[int, typer.Option(help="Seed for losses and jitter, where the back end takes one.")]

lab = typer.Typer(
    help="Emulated networks for any program: run a command over one, or leave one up.",
    epilog="Example: mixedsched lab run --backend netns --link 4g -- ping -c 3 {host}",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    lab.command(
        epilog="Example: mixedsched lab run --backend netns --link 4g --site agency -- my-client {server}",
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    )(run)
    lab.command(epilog="Example: mixedsched lab up --backend netns --link 4g")(up)
    lab.command(epilog="Example: mixedsched lab down")(down)
    lab.command(epilog="Example: mixedsched lab status --json")(status)
    _lab_check.register(lab)
    app.add_typer(lab, name="lab")


def run(
    command: Annotated[
        list[str],
        typer.Argument(
            help="Command to run on the client's side; {server}, {host} and {port} in it are replaced.",
            metavar="-- COMMAND",
        ),
    ],
    backend: _BackendOption = BackendName.RELAY,
    link: LinkOption = "4g",
    seed: _SeedOption = 1,
    site: Annotated[
        str | None, typer.Option(help="Serve this site at the other end: a bundled one, or a folder.", metavar="SITE")
    ] = None,
    scheme: Annotated[str, typer.Option(help="Delivery scheme for --site.", metavar="S")] = "eps",
    server: Annotated[
        str | None, typer.Option(help="A server of yours at the other end, instead of --site.", metavar="HOST:PORT")
    ] = None,
    server_command: Annotated[
        str | None,
        typer.Option(
            help="Command that starts that server, on its side; the same words are replaced.", metavar="COMMAND"
        ),
    ] = None,
    packet_log: Annotated[
        Path | None, typer.Option(help="Folder for a log of each packet's fate; relay only.", metavar="DIR")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a command over an emulated network, then take the network down; the exit code is the command's.

    The command also finds the server in MIXEDSCHED_SERVER, MIXEDSCHED_SERVER_HOST and MIXEDSCHED_SERVER_PORT, and with --site
    the digest of its certificate's key in MIXEDSCHED_SPKI_SHA256. The link's counters are printed at the end, on stderr;
    with --json as the last line on stdout. If the link or the server stops too early, the exit code is 1 unless the
    command itself has failed.
    """
    request = CommandRequest(
        backend=backend.value,
        profile=catalog.load_profile(link),
        seed=seed,
        command=tuple(command),
        site=site,
        scheme=scheme,
        server=None if server is None else parse_address(server),
        server_command=server_command,
        packet_log=packet_log,
    )
    result = carry_out(checked(request, open_site), say_note=_say_note)
    if as_json:
        say_json(result.to_dict())
    else:
        for side in ("down", "up"):
            err.print(f"{side}: {counters_text(result.counters.get(side, {}))}", soft_wrap=True)
    for failure in result.failures:
        err.print(f"[bold red]error:[/] {shown(failure)}", soft_wrap=True)
    raise typer.Exit(result.exit_code)


def up(
    backend: _BackendOption = BackendName.NETNS, link: LinkOption = "4g", seed: _SeedOption = 1, as_json: Json = False
) -> None:
    """Bring a network up and leave it up, until `mixedsched lab down`."""
    if backend is BackendName.RELAY:
        raise UsageError(
            "the relay has nothing to leave up",
            why="a relay serves one command, in front of one server",
            fix="use `lab run --backend relay`, or leave netns or vm up",
        )
    profile = catalog.load_profile(link)
    shape(profile)
    require_privilege()
    refuse_second_lab()  # before anything takes time; the keeper asks again when it records its own
    lab_up = asdict(start_keeper(backend.value, profile, seed))
    if as_json:
        say_json(lab_up)
        return
    out.print(f"[bold]{shown(profile.name)}[/] is up in {backend.value}")
    out.print(f"  down: {shown(direction_text(profile.down))}", soft_wrap=True)
    out.print(f"  up: {shown(direction_text(profile.up))}", soft_wrap=True)
    _say_standing(lab_up)


def down(as_json: Json = False) -> None:
    """Take down the network of `lab up`, and remove what killed labs left behind."""
    gone = take_down()
    if as_json:
        say_json({"removed": gone})
    else:
        out.print(f"removed: {', '.join(gone)}" if gone else "nothing was up", soft_wrap=True)


def status(as_json: Json = False) -> None:
    """Show the lab that is up, namespaces in use, and what killed labs left behind."""
    facts = lab_status()
    if as_json:
        say_json(facts)
        return
    if facts["up"] is None:
        out.print("no lab is up")
        if ended := facts["ended"]:
            out.print(
                f"{shown(ended['link'])} in {ended['backend']} has ended by itself: {shown(ended['why'])}",
                soft_wrap=True,
            )
    else:
        out.print(f"[bold]{shown(facts['up']['link'])}[/] is up in {facts['up']['backend']}")
        _say_standing(facts["up"])
    for owned in facts["in_use"]:
        out.print(f"in use by process {owned['pid']} ({shown(owned['about'])}): {', '.join(owned['namespaces'])}")
    if facts["leftovers"]:
        out.print(
            f"named like ours, owned by no lab: {', '.join(facts['leftovers'])}; "
            "`mixedsched lab down` removes those whose process has ended",
            soft_wrap=True,
        )


def _say_standing(facts: dict[str, Any]) -> None:
    for note in facts["notes"]:
        _say_note(note)
    out.print("where the client is:", " ".join(facts["client_prefix"]), "COMMAND", soft_wrap=True, markup=False)
    out.print("where the server is:", " ".join(facts["server_prefix"]), "COMMAND", soft_wrap=True, markup=False)
    out.print(f"servers must listen at {facts['server_host']}; `mixedsched lab down` takes it down", soft_wrap=True)


def _say_note(note: str) -> None:
    say_remark(f"note: {note}")
