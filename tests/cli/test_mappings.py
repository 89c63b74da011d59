"""`mappings`: what people and machines are told of overrides."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import run

HEAD = 'format = "mixedsched.mapping/1"\nname = "mine"\ndescription = "d"\nsource = "s"\nsignals = "as sent"\n'


def mappings(home: Path, *arguments: str) -> str:
    ended = run("mappings", *arguments, env={"MIXEDSCHED_HOME": str(home)})
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout


def test_overrides_are_shown_the_first_of_them_to_people_and_all_to_machines(tmp_path: Path) -> None:
    items = [f'[[override]]\nmatch = "/{number}\\u001b*"\npriority = "{number},N"\nwhy = "w"\n' for number in range(7)]
    (tmp_path / "mapping").mkdir()
    (tmp_path / "mapping" / "mine.toml").write_text(HEAD + "".join(items))
    told = mappings(tmp_path)
    assert r"/0\x1b* 0N" in told
    assert "and 2 more" in told
    assert "\x1b" not in told
    (entry,) = json.loads(mappings(tmp_path, "--json"))
    assert entry["overrides"][6] == {"match": "/6\x1b*", "urgency": 6, "incremental": False, "why": "w"}
    assert len(entry["overrides"]) == 7
