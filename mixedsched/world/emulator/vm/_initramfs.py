"""The router's first file system: an archive that a kernel unpacks, and the kernel modules in it, dependencies first.

Archives are cpio in the "newc" form, compressed (Documentation/driver-api/early-userspace/buffer-format.rst in Linux's
sources). They are written here because a header is only fourteen numbers, and then neither cpio nor root (for files
that belong to root) is needed. The same files give the same bytes. Modules come out of a package, without depmod or the running
kernel.
"""

import gzip
import lzma
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.system.programs import find_program

_MAGIC = "070701"
_END = "TRAILER!!!"
_MODULE_FILE = re.compile(r"(?P<stem>.+)\.ko(?P<packing>\.xz|\.gz|\.zst)?")
_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")  # modinfo, which every module carries


def initramfs(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """files: path without a leading slash -> (content, permissions such as 0o755). Folders are made as needed."""
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents if str(folder) != "."}
    entries = dict.fromkeys(folders, (b"", stat.S_IFDIR | 0o755))
    entries |= {path: (content, stat.S_IFREG | mode) for path, (content, mode) in files.items()}
    packed = [_entry(number, path, *entries[path]) for number, path in enumerate(sorted(entries), start=1)]
    return gzip.compress(b"".join([*packed, _entry(0, _END, b"", 0)]), compresslevel=6, mtime=0)


def _entry(number: int, path: str, content: bytes, mode: int) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    numbers = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = (_MAGIC + "".join(f"{value:08x}" for value in numbers)).encode()
    return _padded(header + name) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


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
        """The wanted modules and their dependencies in the order of loading, without those built in.

        Raises MixedschedError for one that this kernel lacks.
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
    """The modules that a module names as its dependencies."""
    found = _DEPENDS.search(module)
    return [_module_name(name) for name in found[1].decode().split(",") if name] if found else []


def unpacked(file: Path) -> bytes:
    """A module as the kernel loads it. Raises MissingPartError if zstd is needed and missing."""
    match file.suffix:
        case ".xz":
            return lzma.decompress(file.read_bytes())
        case ".gz":
            return gzip.decompress(file.read_bytes())
        case ".zst":
            zstd = find_program("zstd")
            if zstd is None:
                raise MissingPartError(
                    "the kernel's modules are packed with zstd, which is missing", fix="install zstd"
                )
            return subprocess.run([zstd, "-dc", str(file)], capture_output=True, check=True).stdout
        case _:
            return file.read_bytes()


def _module_name(name: str) -> str:
    """File names and dependencies spell the same module with dashes or underscores."""
    return name.replace("-", "_")
