"""Network namespaces need a privilege; who has none is told what is missing, in the order in which it can be mended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mixedsched.errors import MissingPartError
from mixedsched.world.emulator.kernel import privilege as ours
from mixedsched.world.emulator.kernel.privilege import Privilege, require_privilege
from tests.world.emulator.privileged import needs_namespaces, needs_user_namespaces, without_privilege

REFUSED = "unshare: unshare failed: Operation not permitted"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user who may have no user namespace, with all the tools."""
    monkeypatch.setattr(ours, "may_name_namespaces", lambda: False)
    monkeypatch.setattr(ours, "find_program", lambda name: f"/sbin/{name}")
    monkeypatch.setattr(ours, "_trial", lambda: REFUSED)
    monkeypatch.setattr(ours, "_setting", lambda _: None)


def said() -> str:
    with pytest.raises(MissingPartError) as caught:
        require_privilege()
    return str(caught.value)


@needs_namespaces
def test_root_makes_them_as_root_does() -> None:
    assert require_privilege() is Privilege.ROOT


@needs_user_namespaces
def test_everybody_else_has_a_user_namespace() -> None:
    script = "from mixedsched.world.emulator.kernel.privilege import require_privilege; print(require_privilege())"
    done = subprocess.run(
        [*without_privilege, sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "user namespace\n"


@needs_user_namespaces
def test_in_it_the_user_stays_who_it_was_with_all_it_takes_to_make_networks() -> None:
    script = "id -u; id -g; grep CapEff /proc/self/status"
    words = [*without_privilege, *Privilege.USER_NAMESPACE.owner_prefix, "sh", "-c", script]
    uid, gid, _, capabilities = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    plain = subprocess.run(["sh", "-c", "id -u; id -g"], capture_output=True, text=True, check=True).stdout.split()
    assert [uid, gid] == plain
    assert int(capabilities, 16) >> 12 & 1
    assert int(capabilities, 16) >> 21 & 1


@pytest.mark.usefixtures("refused")
def test_tools_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "find_program", lambda name: None if name in {"ip", "tc", "nsenter"} else f"/sbin/{name}")
    assert "network namespaces need ip and tc" in said()
    assert "install iproute2, or use --backend relay" in said()
    monkeypatch.setattr(ours, "find_program", lambda name: None if name == "nsenter" else f"/sbin/{name}")
    assert "network namespaces need nsenter" in said()
    assert "install util-linux" in said()


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(
    ("setting", "value", "cure"),
    [
        ("kernel.unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
        ("user.max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=10000"),
        ("user.max_net_namespaces", "0", "sudo sysctl user.max_net_namespaces=10000"),
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            "1",
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
def test_a_setting_that_forbids_is_named_with_the_command_that_allows(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, cure: str
) -> None:
    monkeypatch.setattr(ours, "_setting", lambda name: value if name == setting else None)
    assert f"{setting} is {value}" in said()
    assert cure in said()
    assert "--backend relay, which needs none" in said()


@pytest.mark.usefixtures("refused")
def test_settings_that_allow_are_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_setting", lambda name: "0" if "apparmor" in name else "1")
    assert REFUSED in said()
    assert "in a container" in said()


@pytest.mark.usefixtures("refused")
def test_an_old_unshare_is_told_from_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_trial", lambda: "unshare: unrecognized option '--keep-caps'")
    assert "install util-linux 2.36 or newer" in said()


@pytest.mark.usefixtures("refused")
def test_only_who_was_refused_is_told_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a system that forbids it to others, or a setting that a profile of AppArmor overrides."""
    monkeypatch.setattr(ours, "_trial", lambda: None)
    monkeypatch.setattr(ours, "_setting", lambda _: "0")
    assert require_privilege() is Privilege.USER_NAMESPACE


@needs_user_namespaces
def test_a_system_that_really_forbids_them_is_understood() -> None:
    """In a user namespace that may have no further ones."""
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "
        f"{sys.executable} -m mixedsched lab run --backend netns --link fiber -- /bin/true"
    )
    words = [*without_privilege, "unshare", "--user", "--map-root-user", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "user.max_user_namespaces is 0" in done.stderr
    assert "sudo sysctl user.max_user_namespaces=10000" in done.stderr
