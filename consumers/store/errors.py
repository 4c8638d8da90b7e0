"""What the store's calls raise, by what to do about it. Translated from Qdrant's client in ``client``, nowhere else."""

from __future__ import annotations

from afterturn.streams.errors import Refused, Retry, Stop

INIT = "afterturn init"


class StoreAway(Retry):
    """Qdrant did not answer, not in time, or says that it can't now.

    A write may have been applied, or may still be: read again, never resend. ``retry_after`` is in seconds, where the
    server gave one.
    """

    def __init__(self, operation: str, detail_type: str, *, retry_after: int | None = None) -> None:
        super().__init__(f"Qdrant is not available: {operation} failed ({detail_type}).", dependency="qdrant")
        self.operation = operation
        self.detail_type = detail_type
        self.retry_after = retry_after


class StoreRefused(Refused):
    """Qdrant is there and refuses this call for what it carries.

    The same call will be refused again: whoever sends a batch finds the command at fault by sending each alone.
    """

    def __init__(self, operation: str, status: int, why: str) -> None:
        super().__init__(f"Qdrant refused {operation} with status {status}: {why}", dependency="qdrant")
        self.operation = operation
        self.status = status
        self.why = why


class BadVector(StoreRefused):
    """A vector holds what is no finite 32-bit number; nothing was sent."""

    def __init__(self, id: str, name: str) -> None:  # noqa: A002 - a point's id
        super().__init__("a write", 0, f"the vector {name} of point {id} is not finite; the embedder made it")
        self.id = id
        self.name = name


class WrongStore(Stop):
    """The store isn't what the settings say, or doesn't let us in; trying again changes nothing."""


class NoCollection(WrongStore):
    """Nothing goes by the alias."""

    def __init__(self, alias: str) -> None:
        super().__init__(f"There is no collection {alias} in this store.", command_that_helps=INIT)
        self.alias = alias


class WrongDimension(WrongStore):
    """Vectors of one size, a collection of another."""

    def __init__(self, collection: str, ours: int, theirs: int) -> None:
        super().__init__(
            f"The embedder makes vectors of {ours} dimensions, the collection {collection} holds {theirs}: set the "
            f"embedder back, or make a collection of its own for the new one under another QDRANT_ALIAS.",
            command_that_helps=INIT,
        )
        self.collection = collection
        self.ours = ours
        self.theirs = theirs


class OldServer(WrongStore):
    """The server decides conditional writes after its log: replayed, they bring removed memories back."""

    def __init__(self, found: str, needed: str) -> None:
        super().__init__(f"The store is Qdrant {found}; Afterturn needs {needed} or later: upgrade the server.")
        self.found = found
        self.needed = needed
