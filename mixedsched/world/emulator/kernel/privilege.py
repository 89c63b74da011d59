"""The privilege with which network namespaces are made: root's, or else that of a user namespace, open to every user."""

import os
import re
from enum import StrEnum
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world.system.programs import find_program, run_program, with_path

_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
NAMES_FOLDER = Path("/run/netns")  # where iproute2 keeps namespaces by their names
_TRIAL_LIMIT_S = 10.0


class Privilege(StrEnum):
    """How the owner of network namespaces gets its rights."""

    ROOT = "root"  # or CAP_NET_ADMIN and CAP_SYS_ADMIN, and /run to write in
    USER_NAMESPACE = "user namespace"

    @property
    def owner_prefix(self) -> tuple[str, ...]:
        """Words before the command that starts the owner.

        In its user namespace it is still the same user, with all capabilities over that namespace and the networks made
        there. It has a network of its own, so that it can return to that.
        """
        if self is Privilege.ROOT:
            return ()
        return (*with_path(["unshare"]), "--user", "--map-current-user", "--keep-caps", "--net")


def require_privilege() -> Privilege:
    """Root's if we have it. Raises MissingPartError, with what would help, if network namespaces cannot be made here."""
    _require_tools("iproute2", "ip", "tc")
    if may_name_namespaces():
        return Privilege.ROOT
    _require_tools("util-linux", "unshare", "nsenter")
    complaint = _trial()
    if complaint is None:
        return Privilege.USER_NAMESPACE
    why, fix = _obstacle(complaint)
    raise MissingPartError(
        "network namespaces need root (CAP_NET_ADMIN and CAP_SYS_ADMIN) or a user namespace, and there is neither",
        why=why,
        fix=f"{fix}, or use --backend relay, which needs none",
    )


def may_name_namespaces() -> bool:
    """Whether this process may make namespaces as root does, with names that `ip netns` knows."""
    folder = NAMES_FOLDER if NAMES_FOLDER.exists() else NAMES_FOLDER.parent
    return _has_capabilities() and os.access(folder, os.W_OK) and find_program("ip") is not None


def _has_capabilities() -> bool:
    status = Path("/proc/self/status")
    if not status.exists():
        return False
    effective = int(re.findall(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(encoding="utf-8"), re.MULTILINE)[0], 16)
    return all(effective >> capability & 1 for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def _require_tools(package: str, *tools: str) -> None:
    missing = [tool for tool in tools if find_program(tool) is None]
    if missing:
        raise MissingPartError(
            f"network namespaces need {' and '.join(missing)}", fix=f"install {package}, or use --backend relay"
        )


def _trial() -> str | None:
    """Try in a user namespace what will be needed; returns the complaint, None if it went well."""
    command = [*Privilege.USER_NAMESPACE.owner_prefix, *with_path(["ip", "link", "set", "dev", "lo", "up"])]
    return run_program(command, _TRIAL_LIMIT_S).complaint or None


def _obstacle(complaint: str) -> tuple[str, str]:
    """Why users may not have user namespaces, according to a complaint and this system's settings, and how to allow them."""
    if not Path("/proc/self/ns/user").exists():
        return "this kernel has no user namespaces", "run as root"
    for name, forbidding, needed in (
        ("kernel.unprivileged_userns_clone", "0", "1"),  # Debian's kernels
        ("user.max_user_namespaces", "0", "10000"),
        ("user.max_net_namespaces", "0", "10000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu's
    ):
        if _setting(name) == forbidding:
            why = f"this system forbids user namespaces to ordinary users: {name} is {forbidding}"
            return why, f"run: sudo sysctl {name}={needed}, or run as root"
    if os.geteuid() == 0 and "uid_map" in complaint:
        return (
            "root without CAP_SETFCAP may have no user namespace",
            "run as another user, or as root with all its capabilities",
        )
    if "unrecognized option" in complaint:
        return "unshare is too old here", "install util-linux 2.36 or newer, or run as root"
    return (
        complaint,
        "run as root; in a container, let it have user namespaces (docker run --security-opt seccomp=unconfined)",
    )


def _setting(name: str) -> str | None:
    """A sysctl; None if there is none of that name."""
    try:
        return Path("/proc/sys", *name.split(".")).read_text(encoding="ascii").strip()
    except OSError:
        return None
