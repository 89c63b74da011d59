"""The number of connections that a synthesised page takes: here every request is known, also those that scripts make in frames.

The rules are those of `sites/analysis/connections.py`: requests without credentials have a connection of their own, and so
have frames of other sites. All hosts of a synthesised page are sites of their own.
"""

from __future__ import annotations

from mixedsched.model.request import Kind
from mixedsched.sites.synth._planned import Planned, SynthesisPlan

_ANONYMOUS_ELSEWHERE = frozenset("fFyeE")  # fetched by scripts, or preloaded as they would


def connection_count(plan: SynthesisPlan, main_id: str) -> int:
    """Distinct pairs of being asked for in a frame of another site, and without credentials."""
    own_host = plan.planned[main_id].item.host
    sessions = set()
    for one in plan.planned.values():
        if one.way is not None and one.way.is_guess:
            continue  # browsers of the lab do not guess
        is_document = one.item.kind is Kind.DOCUMENT
        frame_host = one.item.host if is_document else plan.planned[one.realm].item.host
        sessions.add((frame_host != own_host, _is_anonymous(one, frame_host)))
    return len(sessions)


def _is_anonymous(one: Planned, frame_host: int) -> bool:
    item = one.item
    if one.way is not None and one.way.call == "w":
        return True
    by_call = one.way is not None and one.way.call in _ANONYMOUS_ELSEWHERE
    return item.host != frame_host and (item.kind is Kind.FONT or by_call)
