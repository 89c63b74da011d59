"""Files that are written whole or not at all."""

from pathlib import Path


def write_whole(file: Path, data: str | bytes) -> None:
    """Write a file, as UTF-8 if it is text. Whoever reads it finds what was there or all that is new, even if this process is
    killed meanwhile; two processes must not write it at once. Raises OSError.
    """
    aside = file.with_name(f"{file.name}.new")
    aside.write_bytes(data.encode() if isinstance(data, str) else data)
    aside.replace(file)
