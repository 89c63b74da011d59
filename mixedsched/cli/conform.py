"""`conform`: which rules of HTTP/3 and of its priorities a server follows, as seen from outside."""

import ipaddress
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err, out, say_step, shown
from mixedsched.cli._output import Json, refuse_unwritable, say_json
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.conform import AskedServer, Examination, ProbeFinding
from mixedsched.report.conform import conformance_markdown, summary_of
from mixedsched.world.system.udp import parse_address

_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
_COLOURS = {"right": "green", "wrong": "bold red"}


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched conform 127.0.0.1:4433 --path /img/hero.jpg --markdown conform.md")(conform)


def conform(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="The server, on UDP.")],
    path: Annotated[str, typer.Option(help="A file of at least 1 MB on it.")] = "/",
    name: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="Name of the site, if HOST is only its address.")
    ] = None,
    tries: Annotated[int, typer.Option(min=1, max=5, help="How many times to test each order.")] = 3,
    risky: Annotated[
        bool, typer.Option("--risky", help="Also try what has crashed servers; use it only on a server of your own.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 6 unless everything is right.")] = False,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Test which rules of HTTP/3 and of its priorities a server follows: what it does with frames, legal or not, and whose
    bytes it sends first.

    Makes some 50 connections, one after another, and takes at most 64 MB and two minutes. The certificate is not checked.
    """
    target = _target(address, path, name)
    refuse_unwritable(markdown)
    examination = Examination(target, tries=tries, with_risky=risky)
    say_step(f"asking {address} for {path}")
    examination.look()
    findings: list[ProbeFinding] = []
    for finding in examination.findings():
        findings.append(finding)
        if not as_json:
            _print(finding)
    summary = summary_of(findings)
    if markdown is not None:
        from mixedsched.lab.results import writing_to  # here, because it takes databases, of which others have no use

        with writing_to(markdown):
            text = conformance_markdown(address, examination.server, findings, examination.died_after)
            markdown.write_text(text, encoding="utf-8")
    if as_json:
        say_json(
            {
                "target": address,
                "path": path,
                "server": examination.server,
                "summary": summary,
                "died_after": examination.died_after or None,
                "connections": examination.connections,
                "received_bytes": examination.received_bytes,
                "probes": [finding.to_dict() for finding in findings],
            },
            indent=2,
        )
    else:
        _conclude(examination, summary)
    if code := _code(findings, bool(examination.died_after), strict):
        raise typer.Exit(code)


def _target(address: str, path: str, name: str | None) -> AskedServer:
    host, port = parse_address(address)
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"'{path}' is not a path", fix="begin it with a slash, and write it as in an address")
    return AskedServer(host, port, path, _site_name(host if name is None else name))


def _site_name(name: str) -> str:
    """The name as handshakes and requests have it. Raises UsageError."""
    with suppress(ValueError):
        return str(ipaddress.ip_address(name.partition("%")[0]))  # a zone means something on this machine only
    with suppress(UnicodeError):
        sent = name.encode("idna").decode("ascii")
        if _NAME.fullmatch(sent):
            return sent
    raise UsageError(f"'{name}' is not the name of a host", fix="write it as in an address, like www.example.com")


def _print(finding: ProbeFinding) -> None:
    word = finding.verdict.word
    colour = _COLOURS.get(word, "yellow")
    out.print(
        f"[{colour}]{word:10}[/] {finding.rule:13} {shown(finding.what)} [dim]({shown(finding.wanted)})[/]: "
        f"{shown(finding.verdict.did)}",
        soft_wrap=True,
    )


def _conclude(examination: Examination, summary: dict[str, dict[str, int]]) -> None:
    for kind, counts in summary.items():
        out.print(f"{kind}: {counts['right']} of {counts['asked']} right")
    if examination.died_after:
        err.print(f"[bold red]the server stopped answering[/] after: {shown(examination.died_after)}", soft_wrap=True)
    said = f"; it calls itself {shown(examination.server)}" if examination.server else ""
    err.print(
        f"{examination.connections} connections, {examination.received_bytes / 1e6:.0f} MB{said}",
        style="dim",
        soft_wrap=True,
    )


def _code(findings: list[ProbeFinding], has_died: bool, strict: bool) -> ExitCode:
    words = {finding.verdict.word for finding in findings}
    if has_died:
        return ExitCode.FAILED
    if strict and words - {"right", "unclear"}:
        return ExitCode.GATE
    return ExitCode.INVALID_RUNS if "unclear" in words else ExitCode.DONE
