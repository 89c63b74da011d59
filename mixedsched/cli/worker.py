"""`worker`: lets this machine work on the studies of a database that several machines share."""

import asyncio
import platform
import time
from typing import Annotated

import typer

from mixedsched.cli._console import err, say_remark, shown
from mixedsched.cli._interrupts import end_in_order
from mixedsched.errors import MissingPartError, MixedschedError, UsageError
from mixedsched.lab.study.worker import WorkerOptions, run_worker
from mixedsched.units import parse_duration_s

RECONNECT_S = 5.0
LEASE_LEAST_S = 2.0  # a sign of life comes four times as often, and what is finished is stored twice a second


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched worker --store postgresql://lab@db.example/studies")(worker)


def worker(
    store: Annotated[
        str, typer.Option(help="The database: postgresql://USER@HOST/NAME, or sqlite:///FILE.", metavar="URL")
    ],
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="A dask scheduler that sets this machine to work; without one it looks for work itself.", metavar="URL"
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(help="Work on this study alone; on all by default.", metavar="NAME")
    ] = None,
    machine: Annotated[
        str | None, typer.Option(help="Name of this machine in results; its host name by default.", metavar="NAME")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes that simulate; one per processor by default.", min=1)
    ] = None,
    lease: Annotated[
        str, typer.Option(help="Time after a worker's last sign of life until its blocks go to others.", metavar="T")
    ] = "60s",
    once: Annotated[bool, typer.Option("--once", help="End when there is no work left, instead of waiting.")] = False,
    readmit: Annotated[
        bool, typer.Option("--readmit", help="Work even if this machine was found unfit before.")
    ] = False,
) -> None:
    """Work on the studies of a database, one block at a time: loads in one browser, simulations on all processors.

    Everything that a load needs must be installed here in the same versions as where the study was begun.
    """
    end_in_order()
    lease_s = parse_duration_s(lease)
    if lease_s < LEASE_LEAST_S:
        raise UsageError(
            f"--lease {lease} is too short",
            why="blocks would go to others while they are worked on, again and again",
            fix=f"give {LEASE_LEAST_S:g}s at least",
        )
    options = WorkerOptions(
        store, study, machine or platform.node(), jobs=jobs, waits=not once, readmit=readmit, lease_s=lease_s
    )
    if scheduler is None:
        run_worker(options, say_remark)
        return
    from mixedsched.lab.study.cluster import serve

    while True:
        try:
            asyncio.run(serve(scheduler, options, say_remark))
        except MixedschedError as error:
            if once or isinstance(error, MissingPartError):  # which will be missing the next time, too
                raise
            err.print(f"{shown(str(error))}; trying again", style="dim")
        if once:
            return
        time.sleep(RECONNECT_S)
