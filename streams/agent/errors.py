"""What an agent's memory refuses."""

from __future__ import annotations

from afterturn.streams.errors import Stop

__all__ = ("MemoryRefused",)


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
