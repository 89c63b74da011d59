"""The log of a server on standard output, for people or for machines."""

from typing import TextIO

from mixedsched.world.server.log import JsonLog, ServerLog


def server_log(as_json: bool, kept: TextIO | None = None) -> ServerLog:
    """kept: file that gets every request as JSON, too."""
    if as_json:
        return JsonLog(kept)
    from mixedsched.cli._text_log import TextLog  # here, because machines have no use for what it loads

    return TextLog(kept)
