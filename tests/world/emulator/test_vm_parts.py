"""What the router VM is made of, part by part; none of this starts a machine."""

from __future__ import annotations

import asyncio
import gzip
import lzma
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import ExitCode, MissingPartError, MixedschedError, UsageError
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, Profile, Trace
from mixedsched.world.emulator.kernel.shaping import shape
from mixedsched.world.emulator.vm import machine
from mixedsched.world.emulator.vm._initramfs import ModuleTree, depends, initramfs
from mixedsched.world.emulator.vm._router import device_of, join_commands, parse_stats, shape_command, stats_command
from mixedsched.world.emulator.vm._transit import (
    MAX_CORRECTION_US,
    Transit,
    corrected,
    measure,
    require_true_clock,
    transit_notes,
)
from mixedsched.world.emulator.vm.backend import vm_backend
from mixedsched.world.emulator.vm.image import Image, kernel_packages, kernel_versions, ready_image
from mixedsched.world.emulator.vm.machine import KVM_DEVICE, accelerators, qemu_words, remember, require_qemu
from mixedsched.world.system.programs import find_program

SLOW = Direction(rate_bps=2_000_000, delay_us=25_000, queue_bytes=26_215, loss=GilbertElliott(0.004, 0.2))
NETWORK = Profile("test", "", "", down=SLOW, up=Direction(delay_us=25_000))
IMAGE = Image(Path("/image/vmlinuz"), Path("/image/initramfs.gz"), "6.1.0-56-cloud-amd64")


def module(path: Path, needs: str = "") -> None:
    """A file that says of itself what a kernel module says."""
    content = b"\x7fELF\0license=GPL\0depends=" + needs.encode() + b"\0retpoline=Y\0"
    pack = {".xz": lzma.compress, ".gz": gzip.compress}.get(path.suffix, bytes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack(content))


# The image


def read_newc(archive: bytes) -> dict[str, tuple[bytes, int]]:
    """Path -> content and mode, read as the kernel reads it: cpio(5), "New ASCII Format"."""
    data, found, at = gzip.decompress(archive), {}, 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name = data[at + 110 : at + 110 + fields[11] - 1].decode()
        body = at + 110 + fields[11] + -(110 + fields[11]) % 4
        if name == "TRAILER!!!":
            return found
        found[name] = data[body : body + fields[6]], fields[1]
        at = body + fields[6] + -fields[6] % 4


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,9}/[a-z]{1,9}/[A-Z]{1,9}", fullmatch=True),
        st.tuples(st.binary(max_size=50), st.sampled_from([0o644, 0o755])),
        max_size=5,
    )
)
def test_an_archive_holds_what_was_put_in_and_the_folders_before_it(files: dict[str, tuple[bytes, int]]) -> None:
    entries = read_newc(initramfs(files))
    assert {path: entry for path, entry in entries.items() if path in files} == {
        path: (content, 0o100000 | mode) for path, (content, mode) in files.items()
    }
    names = list(entries)
    for name in names:
        assert "/" not in name or names.index(name.rpartition("/")[0]) < names.index(name)


def test_the_same_files_give_the_same_archive_in_whatever_order() -> None:
    files = {"init": (b"#!/bin/sh\n", 0o755), "bin/tc": (b"tool", 0o755)}
    assert initramfs(files) == initramfs(dict(reversed(files.items())))


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not installed")
def test_cpio_reads_the_archive_too() -> None:
    archive = gzip.decompress(initramfs({"init": (b"#!/bin/sh\n", 0o755), "bin/tc": (b"tool", 0o755)}))
    listed = subprocess.run(["cpio", "--list", "--quiet"], input=archive, capture_output=True, check=True).stdout
    assert listed.decode().split() == ["bin", "bin/tc", "init"]


def test_modules_come_after_what_they_depend_on_and_without_what_is_built_in(tmp_path: Path) -> None:
    module(tmp_path / "kernel/net/bridge.ko.xz", "stp,llc")
    module(tmp_path / "kernel/net/stp.ko.gz", "llc")
    module(tmp_path / "kernel/net/llc.ko")
    module(tmp_path / "kernel/virtio-net.ko", "virtio")
    (tmp_path / "modules.builtin").write_text("kernel/drivers/virtio/virtio.ko\n")
    order = ModuleTree(tmp_path).load_order(["bridge", "virtio_net", "llc"])
    assert list(order) == ["llc", "stp", "bridge", "virtio_net"]
    assert all(content.startswith(b"\x7fELF") for content in order.values())


def test_a_kernel_without_a_module_that_is_needed_is_refused_by_its_name(tmp_path: Path) -> None:
    module(tmp_path / "sch_netem.ko", "crc-thing")
    with pytest.raises(MixedschedError, match="no module crc_thing"):
        ModuleTree(tmp_path).load_order(["sch_netem"])


def test_a_module_that_depends_on_nothing() -> None:
    assert depends(b"\0depends=\0") == depends(b"nothing at all") == []


def test_the_kernel_is_found_in_what_apt_says() -> None:
    debian = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n"
    ubuntu = "linux-image-virtual\n  Depends: linux-image-6.8.0-48-generic\n  Recommends: thermald\n"
    assert kernel_versions(debian) == ["6.1.0-56-cloud-amd64"]
    assert kernel_versions(ubuntu) == ["6.8.0-48-generic"]
    assert kernel_versions("") == []


@pytest.mark.skipif(find_program("ip") is None, reason="iproute2 is not installed")
def test_what_a_killed_build_has_unpacked_goes_with_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    for name in ("linux-image-1.deb", "busybox-static_1.deb", "complete"):
        (tmp_path / "packages" / name).write_text("no package")
    (tmp_path / "unpacked-k1ll3d" / "boot").mkdir(parents=True)
    with pytest.raises(MixedschedError, match="the router VM cannot be built"):
        ready_image(lambda _: None, folder=tmp_path)
    assert not list(tmp_path.glob("unpacked-*"))


def test_without_apt_it_says_what_else_can_be_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPartError, match=r"no apt-get .* --backend relay") as caught:
        kernel_packages()
    assert caught.value.exit_code == ExitCode.MISSING_PART


# The machine


def test_without_qemu_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPartError, match=r"apt-get install .*qemu-system-x86") as caught:
        require_qemu()
    assert caught.value.exit_code == ExitCode.MISSING_PART


def test_a_trace_is_refused_before_anything_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    traced = Profile("t", "", "", down=Direction(trace=Trace("lte", (1, 2))), up=Direction())

    async def enter() -> None:
        async with vm_backend(traced):
            pass

    with pytest.raises(UsageError, match=r"trace 'lte'.*--backend relay"):
        asyncio.run(enter())


def test_the_machine_has_two_plain_ports_and_no_way_out() -> None:
    words = qemu_words("qemu", IMAGE, "tcg", (5, 6), 7, Path("/run/console.log"))
    assert [word for word in words if word.startswith("tap,")] == [
        "tap,id=port0,fd=5,vhost=off",
        "tap,id=port1,fd=6,vhost=off",
    ]
    assert all("gso=off" in word for word in words if word.startswith("virtio-net"))
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} <= set(words)
    assert not any(word.startswith(("user", "socket,id=net", "bridge")) for word in words)


def test_without_kvm_time_comes_from_a_clock_that_needs_no_calibration() -> None:
    def kernel_words(accelerator: str) -> list[str]:
        words = qemu_words("qemu", IMAGE, accelerator, (5, 6), 7, Path("/run/console.log"))
        return words[words.index("-append") + 1].split()

    assert {"clocksource=hpet", "nolapic_timer", "no_timer_check"} <= set(kernel_words("tcg"))
    assert "clocksource=hpet" not in kernel_words("kvm")


@pytest.mark.skipif(not KVM_DEVICE.exists(), reason="there is no /dev/kvm")
def test_kvm_is_tried_until_it_has_failed_once_here(tmp_path: Path) -> None:
    note = tmp_path / "accelerator.json"
    first = accelerators(note)
    assert [name for name, _ in first] == ["kvm", "tcg", "tcg"]
    remember(note, first, "tcg")
    assert [name for name, _ in accelerators(note)] == ["tcg", "tcg"]
    remember(note, first, "kvm")
    assert accelerators(note) == first
    note.write_text(note.read_text().replace('"host": "', '"host": "another '))
    assert accelerators(note) == first


def test_a_late_answer_is_never_taken_for_that_to_the_next_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "_COMMAND_LIMIT_S", 0.01)
    ours, theirs = socket.socketpair()
    with theirs, subprocess.Popen(["sleep", "60"]) as process:
        subject = machine.Machine(process, ours, "tcg", tmp_path)
        theirs.sendall(b"first\n#0\n")
        assert subject.run("one") == "first"
        with pytest.raises(MixedschedError, match="did not answer"):
            subject.run("two")
        with pytest.raises(MixedschedError, match="has stopped"):
            subject.run("three")
        assert process.wait(10) == -signal.SIGKILL


# The router


def test_a_machine_that_has_ended_is_found_out_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "qemu.log").write_text("cannot allocate memory\n")
    ours, theirs = socket.socketpair()
    with theirs, subprocess.Popen(["sleep", "60"]) as process:
        subject = machine.Machine(process, ours, "tcg", tmp_path)
        subject.check()
        process.kill()
        process.wait()
        with pytest.raises(MixedschedError, match="the router VM has stopped: cannot allocate memory"):
            subject.check()
        subject.stop()


def test_each_function_has_a_bridge_of_its_own() -> None:
    _, join, forwarding = join_commands()
    bridges = [line.split("name ")[1].split()[0] for line in join.split("'") if "type bridge" in line]
    assert bridges == ["tbf-down", "netem-down", "netem-up", "tbf-up"]
    assert "= 8 ]" in forwarding
    for hop in shape(NETWORK).hops:
        assert len(device_of(hop)) <= 15
        assert f"dev {device_of(hop)} " in join


def test_the_router_is_told_the_very_words_that_namespaces_are() -> None:
    shaping = shape(NETWORK)
    command = shape_command(shaping.hops)
    for hop in shaping.hops:
        for line in hop.tc_lines(device_of(hop)):
            assert f"'{line}'" in command
    assert "/bin/tc qdisc delete dev tbf-down-c root" in command
    assert "\n" not in command


def test_statistics_are_read_hop_by_hop() -> None:
    hops = shape(NETWORK).hops
    assert stats_command(hops).count("/bin/tc -s -j qdisc show dev ") == 4
    printed = "".join(f'[{{"kind":"pfifo","packets":{n}}}]\nend of qdisc\n' for n in range(4))
    stats = parse_stats(hops, printed)
    assert [stats[name][0]["packets"] for name in ("tbf-down", "netem-down", "netem-up", "tbf-up")] == [0, 1, 2, 3]


# How long the router itself takes


def test_netem_is_told_a_delay_that_is_shorter_by_what_the_router_takes() -> None:
    told = corrected(NETWORK, Transit(rare_us=500, dense_us=100), Transit(rare_us=200, dense_us=0))
    assert (told.down.delay_us, told.up.delay_us) == (24_600, 24_850)
    assert told.down.rate_bps == SLOW.rate_bps


@given(st.integers(-10_000, 1_000_000), st.integers(-10_000, 1_000_000), st.integers(0, 5000))
def test_a_correction_is_small_and_never_makes_a_delay_negative(rare_us: int, dense_us: int, delay_us: int) -> None:
    transit = Transit(rare_us, dense_us)
    assert 0 <= transit.correction_us <= MAX_CORRECTION_US
    told = corrected(Profile("p", "", "", Direction(delay_us=delay_us), Direction()), transit, transit)
    assert max(0, delay_us - MAX_CORRECTION_US) <= told.down.delay_us <= delay_us
    assert told.up.delay_us == 0


def test_a_clock_that_runs_too_fast_is_found_out() -> None:
    """Here packets are not held at all, as if the router's three milliseconds were over at once."""
    with socket.socket(type=socket.SOCK_DGRAM) as receiver, socket.socket(type=socket.SOCK_DGRAM) as sender:
        receiver.bind(("127.0.0.1", 0))
        sender.connect(receiver.getsockname())
        transit = measure(sender, receiver)
    assert transit.rare_us < -1000
    with pytest.raises(MixedschedError, match="clock runs too fast"):
        require_true_clock({"down": Transit(100, 100), "up": transit})


def test_a_router_that_passes_nothing_on_is_found_out() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as receiver,
        socket.socket(type=socket.SOCK_DGRAM) as elsewhere,
        socket.socket(type=socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        elsewhere.bind(("127.0.0.1", 0))
        sender.connect(elsewhere.getsockname())
        with pytest.raises(MixedschedError, match="passes no packets on"):
            measure(sender, receiver)


def test_the_report_says_what_was_corrected_and_that_the_machine_was_busy() -> None:
    quiet = {"down": Transit(500, 100), "up": Transit(500, 100)}
    no_delay = Profile("p", "", "", down=SLOW, up=Direction(codel=CoDel()))
    assert transit_notes(no_delay, quiet) == (
        "down: the router takes about 0.4 ms to pass a packet on; netem's delay is shorter by as much",
        "up: the router takes about 0.4 ms to pass a packet on; packets are delayed by as much",
    )
    assert any("busy" in note for note in transit_notes(NETWORK, {"down": Transit(9000, 100)}))
