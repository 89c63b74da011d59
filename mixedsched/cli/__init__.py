"""The command line: one file per command, imported when it is asked for, so that `serve` need not wait for statistics."""

import errno
import gc
import importlib
import sys
from types import ModuleType
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from mixedsched import __version__
from mixedsched.cli._stdout import let_readers_end
from mixedsched.errors import MixedschedError, UsageError

__all__ = ["COMMANDS", "app", "main"]

_MEASURE = "Measure"
_UNDERSTAND = "Understand"
_IMPROVE = "Improve"
_SITES = "Sites"
_NETWORKS = "Networks"
_INSTALLATION = "Installation"


class Listed(NamedTuple):
    """A command as `mixedsched --help` lists it.

    module: of this package, with `register(app)`, which adds the command. panel: what people use it for.
    """

    module: str
    panel: str
    summary: str


# In the order of --help, which imports none of them: the modules and what they need take a second and more.
COMMANDS: dict[str, Listed] = {
    "compare": Listed("compare", _MEASURE, "Compare schemes on a page in Chromium, scored by Lighthouse."),
    "study": Listed("study", _MEASURE, "Run studies over many sites, links and schemes, on any rung."),
    "simulate": Listed("simulate", _MEASURE, "Simulate page loads in virtual time: thousands a minute."),
    "worker": Listed("worker", _MEASURE, "Work on the studies of a shared database."),
    "serve": Listed("serve", _MEASURE, "Serve a site over HTTP/3 with any scheme."),
    "memory": Listed("memory", _MEASURE, "Show what the scheme adaptive has learned, or forget it."),
    "report": Listed("report", _MEASURE, "Write the report of stored runs anew."),
    "view": Listed("view", _MEASURE, "Show all results in a web page on this machine."),
    "calibrate": Listed("calibrate", _MEASURE, "Fit simulation to Chromium, and see how well it ranks schemes."),
    "schemes": Listed("lists", _UNDERSTAND, "Explain the schemes, and the order in which each sends."),
    "mappings": Listed("lists", _UNDERSTAND, "List the tables from (priority, kind) to EPS signals."),
    "servers": Listed("servers", _UNDERSTAND, "List third-party servers that can be arms."),
    "netlog": Listed("netlog", _UNDERSTAND, "Read a Chromium NetLog: connections, blocking, losses, order."),
    "conform": Listed("conform", _UNDERSTAND, "Test which rules of HTTP/3 and priorities a server follows."),
    "audit": Listed("audit", _IMPROVE, "Find what arrives too late, and measure what would help."),
    "tune": Listed("tune", _IMPROVE, "Find a better order, prove it, and write what to ship."),
    "edge": Listed("edge", _IMPROVE, "Put HTTP/3 with any scheme in front of a web server."),
    "sites": Listed("sites", _SITES, "List, show, check and compare sites."),
    "record": Listed("record", _SITES, "Record a live page as a site."),
    "import": Listed("import_har", _SITES, "Make a site from a HAR."),
    "synth": Listed("synth", _SITES, "Make a site from a page description."),
    "generate": Listed("generate", _SITES, "Generate a page from distributions of real ones."),
    "networks": Listed("networks", _NETWORKS, "List and draw the network profiles."),
    "lab": Listed("lab", _NETWORKS, "Run any program over an emulated network."),
    "setup": Listed("setup", _INSTALLATION, "Fetch what page loads need: Node packages, a browser."),
    "doctor": Listed("doctor", _INSTALLATION, "Check that pages can be measured on this machine."),
}


class _LazyCommands(TyperGroup):
    """Imports a command's module only when that command is wanted."""

    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the same list whatever the context
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        if self._is_listing:
            return TyperCommand(cmd_name, help=listed.summary, rich_help_panel=listed.panel)
        commands = typer.Typer()
        _imported(f"{__name__}.{listed.module}").register(commands)
        return typer.main.get_group(commands).commands[cmd_name]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        super().format_help(ctx, formatter)
        self._is_listing = False


def _imported(name: str) -> ModuleType:
    """A module. All that comes with it stays to the end: looking through it for garbage again and again would take 0.2 s."""
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


app = typer.Typer(
    name="mixedsched",
    cls=_LazyCommands,
    help="HTTP/3 prioritization lab: which order of bytes gives people the best page?",
    epilog="Example: mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"mixedsched {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """All other options belong to commands."""


def main() -> None:
    """Run the command line. Exits with one of errors.ExitCode."""
    let_readers_end()
    try:
        app()
    except MixedschedError as error:
        _end_with(error)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        # Every use of a path can fail so, even the check whether it is there; a name is that long only by mistake.
        why = f"{error.filename} has {len(str(error.filename))} characters"
        _end_with(UsageError("the name of a file is too long for this system", why=why, fix="choose a shorter one"))


def _end_with(error: MixedschedError) -> NoReturn:
    from mixedsched.cli._console import say_error  # here, because few commands end like this

    say_error(error)
    sys.exit(error.exit_code)
