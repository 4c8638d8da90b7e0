"""Every error of the client becomes one of ours; its text, which may quote what was sent, is left out."""

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition, errors
from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.errors import (
    AfterturnError,
    BrokerRefused,
    BrokerUnavailable,
    CommitUnknown,
    DeadLetter,
    Fenced,
    LogCut,
    NotAuthorised,
    RecordTooLarge,
    Reopen,
    Retry,
    Stop,
    TransactionFailed,
    UnknownTopic,
)
from afterturn.streams.kafka.translate import code_error, translate, translate_in_transaction, translated


def every(kind: type[errors.KafkaError]) -> list[type[errors.KafkaError]]:
    return [kind, *(leaf for each in kind.__subclasses__() for leaf in every(each))]


@pytest.mark.parametrize("kind", every(errors.KafkaError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_is_translated_without_its_text(kind: Any) -> None:
    error = kind.__new__(kind)  # some want arguments of their own
    error.args = ("secret content",)
    for found in (translate(error, "send", "t"), translate_in_transaction(error, "g-t-0", "send")):
        assert isinstance(found, Retry | DeadLetter | Reopen | Stop)
        assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.KafkaConnectionError(), BrokerUnavailable),
        (errors.NodeNotReadyError(), BrokerUnavailable),
        (errors.RequestTimedOutError(), BrokerUnavailable),
        (errors.NotEnoughReplicasError(), BrokerUnavailable),
        (errors.KafkaError("Unexpected error during batch delivery"), BrokerUnavailable),
        (errors.UnknownError(), BrokerUnavailable),
        (errors.OutOfOrderSequenceNumber(), BrokerUnavailable),
        (errors.ProducerClosed(), BrokerUnavailable),
        (errors.UnknownTopicOrPartitionError(), UnknownTopic),
        (errors.MessageSizeTooLargeError(), RecordTooLarge),
        (errors.TopicAuthorizationFailedError("t"), NotAuthorised),
        (errors.SaslAuthenticationFailed(), NotAuthorised),
        (errors.PolicyViolationError(), BrokerRefused),
        (errors.InvalidReplicationFactorError(), BrokerRefused),
        (errors.UnsupportedVersionError(), BrokerRefused),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_an_error_means(error: errors.KafkaError, expected: type[AfterturnError]) -> None:
    assert type(translate(error, "send", "t")) is expected


@pytest.mark.parametrize(
    ("error", "step", "expected"),
    [
        (errors.ProducerFenced(), "send", Fenced),
        (errors.ProducerFenced(), "commit", Fenced),
        (errors.InvalidTxnState(), "commit", Fenced),
        (AssertionError(), "begin", Fenced),
        (errors.IllegalOperation(), "send", Fenced),
        (errors.KafkaConnectionError(), "send", TransactionFailed),
        (errors.KafkaConnectionError(), "commit", CommitUnknown),
        (TimeoutError(), "offsets", TransactionFailed),
        (TimeoutError(), "commit", CommitUnknown),
        (errors.OutOfOrderSequenceNumber(), "send", TransactionFailed),
        (errors.MessageSizeTooLargeError(), "send", RecordTooLarge),
        (errors.TransactionalIdAuthorizationFailed("g-t-0"), "begin", NotAuthorised),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__),
)
def test_what_an_error_in_a_transaction_means(error: Exception, step: str, expected: type[AfterturnError]) -> None:
    assert type(translate_in_transaction(error, "g-t-0", step)) is expected


def test_a_position_out_of_range_says_which() -> None:
    found = translate(errors.OffsetOutOfRangeError({TopicPartition("t", 2): 7}), "read")
    assert isinstance(found, LogCut)
    assert (found.topic, found.partition, found.wanted) == ("t", 2, 7)
    found = translate(errors.NoOffsetForPartitionError(TopicPartition("t", 2)), "read")
    assert isinstance(found, LogCut)
    assert (found.topic, found.partition, found.wanted) == ("t", 2, None)


@given(st.integers(-1, 200))
def test_every_code_but_0_is_an_error(code: int) -> None:
    assert (code_error(code, "create", "t") is None) == (code == 0)


async def test_no_answer_in_time_is_unavailable() -> None:
    with pytest.raises(BrokerUnavailable, match=r"no answer in 0\.01 s"):
        async with translated("ask", 0.01):
            await asyncio.Event().wait()


async def test_our_own_errors_pass_untouched() -> None:
    stop = Stop("no")
    with pytest.raises(Stop) as caught:
        async with translated("ask", 1):
            raise stop
    assert caught.value is stop
