"""The virtual machine: QEMU with the router's kernel, two network ports (tap devices), and a connection to its shell."""

import contextlib
import fcntl
import json
import os
import platform
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.emulator.kernel.registry import MACHINE_FILES
from mixedsched.world.emulator.vm.image import Image
from mixedsched.world.system.programs import find_program, with_path

QEMU = "qemu-system-x86_64"
KVM_DEVICE = Path("/dev/kvm")
KVM_LIMIT_S = 3.0  # with KVM the kernel is up within a second
TCG_LIMITS_S = (12.0, 10.0)  # without, in two to four, or eight where others use the processor; and once more
_TUN_DEVICE = Path("/dev/net/tun")
_TUNSETIFF = 0x400454CA  # <linux/if_tun.h>
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_NAME_BYTES, _IFREQ_BYTES = 16, 40
_LOG, _CONSOLE = MACHINE_FILES
SERVER_PORT_MAC, CLIENT_PORT_MAC = "02:00:00:00:01:01", "02:00:00:00:01:02"  # locally administered
_MEMORY_MB = 192
_COMMAND_LIMIT_S = 10.0
_END_LIMIT_S = 2.0
_KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 reboot=t "  # after a panic, and at the end, QEMU ends
    "ipv6.disable=1 mitigations=off nokaslr random.trust_cpu=on "  # it needs no protection
    "nohz=off"  # a guest that is half awake wakes sooner
)
# Without KVM a guest measures the frequency of its TSC and APIC timer, and gets them wrong (once by a factor of three) if the
# host is busy at that moment. The HPET tells its frequency. The same delay sometimes makes the kernel believe that no timer
# interrupts come at all, and give up, unless it is told not to check (no_timer_check).
_EXACT_CLOCK = " clocksource=hpet tsc=unstable nolapic_timer no_timer_check"


def require_qemu() -> str:
    """QEMU's path. Raises MissingPartError with what to install; also for setpriv, which ends QEMU if we are killed."""
    found = find_program(QEMU)
    if found is None:
        raise MissingPartError(
            f"the router VM needs {QEMU}, which is missing",
            fix="run: sudo apt-get install --no-install-recommends qemu-system-x86, or use --backend relay",
        )
    if find_program("setpriv") is None:
        raise MissingPartError(
            "the router VM needs setpriv, which is missing", fix="install util-linux, or use --backend relay"
        )
    return found


def qemu_words(qemu: str, image: Image, accelerator: str, taps: Sequence[int], line: int, console: Path) -> list[str]:
    """QEMU's command line. Pure.

    accelerator: kvm or tcg. taps: descriptors of the ports towards server and client. line: that of a connected socket for the
    shell. The machine is "q35": "microvm" boots a second sooner, but without KVM its kernel finds no timer finer than 4 ms.
    """
    kernel_words = _KERNEL_WORDS if accelerator == "kvm" else _KERNEL_WORDS + _EXACT_CLOCK
    words = [qemu, "-machine", f"q35,accel={accelerator}", "-cpu", "host" if accelerator == "kvm" else "qemu64"]
    words += ["-smp", "1", "-m", str(_MEMORY_MB), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    words += ["-kernel", str(image.kernel), "-initrd", str(image.initramfs), "-append", kernel_words]
    words += ["-serial", f"file:{console}"]
    words += ["-chardev", f"socket,id=shell,fd={line}", "-device", "virtio-serial-pci"]
    words += ["-device", "virtserialport,chardev=shell,name=org.mixedsched.router"]
    for number, (tap, mac) in enumerate(zip(taps, (SERVER_PORT_MAC, CLIENT_PORT_MAC), strict=True)):
        plain = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,mrg_rxbuf=off"
        words += ["-netdev", f"tap,id=port{number},fd={tap},vhost=off"]
        words += ["-device", f"virtio-net-pci,romfile=,netdev=port{number},mac={mac},rx_queue_size=1024,{plain}"]
    return words


class Machine:
    """A running machine. accelerator: kvm or tcg."""

    def __init__(self, process: subprocess.Popen[bytes], line: socket.socket, accelerator: str, folder: Path) -> None:
        self.accelerator = accelerator
        self._process = process
        self._line = line
        self._folder = folder
        self._pending = b""

    @classmethod
    def start(cls, image: Image, accelerator: str, taps: Sequence[int], folder: Path) -> Self:
        """Start QEMU; it ends with this thread, however that ends. folder: for its output and its kernel's."""
        ours, theirs = socket.socketpair()
        with theirs, (folder / _LOG).open("wb") as log:
            words = qemu_words(require_qemu(), image, accelerator, taps, theirs.fileno(), folder / _CONSOLE)
            process = subprocess.Popen(
                with_path(["setpriv", "--pdeathsig", "KILL", *words]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(*taps, theirs.fileno()),
            )
        # At real-time priority if the system lets us: packets must not wait for a browser to pause. Its threads inherit it.
        with contextlib.suppress(OSError, AttributeError):
            os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(1))
        return cls(process, ours, accelerator, folder)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self, limit_s: float) -> None:
        """Wait for the router's first answer. Raises MixedschedError if it does not come in time."""
        self._answer(limit_s)

    def run(self, command: str) -> str:
        """Run a shell command in the router and return what it printed. Raises MixedschedError if it fails.

        A machine that does not answer in time is stopped: a late answer would be taken for that to the next command.
        """
        try:
            self._line.sendall(command.encode() + b"\n")
        except OSError as error:
            raise self._stopped() from error
        try:
            status, output = self._answer(_COMMAND_LIMIT_S)
        except MixedschedError:
            self.stop()
            raise
        if status:
            raise MixedschedError(f"the router VM could not do this: {command[:200]}", why=output.strip()[-500:])
        return output

    def check(self) -> None:
        """Raises MixedschedError if it does not run any more. The machine itself is not asked, as that could delay packets."""
        if self._process.poll() is not None:
            raise self._stopped()

    def _stopped(self) -> MixedschedError:
        return MixedschedError("the router VM has stopped", why=self.last_words())

    def last_words(self) -> str:
        """The end of QEMU's and the kernel's output, for an error."""
        words = []
        for name in MACHINE_FILES:
            with contextlib.suppress(OSError):
                words.append((self._folder / name).read_text(encoding="utf-8", errors="replace").strip()[-500:])
        return "; ".join(word for word in words if word) or "it said nothing"

    def stop(self) -> None:
        """Kill it: it holds nothing that could be lost."""
        self._line.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S)

    def _answer(self, limit_s: float) -> tuple[int, str]:
        """The status, and the output before its line "#STATUS"."""
        lines: list[str] = []
        for line in self._lines(time.monotonic() + limit_s):
            if line.startswith("#") and line[1:].isdigit():
                return int(line[1:]), "\n".join(lines)
            lines.append(line)
        raise MixedschedError(f"the router VM did not answer within {limit_s:g} s, or stopped", why=self.last_words())

    def _lines(self, deadline_s: float) -> Iterator[str]:
        """Whole lines, until the end or the deadline."""
        while True:
            while b"\n" in self._pending:
                line, _, self._pending = self._pending.partition(b"\n")
                yield line.decode(errors="replace")
            self._line.settimeout(max(0.001, deadline_s - time.monotonic()))
            try:
                piece = self._line.recv(65536)
            except OSError:  # or the time is up
                return
            if not piece:
                return
            self._pending += piece


def start_fastest(start: Callable[[str], Machine], accelerators: Sequence[tuple[str, float]]) -> Machine:
    """The first machine that gets ready.

    start: makes one with an accelerator. accelerators: each with its limit in seconds; KVM may exist and still hang a guest, as
    inside some virtual machines. Raises MixedschedError if none works.
    """
    failure: MixedschedError | None = None
    for accelerator, limit_s in accelerators:
        machine = start(accelerator)
        try:
            machine.wait_until_ready(limit_s)
        except MixedschedError as error:
            machine.stop()
            failure = error
        except BaseException:
            machine.stop()
            raise
        else:
            return machine
    assert failure is not None
    raise failure


def accelerators(note: Path) -> list[tuple[str, float]]:
    """What to try, best first, each with its limit in seconds to get ready. note: a file that remembers what worked."""
    slow = [("tcg", limit_s) for limit_s in TCG_LIMITS_S]
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK) or _read(note) == "tcg":
        return slow
    return [("kvm", KVM_LIMIT_S), *slow]


def remember(note: Path, tried: Sequence[tuple[str, float]], accelerator: str) -> None:
    """Record what worked, if there was a choice."""
    if tried[0][0] != "tcg":
        with contextlib.suppress(OSError):
            note.write_text(json.dumps({"host": _host(), "accelerator": accelerator}), encoding="utf-8")


def _read(note: Path) -> str | None:
    try:
        facts = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts.get("accelerator") if facts.get("host") == _host() else None


def _host() -> str:
    """This machine and its kernel; what worked on another proves nothing here."""
    return f"{platform.node()} {platform.release()}"


def require_taps() -> None:
    """Raises MissingPartError if this user may have no tap devices."""
    if not os.access(_TUN_DEVICE, os.R_OK | os.W_OK):
        raise _no_taps("not allowed" if _TUN_DEVICE.exists() else "there is none")


def open_tap(name: str) -> int:
    """Make a tap device; returns the descriptor of its other end. The device disappears when that is closed.

    Frames pass as they are, without the header by which a kernel would hand over bundles of packets. Raises MissingPartError if
    the system has no such devices, or does not let us.
    """
    try:
        descriptor = os.open(_TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC)
        request = struct.pack(f"{_NAME_BYTES}sH", name.encode(), _IFF_TAP | _IFF_NO_PI).ljust(_IFREQ_BYTES, b"\0")
        fcntl.ioctl(descriptor, _TUNSETIFF, request)
    except OSError as error:
        raise _no_taps(error.strerror or str(error)) from error
    return descriptor


def _no_taps(why: str) -> MissingPartError:
    return MissingPartError(
        "the router VM needs tap devices",
        why=f"{_TUN_DEVICE}: {why}",
        fix="run as root, load the kernel module tun, or use --backend relay",
    )
