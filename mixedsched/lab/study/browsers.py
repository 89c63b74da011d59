"""Which browsers may share a measured study.

A study takes days, in which distributions update Chromium. The last part of its version counts security updates of the same
branch; loads of two such browsers may share a study, and the study names both. Any other difference is refused.
"""

from collections.abc import Mapping

CHROMIUM = "chromium"
_AND = ", "


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What keeps loads out of a study, as "NAME BEFORE -> NOW"; empty if nothing does.

    before: versions by program, as `together` made them. now: of a browser that is about to load pages.
    """
    return [
        f"{name} {before.get(name)} -> {version}"
        for name, version in now.items()
        if before.get(name) != version and not (name == CHROMIUM and _branch(before.get(name)) == _branch(version))
    ]


def together(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Versions of a study with loads of `before` that gets some of `now` as well. There must be no differences."""
    patches = [*before.get(CHROMIUM, "").split(_AND), *now.get(CHROMIUM, "").split(_AND)]
    named = _AND.join(dict.fromkeys(filter(None, patches)))
    return {**now, **before} | ({CHROMIUM: named} if named else {})


def _branch(version: str | None) -> str:
    """Of "156.0.8078.79, 156.0.8078.108": "156.0.8078"; of anything shorter, all of it."""
    first = (version or "").split(_AND)[0]
    return first.rpartition(".")[0] if first.count(".") == 3 else first
