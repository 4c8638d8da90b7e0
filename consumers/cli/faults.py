"""What an error says to whoever ran a command: which variable, which address, in a line each. Never a value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings

from afterturn.consumers.store.errors import WrongStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.streams.errors import AfterturnError, BrokerRefused, NotAuthorised, Retry, UnknownTopic
from afterturn.streams.kafka import KafkaSettings

_SHOULD = re.compile(r"^(?:Input|String|Value) should ")
_DETAIL = re.compile(r", unable to .*$")


def text_of(error: AfterturnError) -> str:
    """The error's text, with the address where it tells of Kafka or Qdrant and does not name it itself."""
    text, where = str(error), _address(error)
    return text if where is None or where[1] in text else f"{text} ({where[0]}={where[1]})"


def wrong_settings(error: ValidationError) -> list[str] | None:
    """A line for each wrong setting: its variable, what is wrong, what to do. None for an error of something else."""
    kind = next((each for each in _kinds(BaseSettings) if each.__name__ == error.title), None)
    if kind is None:
        return None
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [_line(kind, ".".join(map(str, each["loc"])), each["msg"]) for each in found]


def _line(kind: type[BaseSettings], field: str, message: str) -> str:
    problem = _DETAIL.sub("", _SHOULD.sub("must ", message.removeprefix("Value error, ")))
    variable = f"{kind.model_config.get('env_prefix', '')}{field}".upper()
    default = kind.model_fields[field].default if field in kind.model_fields else None
    usual = isinstance(default, str | int | float) and not isinstance(default, SecretStr)
    return f"{variable} {problem}{f' (unset, it is {default})' if usual else ''}"


def _kinds(above: type[BaseSettings]) -> Iterator[type[BaseSettings]]:
    for kind in above.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _address(error: AfterturnError) -> tuple[str, str] | None:
    dependency = error.dependency if isinstance(error, Retry) else None
    try:
        if dependency == "kafka" or isinstance(error, BrokerRefused | NotAuthorised | UnknownTopic):
            return "KAFKA_BOOTSTRAP_SERVERS", KafkaSettings().bootstrap_servers
        if dependency == "qdrant" or isinstance(error, WrongStore):
            return "QDRANT_URL", StoreSettings().address
    except ValidationError:  # the settings were given, not read
        pass
    return None
