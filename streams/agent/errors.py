"""What an agent's memory refuses."""

from __future__ import annotations

from afterturn.streams.errors import Stop

__all__ = ("MemoryRefused", "NotOpen")


class NotOpen(RuntimeError):  # noqa: N818 - what it is
    """A memory is used before it was opened, or after it was closed."""

    def __init__(self) -> None:
        super().__init__("This memory is not open: use it inside of its with block, or call start() first.")


class MemoryRefused(Stop):
    """Memory says no, and would again: credentials, rights, a missing scope, a wrong question or configuration.

    It is raised before any call of a model. ``status`` is HTTP's; ``place`` the field at fault, where there is one.
    """

    def __init__(self, status: int, place: str, problem: str) -> None:
        where = f"{place}: " if place else ""
        super().__init__(f"Memory refuses ({status}): {where}{problem}")
        self.status = status
        self.place = place
        self.problem = problem
