"""The error tree: what handlers can catch, and what they cannot."""

import pickle

import pytest

from afterturn.streams import errors
from afterturn.streams.errors import AfterturnError, DeadLetter, Recoverable, Reopen, Retry, Stop

EXAMPLES: list[AfterturnError] = [
    errors.BrokerUnavailable("send", "KafkaConnectionError"),
    errors.RecordTooLarge("t", 5, 4),
    errors.QuotaExceeded(1.5),
    errors.Fenced("g-t-0"),
    errors.CommitUnknown("g-t-0", "TimeoutError"),
    errors.TransactionFailed("g-t-0", "send", "TimeoutError"),
    errors.ForeignWrite(3, 10, 12),
    errors.Buried(3, 10, "refused"),
    errors.Refused("it is refused", dependency="qdrant"),
    errors.Unusable("the producer"),
    errors.BadSettings("KAFKA_SASL_USERNAME", "it is missing"),
    errors.UnknownTopic("t", 3),
    errors.NotAuthorised("send", "TopicAuthorizationFailedError"),
    errors.LogCut("t", 0, 5, "afterturn recorder --accept-gap"),
    errors.BrokerRefused("create", "PolicyViolationError", 44),
    Retry("away", dependency="qdrant"),
    DeadLetter("misrouted", "ContractError"),
    Reopen("again"),
    Stop("no", command_that_helps="afterturn init"),
]


def test_every_error_has_an_example_here() -> None:
    branches = {AfterturnError, Recoverable}
    classes = {
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, AfterturnError)
    }
    assert classes - branches == {type(each) for each in EXAMPLES}
    assert {each.__name__ for each in classes} == set(errors.__all__)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_has_exactly_one_remedy(error: AfterturnError) -> None:
    remedies = [branch for branch in (Retry, DeadLetter, Reopen, Stop) if isinstance(error, branch)]
    assert len(remedies) == 1
    assert isinstance(error, Recoverable) != isinstance(error, Stop)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_keeps_its_fields_across_processes(error: AfterturnError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


@pytest.mark.parametrize("branch", [Retry, DeadLetter, Reopen, Recoverable])
def test_no_handler_catches_a_stop(branch: type[AfterturnError]) -> None:
    assert not issubclass(Stop, branch)
    for leaf in (errors.BadSettings, errors.UnknownTopic, errors.NotAuthorised, errors.LogCut, errors.BrokerRefused):
        assert not issubclass(leaf, branch)


def test_a_stop_names_the_command_that_helps() -> None:
    assert str(Stop("The topic is missing.", command_that_helps="afterturn init")).endswith(
        "This helps: afterturn init"
    )
    assert errors.UnknownTopic("t").command_that_helps == "afterturn init"
