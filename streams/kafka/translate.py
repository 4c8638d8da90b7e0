"""The Kafka client's errors, turned into ours: in one place, by type."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import errors

from afterturn.streams.errors import (
    AfterturnError,
    BrokerRefused,
    BrokerUnavailable,
    CommitUnknown,
    Fenced,
    LogCut,
    NotAuthorised,
    RecordTooLarge,
    TransactionFailed,
    UnknownTopic,
)

__all__ = ("LOST_SEQUENCE", "code_error", "translate", "translate_in_transaction", "translated")

_AWAY = (
    errors.KafkaConnectionError,
    errors.KafkaTimeoutError,
    errors.KafkaUnavailableError,
    errors.NoBrokersAvailable,
    errors.NodeNotReadyError,
    errors.ProducerClosed,
    errors.CommitFailedError,
    errors.KafkaProtocolError,
    errors.UnknownError,
    errors.RebalanceInProgressError,
    errors.IllegalGenerationError,
    errors.UnknownMemberIdError,
)
_FORBIDDEN = (
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailed,
    errors.SaslAuthenticationFailed,
    errors.AuthenticationFailedError,
)
_TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
_FENCED = (
    errors.ProducerFenced,
    errors.InvalidProducerEpoch,
    errors.InvalidTxnState,
    errors.InvalidProducerIdMapping,
    errors.TransactionCoordinatorFenced,
)
# After one of these every later batch of the partition is refused, until the producer has a new id.
LOST_SEQUENCE = (errors.OutOfOrderSequenceNumber, errors.UnknownProducerId, *_TOO_LARGE, *_FENCED)


def translate(error: errors.KafkaError, operation: str, topic: str = "?") -> AfterturnError:
    """What an error of the client means. Its text is left out: it may quote what was sent."""
    name = type(error).__name__
    if isinstance(error, _FORBIDDEN):
        return NotAuthorised(operation, name)
    if isinstance(error, errors.UnknownTopicOrPartitionError):
        return UnknownTopic(topic)
    if isinstance(error, _TOO_LARGE):
        return RecordTooLarge(topic, None, None)
    if isinstance(error, errors.OffsetOutOfRangeError | errors.NoOffsetForPartitionError):
        return _log_cut(error)
    # A bare KafkaError is how the client wraps what it did not expect: a connection that broke, in practice.
    if isinstance(error, (*_AWAY, *LOST_SEQUENCE)) or type(error) is errors.KafkaError or error.retriable:
        return BrokerUnavailable(operation, name)
    return BrokerRefused(operation, name, getattr(error, "errno", None))


def translate_in_transaction(error: Exception, transactional_id: str, step: str) -> AfterturnError:
    """What an error inside a transaction means; `step` is the step that raised it."""
    name = type(error).__name__
    # A bare AssertionError is how the client's state machine says that it is in its fatal state.
    if isinstance(error, (*_FENCED, AssertionError, errors.IllegalOperation)):
        return Fenced(transactional_id)
    if isinstance(error, errors.KafkaError):
        found = translate(error, step)
        if isinstance(found, NotAuthorised | RecordTooLarge):
            return found
    if step == "commit":
        return CommitUnknown(transactional_id, name)
    return TransactionFailed(transactional_id, step, name)


def code_error(code: int, operation: str, topic: str) -> AfterturnError | None:
    """The error that an answer's code means, None for success."""
    if code == 0:
        return None
    return translate(errors.for_code(code)(), operation, topic)


@asynccontextmanager
async def translated(operation: str, deadline: float | None, topic: str = "?") -> AsyncIterator[None]:
    """Run what is inside within `deadline` seconds, with the client's errors translated."""
    try:
        async with asyncio.timeout(deadline):
            yield
    except TimeoutError as error:
        raise BrokerUnavailable(operation, f"no answer in {deadline:g} s" if deadline else "TimeoutError") from error
    except errors.KafkaError as error:
        raise translate(error, operation, topic) from error


def _log_cut(error: errors.OffsetOutOfRangeError | errors.NoOffsetForPartitionError) -> LogCut:
    """The partition is the error's argument: alone, or as a mapping to the offset that was asked for."""
    where = error.args[0] if error.args else None
    if isinstance(where, dict) and where:
        (topic, partition), offset = next(iter(where.items()))
        return LogCut(topic, partition, offset)
    if isinstance(where, tuple) and len(where) == 2:
        return LogCut(where[0], where[1], None)
    return LogCut("?", -1, None)
