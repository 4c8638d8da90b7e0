"""What can go wrong, by what to do about it.

    Exception
    └── AfterturnError                  nobody catches it but a process's outermost edge
        ├── Recoverable                 what handlers catch, by one of its three branches
        │   ├── Retry                   a dependency is away: back off, keep polling, try again
        │   │   ├── BrokerUnavailable   Kafka did not answer (in time)
        │   │   ├── Refused             a dependency is there and refuses this very call: try each record alone
        │   │   └── QuotaExceeded       a tenant is over its quota: the error says when to try again
        │   ├── DeadLetter              this record can never succeed: reason and error type
        │   │   └── RecordTooLarge      it is larger than the topic takes
        │   └── Reopen                  the lane closes and opens anew; nothing can be said before that
        │       ├── Fenced              another producer has our transactional id, or the transaction timed out
        │       ├── CommitUnknown       a commit was on its way: only the committed offset tells
        │       ├── TransactionFailed   the transaction was not committed
        │       ├── Buried              a record became a dead letter at run time: heal over it
        │       ├── ForeignWrite        another owner's write is landing in the store
        │       └── Unusable            the object failed or was closed before
        └── Stop                        the process ends: its configuration, or the log, is not what it was made for
            ├── BadSettings             a setting is missing or wrong
            ├── UnknownTopic            a topic (or a partition of it) is not there
            ├── NotAuthorised           the credentials do not allow it
            ├── LogCut                  the log no longer holds the position
            └── BrokerRefused           the broker refuses, and would refuse again

`Stop` is no `Recoverable`: a handler that retries, dead-letters or reopens cannot catch it by accident, since it
names the branch it deals with. No code between a record and the process's edge may name `Stop`, `AfterturnError`,
`Exception` or `BaseException` in an `except` that does not raise again; a test reads the source for that.

Errors carry fields. Neither fields nor texts hold contents, keys or secrets: both end in logs and in headers.
"""

from collections.abc import Callable

__all__ = (
    "AfterturnError",
    "BadSettings",
    "BrokerRefused",
    "BrokerUnavailable",
    "Buried",
    "CommitUnknown",
    "DeadLetter",
    "Fenced",
    "ForeignWrite",
    "LogCut",
    "NotAuthorised",
    "QuotaExceeded",
    "RecordTooLarge",
    "Recoverable",
    "Refused",
    "Reopen",
    "Retry",
    "Stop",
    "TransactionFailed",
    "UnknownTopic",
    "Unusable",
)


class AfterturnError(Exception):
    """The root: an error of Afterturn, whatever is to be done about it. It keeps its fields across processes."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[AfterturnError], args: tuple[object, ...], fields: dict[str, object]) -> AfterturnError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class Recoverable(AfterturnError):  # noqa: N818 - the names say what to do
    """The process goes on, in the way the branch says."""


class Retry(Recoverable):
    """A dependency is away. Nothing is known to be wrong with the record: back off and try again."""

    def __init__(self, text: str, *, dependency: str | None = None) -> None:
        super().__init__(text)
        self.dependency = dependency


class Refused(Retry):
    """A dependency is there and refuses this very call for what it carries: sent again it is refused again.

    Whoever sent a batch finds the record at fault by sending each alone.
    """


class DeadLetter(Recoverable):
    """This record can never succeed.

    `reason` is a stable word (undecodable, unsupported, misrouted …); `detail_type` is an error class's simple name.
    """

    def __init__(self, reason: str, detail_type: str, text: str | None = None) -> None:
        super().__init__(text or f"this record can never succeed: {reason} ({detail_type})")
        self.reason = reason
        self.detail_type = detail_type


class Reopen(Recoverable):
    """The lane cannot say what has happened, or no longer owns its partition: close it, open it anew."""


class Stop(AfterturnError):  # noqa: N818 - the names say what to do
    """The process must end. `command_that_helps` is a command line for the operator, where there is one."""

    def __init__(self, text: str, *, command_that_helps: str | None = None) -> None:
        super().__init__(f"{text} This helps: {command_that_helps}" if command_that_helps else text)
        self.command_that_helps = command_that_helps


class BrokerUnavailable(Retry):
    """Kafka did not answer. What was being sent may arrive nevertheless: send it again with the same ids."""

    def __init__(self, operation: str, detail_type: str) -> None:
        super().__init__(f"Kafka is not available: {operation} failed ({detail_type}).", dependency="kafka")
        self.operation = operation
        self.detail_type = detail_type


class RecordTooLarge(DeadLetter):
    """A record is larger than its topic takes; nothing of it was sent. `size`, `limit`: bytes, None if unknown."""

    def __init__(self, topic: str, size: int | None, limit: int | None) -> None:
        what = "A record" if size is None else f"A record of {size} bytes"
        most = "" if limit is None else f", which takes {limit}"
        super().__init__("too_large", type(self).__name__, f"{what} is too large for the topic {topic}{most}.")
        self.topic = topic
        self.size = size
        self.limit = limit


class QuotaExceeded(Retry):
    """A tenant has used up its quota for now; nothing was sent. `retry_after`: seconds until the same goes through."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"This tenant is over its quota: try again in {retry_after:.1f} s.")
        self.retry_after = retry_after


class Fenced(Reopen):
    """Another producer started with this transactional id, or the transaction took longer than its timeout."""

    def __init__(self, transactional_id: str) -> None:
        super().__init__(
            f"The transactional id {transactional_id} was fenced: another owner, or a transaction timeout."
        )
        self.transactional_id = transactional_id


class CommitUnknown(Reopen):
    """The commit was on its way when it was cut off: read the committed offset again before anything else."""

    def __init__(self, transactional_id: str, detail_type: str) -> None:
        super().__init__(f"Whether the transaction of {transactional_id} was committed is unknown ({detail_type}).")
        self.transactional_id = transactional_id
        self.detail_type = detail_type


class TransactionFailed(Reopen):
    """The transaction was not committed, and will not be. `step` says how far it came."""

    def __init__(self, transactional_id: str, step: str, detail_type: str) -> None:
        super().__init__(
            f"The transaction of {transactional_id} failed at {step} ({detail_type}); nothing is committed."
        )
        self.transactional_id = transactional_id
        self.step = step
        self.detail_type = detail_type


class Buried(Reopen):
    """A record was made a dead letter at run time, committed in Kafka: the store heals over it at the next opening."""

    def __init__(self, partition: int, offset: int, reason: str) -> None:
        super().__init__(f"The record at offset {offset} of partition {partition} became a dead letter: {reason}.")
        self.partition = partition
        self.offset = offset
        self.reason = reason


class ForeignWrite(Reopen):
    """The store holds a write of this partition that this lane did not make: another owner's is landing."""

    def __init__(self, partition: int, expected_next: int, found_next: int | None = None) -> None:
        super().__init__(f"Another owner of partition {partition} has written (expected {expected_next}).")
        self.partition = partition
        self.expected_next = expected_next
        self.found_next = found_next


class Unusable(Reopen):
    """The object failed before, was closed, or never started: make a new one."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} cannot be used: it failed, was closed, or was not started. Make a new one.")
        self.what = what


class BadSettings(Stop):
    """A setting is missing or wrong. `setting` is its name in the environment."""

    def __init__(self, setting: str, why: str) -> None:
        super().__init__(f"The setting {setting} cannot be used: {why}.")
        self.setting = setting


class UnknownTopic(Stop):
    """A topic, or a partition of it, does not exist or may not be described by us."""

    def __init__(self, topic: str, partition: int | None = None) -> None:
        what = f"The topic {topic}" if partition is None else f"Partition {partition} of the topic {topic}"
        super().__init__(
            f"{what} does not exist, or these credentials may not see it.", command_that_helps="afterturn init"
        )
        self.topic = topic
        self.partition = partition


class NotAuthorised(Stop):
    """The credentials do not allow the operation."""

    def __init__(self, operation: str, detail_type: str) -> None:
        super().__init__(f"Kafka does not allow these credentials to do this: {operation} ({detail_type}).")
        self.operation = operation
        self.detail_type = detail_type


class LogCut(Stop):
    """The log does not hold `wanted`: retention has removed it, or it is another log."""

    def __init__(self, topic: str, partition: int, wanted: int | None, command_that_helps: str | None = None) -> None:
        where = "its position" if wanted is None else f"offset {wanted}"
        super().__init__(
            f"Partition {partition} of {topic} does not hold {where}: retention removed it, or it is another log.",
            command_that_helps=command_that_helps,
        )
        self.topic = topic
        self.partition = partition
        self.wanted = wanted


class BrokerRefused(Stop):
    """The broker refused and would refuse again. `code` is Kafka's error code, None for an error of the client."""

    def __init__(self, operation: str, detail_type: str, code: int | None = None) -> None:
        super().__init__(f"Kafka refused: {operation} ({detail_type}{'' if code is None else f', code {code}'}).")
        self.operation = operation
        self.detail_type = detail_type
        self.code = code
