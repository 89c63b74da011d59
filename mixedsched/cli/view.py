"""`view`: a local page of all results."""

import signal
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err, out
from mixedsched.cli._output import Json, say_json
from mixedsched.errors import InputError


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched view")(view)


def view(
    folder: Annotated[Path, typer.Argument(help="The folder of all results.", metavar="DIR")] = Path("runs"),
    port: Annotated[
        int | None,
        typer.Option(
            help="TCP port on 127.0.0.1; by default 8765, or the next that is free.", min=0, max=65535, metavar="P"
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Also open the page in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Show everything in runs/ in a web page on this machine: what is running, with progress and time left; what is done,
    with verdict, report and player; two results side by side; one page over weeks.

    Only those who have the printed address can open it: it contains a secret, new at every start. Ctrl-C ends the page;
    commands that were started from it continue.
    """
    from mixedsched.report.view.app import ViewPages
    from mixedsched.report.view.so_far import ReportsSoFar
    from mixedsched.world.local_page import ADDRESS, Guard, Secrets, listen, serve

    if not folder.is_dir():
        raise InputError(
            f"there is no folder {folder}",
            why="it is a file" if folder.exists() else "commands make it with their first results",
            fix="run one, such as `mixedsched compare agency`, or name another folder",
        )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sock = listen(port)
    number = sock.getsockname()[1]
    secrets = Secrets()
    url = f"http://{ADDRESS}:{number}/{secrets.page}/"
    with sock, ReportsSoFar() as so_far:
        application = Guard(ViewPages(folder.resolve(), secrets, so_far).application(), secrets, number)
        if as_json:
            say_json({"url": url, "port": number, "folder": str(folder)})
        else:
            out.print(url, soft_wrap=True)
            err.print("only this address opens the page; Ctrl-C ends it", style="dim")
        if open_browser:
            webbrowser.open(url)
        try:
            serve(application, sock)
        except KeyboardInterrupt:
            return
