"""The router's kernel and its only file system, built from the distribution's packages and kept. Packages are fetched and
unpacked without being installed: that needs no root, and changes nothing here.

`python -m mixedsched.world.emulator.vm.image [--fresh]` builds it and prints its place; the vm back end builds it by itself.
It is built again when one of its inputs changes; --fresh also looks for a newer kernel.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world import places
from mixedsched.world.emulator.vm._initramfs import ModuleTree, initramfs
from mixedsched.world.places import locked
from mixedsched.world.system.programs import find_program, run_program

MODULES = (
    *("virtio_mmio", "virtio_pci", "virtio_net", "virtio_console"),
    *("bridge", "veth", "sch_tbf", "sch_netem", "sch_codel"),
)
_TOOLS = ("ip", "tc")  # this machine's own: the same tc speaks in the router and in namespaces
_LIBRARY = re.compile(r"(/\S+) \(0x[0-9a-f]+\)")
_STAMP_FORMAT = 1
_UNPACKED = "unpacked-"  # names begin so of what is made of packages for the time of a build
KERNEL_CHOICES = ("linux-image-cloud-amd64", "linux-image-virtual")  # of Debian; of Ubuntu
SHELL_PACKAGE = "busybox-static"
_REAL_KERNEL = re.compile(r"^\s*Depends: linux-image-(\d\S+)$", re.MULTILINE)
_DOWNLOAD_LIMIT_S = 600.0
_LOOK_LIMIT_S = 10.0
_INSTEAD = "or use --backend relay, which needs none of this"


@dataclass(frozen=True, slots=True)
class Image:
    """Files for the boot loader."""

    kernel: Path
    initramfs: Path
    version: str
    """Of the kernel, such as 6.1.0-56-cloud-amd64."""


def init_script() -> Path:
    """The program that the router's kernel starts."""
    return places.home() / "vm" / "router" / "init"


def image_folder() -> Path:
    """Where the image is kept. Raises MissingPartError if there is no place for it."""
    return places.writable_cache() / "router"


def ready_image(tell: Callable[[str], None], *, fresh: bool = False, folder: Path | None = None) -> Image:
    """The image, built if it is not there or out of date.

    tell: called with a line for people before each long step. fresh: fetch packages even if they are there. folder: where it is
    kept (default: image_folder()). Raises MissingPartError if packages or tools are not available.
    """
    folder = folder or image_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        inputs = _inputs()
        image = None if fresh else _built(folder, inputs)
        if image is None:
            image = _build(folder, inputs, tell, fresh=fresh)
        return image


def _built(folder: Path, inputs: str) -> Image | None:
    """The image that is there, if it was made from the same inputs."""
    try:
        stamp = json.loads((folder / "stamp.json").read_text(encoding="utf-8"))
        if stamp["format"] != _STAMP_FORMAT or stamp["inputs"] != inputs:
            return None
        image = _image(folder, stamp["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return image if image.kernel.is_file() and image.initramfs.is_file() else None


def _build(folder: Path, inputs: str, tell: Callable[[str], None], *, fresh: bool) -> Image:
    (folder / "stamp.json").unlink(missing_ok=True)
    # Of a build that was killed: the folder is locked, so nobody else is at it.
    for left in folder.glob(f"{_UNPACKED}*"):
        shutil.rmtree(left, ignore_errors=True)
    packages = _packages(folder / "packages", tell, fresh=fresh)
    tell("building the router VM's image")
    with tempfile.TemporaryDirectory(dir=folder, prefix=_UNPACKED) as name:
        root = Path(name)
        unpack(packages, root)
        kernel = _only(root.glob("boot/vmlinuz-*"), "kernel")
        version = kernel.name.removeprefix("vmlinuz-")
        module_folder = _only((path for path in root.glob(f"**/lib/modules/{version}") if path.is_dir()), "modules")
        files = _file_system(_only(root.glob("**/bin/busybox"), "shell"), ModuleTree(module_folder))
        image = _image(folder, version)
        shutil.copyfile(kernel, image.kernel)
        image.initramfs.write_bytes(initramfs(files))
    stamp = {"format": _STAMP_FORMAT, "inputs": inputs, "version": version}
    (folder / "stamp.json").write_text(json.dumps(stamp), encoding="utf-8")  # last: without it, nothing counts as built
    return image


def _packages(folder: Path, tell: Callable[[str], None], *, fresh: bool) -> list[Path]:
    """The packages' files; those of an earlier build are reused, so that a change of ours needs no network."""
    there = sorted(folder.glob("*.deb"))
    names = [file.name for file in there]
    is_whole = all(any(name.startswith(part) for name in names) for part in ("linux-image-", SHELL_PACKAGE))
    if is_whole and (folder / "complete").exists() and not fresh:
        return there
    wanted = [*kernel_packages(), SHELL_PACKAGE]
    tell(f"fetching {', '.join(wanted)} (about 30 MB)")
    shutil.rmtree(folder, ignore_errors=True)
    fetched = fetch(wanted, folder)
    (folder / "complete").touch()
    return fetched


def _file_system(shell: Path, modules: ModuleTree) -> dict[str, tuple[bytes, int]]:
    loaded = modules.load_order(MODULES)
    files = {"init": (init_script().read_bytes(), 0o755), "bin/busybox": (shell.read_bytes(), 0o755)}
    files |= {f"modules/{name}.ko": (content, 0o644) for name, content in loaded.items()}
    files["modules/order"] = ("".join(f"{name}.ko\n" for name in loaded).encode(), 0o644)
    for tool in _TOOLS:
        file = _tool(tool)
        files[f"bin/{tool}"] = (file.read_bytes(), 0o755)
        # What the dynamic linker loads for it, under the names by which it looks for them.
        for library in _LIBRARY.findall(run_program(["ldd", file], _LOOK_LIMIT_S).output):
            files[library.lstrip("/")] = (Path(library).read_bytes(), 0o755)
    return files


def _tool(name: str) -> Path:
    found = find_program(name)
    if found is None:
        raise MissingPartError(f"the router VM takes {name} from this machine, which has none", fix="install iproute2")
    return Path(found).resolve()


def _inputs() -> str:
    """A digest of all inputs except the packages."""
    digest = hashlib.sha256(json.dumps(MODULES).encode())
    makers = (Path(__file__).with_name(f"{name}.py") for name in ("image", "_initramfs"))
    for file in (init_script(), *(_tool(tool) for tool in _TOOLS), *makers):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _image(folder: Path, version: str) -> Image:
    return Image(folder / "vmlinuz", folder / "initramfs.gz", version)


def _only(found: Iterator[Path], what: str) -> Path:
    path = next(found, None)
    if path is None:
        raise MixedschedError(f"the router VM cannot be built: the packages have no {what} in them")
    return path


def kernel_packages() -> list[str]:
    """The packages with the newest small kernel of the distribution, and its modules.

    Raises MissingPartError if there is none.
    """
    if platform.machine() != "x86_64":
        raise MissingPartError(
            "the router VM is made for x86-64", why=f"this is {platform.machine()}", fix="use --backend relay"
        )
    if find_program("apt-get") is None or find_program("dpkg-deb") is None:
        raise MissingPartError(
            "the router VM is built from Debian or Ubuntu packages",
            why="there is no apt-get or no dpkg-deb here",
            fix="install dpkg, and copy packages/ from the same folder of a Debian or Ubuntu machine to "
            f"{image_folder()}, {_INSTEAD}",
        )
    for choice in KERNEL_CHOICES:
        versions = kernel_versions(_run("apt-cache", "depends", choice, may_fail=True))
        if versions:
            names = [f"{part}-{versions[0]}" for part in ("linux-image", "linux-modules", "linux-modules-extra")]
            return [name for name in names if _run("apt-cache", "show", name, may_fail=True)]
    raise MissingPartError(
        f"apt knows no kernel for the router VM ({' or '.join(KERNEL_CHOICES)})",
        fix=f"run: sudo apt-get update, {_INSTEAD}",
    )


def kernel_versions(depends_text: str) -> list[str]:
    """Versions such as 6.1.0-56-cloud-amd64, from what `apt-cache depends` prints for the package of the newest kernel."""
    return _REAL_KERNEL.findall(depends_text)


def fetch(names: Sequence[str], folder: Path) -> list[Path]:
    """Download packages into a folder; returns their files. Raises MissingPartError if that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    # Without this, root is warned of folders that are not apt's own.
    as_root = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    _run("apt-get", *as_root, "--quiet", "download", *names, folder=folder)
    return sorted(file for file in folder.glob("*.deb") if file.name.split("_")[0] in names)


def unpack(packages: Sequence[Path], folder: Path) -> None:
    """Unpack the packages' files below a folder."""
    for package in packages:
        _run("dpkg-deb", "--extract", str(package), str(folder))


def _run(*words: str, folder: Path | None = None, may_fail: bool = False) -> str:
    done = run_program(words, _DOWNLOAD_LIMIT_S, folder=folder)
    if done.complaint and not may_fail:
        raise MissingPartError(
            f"the router VM cannot be built: {words[0]} failed",
            why=" ".join(done.complaint.split()),
            fix=f"it needs the network and the distribution's packages; run: sudo apt-get update, {_INSTEAD}",
        )
    return "" if done.complaint else done.output


def main() -> int:
    """Build the image and print where it is."""
    try:
        image = ready_image(lambda text: print(text, file=sys.stderr), fresh="--fresh" in sys.argv[1:])  # noqa: T201
    except MixedschedError as error:
        print(f"{error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    size_mb = image.initramfs.stat().st_size / 1e6
    print(f"{image.kernel} ({image.version})\n{image.initramfs} ({size_mb:.1f} MB)")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
