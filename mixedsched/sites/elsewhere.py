"""Names of sites that are elsewhere: an address on the web, or a HAR that a browser has saved."""

from pathlib import Path

_ARCHIVES = (".har", ".har.gz")


def is_address(name: str) -> bool:
    """Whether it is the address of a page: https://example.org."""
    return name.lower().startswith(("https://", "http://"))


def is_archive(name: str) -> bool:
    """Whether it is a HAR, which may be compressed as a whole. Whether there is such a file is another question."""
    return not is_address(name) and name.lower().endswith(_ARCHIVES) and not _is_folder(name)


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # it is too long for a name
        return False


def is_elsewhere(name: str) -> bool:
    return is_address(name) or is_archive(name)
