"""`sequential`: responses one after another in the order their streams were created."""

from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._queue import Fifo
from mixedsched.model.scheme import Scheme


class Sequential(Siblings[None]):
    """The ready stream with the lowest ID; client streams are created in order of ID (RFC 9000 section 2.1)."""

    def __init__(self) -> None:
        super().__init__(Fifo(), lambda _: 1)

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        """Sending changes no order here."""


SCHEMES = (
    Scheme(
        name="sequential",
        description="One response after another, in the order of their requests; an earlier one always wins. "
        "What aioquic did before 1.0, and the standard delivery that the mixed scheme was compared with.",
        source="Gupta & Bartos, arXiv 2404.17439 (standard delivery); aioquic 0.9.25 and before; fifo of Marx et al. 2019",
        needs="nothing",
        create=lambda _: Sequential(),
        place=lambda _request, _mapping, _values: None,
    ),
)
