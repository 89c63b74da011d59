"""Kernel modules out of a package: which ones are needed, in what order, without depmod or the running kernel."""

from __future__ import annotations

import gzip
import lzma
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.system.programs import find_program

_MODULE_FILE = re.compile(r"(?P<stem>.+)\.ko(?P<packing>\.xz|\.gz|\.zst)?")
_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")  # modinfo, which every module carries


class ModuleTree:
    """The modules of one kernel. folder: .../lib/modules/VERSION."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            _module_name(match["stem"]): file
            for file in sorted(folder.rglob("*.ko*"))
            if (match := _MODULE_FILE.fullmatch(file.name)) is not None
        }
        listed = folder / "modules.builtin"
        lines = listed.read_text(encoding="utf-8").split() if listed.exists() else []
        self._built_in = {_module_name(Path(line).name.removesuffix(".ko")) for line in lines}

    def load_order(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """The wanted modules and what they depend on, dependencies first, ready to be loaded; without what is built in.

        Raises MixedschedError for one that this kernel has not got.
        """
        order: dict[str, bytes] = {}
        for name in wanted:
            self._add(_module_name(name), order)
        return order

    def _add(self, name: str, order: dict[str, bytes]) -> None:
        if name in order or name in self._built_in:
            return
        if name not in self._files:
            raise MixedschedError(f"the router's kernel has no module {name}")
        content = unpacked(self._files[name])
        for needed in depends(content):
            self._add(needed, order)
        order[name] = content


def depends(module: bytes) -> list[str]:
    """What a module says that it depends on."""
    found = _DEPENDS.search(module)
    return [_module_name(name) for name in found[1].decode().split(",") if name] if found else []


def unpacked(file: Path) -> bytes:
    """A module as the kernel loads it. Raises MissingPartError where zstd is needed and missing."""
    match file.suffix:
        case ".xz":
            return lzma.decompress(file.read_bytes())
        case ".gz":
            return gzip.decompress(file.read_bytes())
        case ".zst":
            zstd = find_program("zstd")
            if zstd is None:
                raise MissingPartError(
                    "the kernel's modules are packed with zstd, which is not here", fix="install zstd"
                )
            return subprocess.run([zstd, "-dc", str(file)], capture_output=True, check=True).stdout
        case _:
            return file.read_bytes()


def _module_name(name: str) -> str:
    """File names and dependencies spell the same module with dashes or underscores."""
    return name.replace("-", "_")
