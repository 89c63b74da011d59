"""H2O with HTTP/3: one path of its configuration for each path of the site."""

import json
import os
from pathlib import Path
from urllib.parse import unquote

from mixedsched.world.servers._tree import INDEX
from mixedsched.world.servers._versions import number_in, said_by
from mixedsched.world.servers.answers import GET, Answer
from mixedsched.world.servers.kind import (
    HEADERS,
    Abilities,
    Launch,
    Order,
    Program,
    ServerKind,
    Version,
    headers_parameter,
)

_OLDEST = (2, 3)  # with HTTP/3


def _prepare(order: Order) -> Launch:
    errors = order.folder / "errors"
    ssl = {
        "certificate-file": str(order.certificate),
        "key-file": str(order.key),
        "minimum-version": "TLSv1.3",
        "neverbleed": "OFF",  # a second process would keep the key
        "ocsp-update-interval": 0,
    }
    listen = {"type": "quic", "host": order.host, "port": order.port, "ssl": ssl}
    lines = [
        "user: root" if os.geteuid() == 0 else "",  # else it becomes nobody, who may not read our files
        "num-threads: 1",
        f"error-log: {_quoted(str(errors))}",
        f"listen: {json.dumps(listen)}",
        "hosts:",
    ]
    for number, host in enumerate(order.hosts):
        lines += [f"  {_quoted(host)}:", "    paths:"]
        paths: dict[str, Answer] = {}
        for item in order.answers:
            if item.host == host and item.method == GET and item.status == 200 and item.file is not None:
                paths.setdefault(unquote(item.path), item)  # it compares paths decoded
        for index, (path, item) in enumerate(paths.items()):
            lines += _path(order, path, item, f"{number}-{index}")
        if not paths:
            lines.append(f'      "/": {json.dumps({"file.dir": str(_empty(order.folder))})}')
    config = order.write("h2o.conf", "\n".join(filter(None, lines)) + "\n")
    return Launch((str(order.program.path), "-c", str(config)), _environment(order.program), (errors,))


def _environment(program: Program) -> dict[str, str]:
    """Where its Ruby is, for one that lies elsewhere than it was built for."""
    root = program.root.resolve()
    found = next((folder for folder in (root, root.parent) if (folder / "share" / "h2o").is_dir()), None)
    return {} if found is None else {"H2O_ROOT": str(found)}


def _path(order: Order, path: str, item: Answer, name: str) -> list[str]:
    """The lines of a path. A path matches all that begin with it: for a folder's that must not be so."""
    assert item.file is not None
    serving: dict[str, object] = {"file.mime.setdefaulttype": item.mime}
    if path.endswith("/"):
        folder = order.folder / "indexes" / name
        folder.mkdir(parents=True)
        (folder / INDEX).symlink_to(item.file)
        serving |= {"file.index": [INDEX], "file.mime.settypes": {item.mime: [".html"]}, "file.dir": str(folder)}
    else:
        link = order.folder / "files" / name  # without an ending, so that the type is the default one
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(item.file)
        serving["file.file"] = str(link)
    lines = [f"      {_quoted(path)}:"]
    if item.delay_ms > 0:
        wait = f"Proc.new {{|env| sleep {item.delay_ms / 1000:.4f}; [399, {{}}, []]}}"
        lines.append(f"        - mruby.handler: {_quoted(wait)}")
    if HEADERS in order.values:
        lines.append(f"        - !file {_quoted(order.values[HEADERS])}")
    # A directive for each field: lists of them are newer. The type is said below.
    lines += [f"        - {json.dumps({'header.add': f'{field}: {value}'})}" for field, value in item.all_fields[1:]]
    return [*lines, f"        - {json.dumps(serving)}"]


def _empty(folder: Path) -> Path:
    made = folder / "empty"
    made.mkdir(exist_ok=True)
    return made


def _quoted(text: str) -> str:
    """A word in YAML, which writes what is beyond 16 bits otherwise than JSON."""
    return (
        '"' + "".join(json.dumps(sign)[1:-1] if ord(sign) < 1 << 16 else f"\\U{ord(sign):08X}" for sign in text) + '"'
    )


def _version(program: Program) -> Version:
    number = number_in(said_by(program, "-v"), r"h2o version (\d+\.\d+(?:\.\S*)?)")
    if number is None:
        return Version("unknown", "it does not run")
    major, minor = (int(part) for part in number.split(".")[:2])
    return Version(number, "" if (major, minor) >= _OLDEST else "HTTP/3 comes with 2.3")


H2O = ServerKind(
    name="h2o",
    title="H2O with HTTP/3",
    programs=("h2o",),
    priorities=(
        "follows the request's priority field, PRIORITY_UPDATE and its own response field, of which the last one counts; in "
        "one urgency whole responses (N) and the first piece of shared ones (I) go by stream ID, then shared ones take turns"
    ),
    source="H2O edd7a120 read, 2.3.0-DEV of June 2026 measured",
    stand_in="server-h2o",
    how_to_get="H2O 2.3 or newer, built with mruby, in the PATH or in a folder that MIXEDSCHED_SERVERS names",
    read_versions=("2.3",),
    version_of=_version,
    prepare=_prepare,
    abilities=Abilities(queries=False, statuses=False, delays=True),
    parameters=(headers_parameter("H2O", "h2o.conf"),),
)
