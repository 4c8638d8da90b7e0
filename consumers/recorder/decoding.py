"""Step 1 of the write path: records become commands, or dead letters with their reason. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from afterturn.schemas.codec import Attributes, decode_command
from afterturn.schemas.commands import Collect, Command
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import command_key, content_digest, memory_id, rev_of
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.partitioner import partition_for
from afterturn.streams.records import Record


@dataclass(frozen=True, slots=True)
class Arrival:
    """A command that arrived on the turn log, and what is needed to fold it.

    Attributes:
        rev: its position, as one number over epochs.
        at: the record's time, the only clock of the write path.
        key: its idempotency key; ``receipt`` is the id made of it.
        digest: differs where the content differs.
        size: bytes of its body.
    """

    record: Record
    attributes: Attributes
    command: Command
    rev: int
    at: datetime
    key: list[object]
    receipt: str
    digest: str

    @property
    def tenant(self) -> str:
        """The tenant whose order it belongs to; a collection belongs to none."""
        return "" if isinstance(self.command, Collect) else self.command.tenant

    @property
    def size(self) -> int:
        """Bytes of the command's body."""
        return len(self.record.value or b"")

    @property
    def original_rev(self) -> int | None:
        """Where it stood first, as a rev, if it replays a dead letter."""
        return self.attributes.original_rev


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that can never be applied: what its dead letter says, and the command if it could be read at all."""

    record: Record
    rev: int
    at: datetime
    fault: ContractError
    arrival: Arrival | None = None


def command_of(item: Arrival | Rejected) -> Arrival | None:
    """The command of a record, where it could be read as one, applied or not."""
    return item.arrival if isinstance(item, Rejected) else item


def decode(record: Record, fold: FoldSettings) -> Arrival | Rejected:
    """What a record of the turn log is, under the log's partitioner and partition count."""
    rev = rev_of(fold.epoch, record.offset)
    at = record.appended_at
    try:
        attributes, command = decode_command(record.headers, record.value, unknown="ignore")
    except ContractError as fault:
        return Rejected(record, rev, at, fault)
    key = command_key(command, attributes.source, attributes.id)
    tenant = "" if isinstance(command, Collect) else command.tenant
    arrival = Arrival(record, attributes, command, rev, at, key, memory_id(tenant, key, 0), content_digest(command))
    fault_ = misrouted(record, command, fold)
    return Rejected(record, rev, at, fault_, arrival) if fault_ else arrival


def misrouted(record: Record, command: Command, fold: FoldSettings) -> ContractError | None:
    """Why a command stands where its tenant's order doesn't hold, if it does."""
    if isinstance(command, Collect):
        if command.partition != record.partition:
            return ContractError("misrouted", "partition", "names another partition than the one it stands in")
        if command.below > record.offset:
            return ContractError("invalid", "below", "names offsets beyond its own: they can't have left the log")
        return None
    key = command.tenant.encode()
    if record.key != key:
        return ContractError("misrouted", "key", "the record's key is not its tenant")
    home = partition_for(key, fold.partitions, fold.partitioner)
    if home != record.partition:
        return ContractError(
            "misrouted",
            "key",
            f"stands in partition {record.partition}, but {fold.partitioner} over {fold.partitions} partitions gives "
            f"{home}; set the publisher's partitioner (docs/contracts)",
        )
    return None
