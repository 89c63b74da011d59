"""`serve`: an HTTP/3 server for one site under one scheme."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated

import typer
from rich.markup import escape

from mixedsched import catalog
from mixedsched.cli._output import Json, LineWriter, err, out, say_json
from mixedsched.cli._sites import open_site, site_files
from mixedsched.errors import UsageError
from mixedsched.h3.certificate import make_certificate
from mixedsched.h3.session import Served
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import configure
from mixedsched.server.run import ServerSettings, run_server
from mixedsched.udp import host_and_port
from mixedsched.units import format_bytes


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched serve agency --scheme mixed:alpha=0.5 --port 4433")(serve)


def serve(
    site: Annotated[str, typer.Argument(help="A bundled site, or a folder with an index.html.", metavar="SITE")],
    scheme: Annotated[
        str, typer.Option(help="Delivery scheme, with parameters: mixed:alpha=0.5.", metavar="S")
    ] = "eps",
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table, by name or file; the scheme's own by default.", metavar="M")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="UDP port; 0 takes any free one.", min=0, max=65535)] = 4433,
    congestion_control: Annotated[str, typer.Option(help="cubic or reno.", metavar="NAME")] = "cubic",
    stop_with_stdin: Annotated[bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.")] = False,
    as_json: Json = False,
) -> None:
    """Serve a site over HTTP/3, deciding packet by packet whose bytes go next.

    Prints a line for each request: what was signalled, where it was placed, when its first and last byte left.
    """
    if congestion_control not in {"cubic", "reno"}:
        raise UsageError(f"there is no congestion control '{congestion_control}'", fix="choose cubic or reno")
    configured = configure(scheme, SCHEMES, catalog.load_mapping, mapping)
    opened = open_site(site)
    certificate = make_certificate([*opened.hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))

    def listening(address: str, number: int) -> None:
        where = host_and_port(address, number)
        if as_json:
            say_json(
                {
                    "listening": where,
                    "spki_sha256": certificate.spki_sha256,
                    "site": opened.name,
                    "url": opened.url,
                    "hosts": list(opened.hosts),
                    "scheme": configured.label,
                    "mapping": configured.mapping.name if configured.mapping else None,
                }
            )
            return
        out.print(f"serving [bold]{escape(opened.name)}[/] with [bold]{escape(configured.label)}[/] on UDP {where}")
        out.print(f"open {opened.url} in Chromium with")
        rules = ", ".join(f"MAP {name} {where}" for name in opened.hosts)
        out.print(
            "  --user-data-dir=$(mktemp -d) --origin-to-force-quic-on=* "
            f"--ignore-certificate-errors-spki-list={certificate.spki_sha256} "
            f'--host-resolver-rules="{rules}"',
            soft_wrap=True,
            markup=False,
        )
        err.print("Ctrl-C stops the server", style="dim")

    with LineWriter() as log:
        run_server(
            ServerSettings(host, port, congestion_control, stop_with_stdin),
            certificate,
            configured,
            site_files(opened),
            listening,
            lambda served: log.write(json.dumps({"request": served.to_dict()}) if as_json else _text(served)),
        )


def _text(served: Served) -> str:
    """A request as a line for people."""
    first = f"{served.first_byte_ms:.0f}" if served.first_byte_ms is not None else "-"
    last = f"{served.last_byte_ms:.0f}" if served.last_byte_ms is not None else "cancelled"
    return (
        f"{served.status} {served.path}  {served.kind}, {format_bytes(served.body_bytes)}"
        f"  signalled {served.signal} ({served.signalled_by})  placed {served.placement}  bytes from {first} to {last} ms"
    )
