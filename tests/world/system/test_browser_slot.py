import asyncio
import os
import stat
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.system.browser_slot import browser_slot


def test_one_holds_the_slot_while_the_other_waits_and_says_so(tmp_path: Path) -> None:
    told: list[str] = []

    async def use(name: str) -> None:
        async with browser_slot(lambda _: told.append(f"{name} waits"), tmp_path):
            told.append(f"{name} begins")
            await asyncio.sleep(0)  # here the other one asks
            told.append(f"{name} ends")

    async def both() -> None:
        await asyncio.gather(use("first"), use("second"))

    asyncio.run(both())
    assert told == ["first begins", "second waits", "first ends", "second begins", "second ends"]


def test_other_users_can_take_turns_whatever_the_umask_of_the_first_one(tmp_path: Path) -> None:
    async def use() -> None:
        async with browser_slot(lambda _: None, tmp_path):
            pass

    umask = os.umask(0o077)
    try:
        asyncio.run(use())
    finally:
        os.umask(umask)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_no_file_is_made_where_a_link_in_its_place_leads(tmp_path: Path) -> None:
    async def use() -> None:
        async with browser_slot(lambda _: None, tmp_path):
            pass

    (tmp_path / "mixedsched-browser.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MixedschedError, match="cannot be opened"):
        asyncio.run(use())
    assert not (tmp_path / "elsewhere").exists()


def test_other_slots_are_free(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    async def both() -> None:
        async with browser_slot(lambda _: None, tmp_path), browser_slot(lambda _: None, tmp_path / "other"):
            pass

    asyncio.run(asyncio.wait_for(both(), 30))
