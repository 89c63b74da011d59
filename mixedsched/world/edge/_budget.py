"""How much the edge holds of response bodies, all together: in memory, or in files."""

from collections.abc import Callable


class Budget:
    """Counts bytes that are held. While they are too many, readers wait; each may read on when there is room again, in the
    order in which they began to wait."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._waiting: dict[Callable[[], None], None] = {}

    @property
    def is_spent(self) -> bool:
        return self.held_bytes >= self.limit_bytes

    def add(self, size_bytes: int) -> None:
        self.held_bytes += size_bytes

    def wait(self, resume: Callable[[], None]) -> None:
        """Have a reader called when there is room."""
        self._waiting[resume] = None

    def forget(self, resume: Callable[[], None]) -> None:
        self._waiting.pop(resume, None)

    def release(self, size_bytes: int) -> None:
        self.held_bytes -= size_bytes
        if self._waiting and not self.is_spent:
            resume = next(iter(self._waiting))
            del self._waiting[resume]
            resume()
