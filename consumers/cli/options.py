"""Options that several commands take, checked as they are read."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import Annotated

import httpx
import typer

from afterturn.schemas.errors import ContractError
from afterturn.streams.agent.settings import credential
from afterturn.streams.errors import BadSettings


class LogLevel(StrEnum):
    """How much a service logs."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _recall_url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise typer.BadParameter("it is no URL: write http://host:port, as in http://127.0.0.1:8080") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise typer.BadParameter("write http://host:port, as in http://127.0.0.1:8080")
    return text.rstrip("/")


def api_key() -> str | None:
    """The API key or token of the environment, where there is one: on a command line others could read it.

    Raises:
        BadSettings: it can be none.
    """
    try:
        return credential(os.environ.get("AFTERTURN_API_KEY", "")) or None
    except ValueError as error:
        raise BadSettings("AFTERTURN_API_KEY", str(error)) from None


def dimension_of(text: str) -> tuple[str, str]:
    """A dimension of a scope and its value, as ``user=ada``.

    Raises:
        ContractError: it is none.
    """
    dimension, equals, value = text.partition("=")
    if not equals:
        raise ContractError("invalid", "--scope", "write dimension=value, as user=ada")
    return dimension, value


def prefix_of(text: str) -> str:
    """A topic prefix, if the text is one.

    Raises:
        BadParameter: it isn't.
    """
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,200}", text):
        raise typer.BadParameter("write letters, digits, dots, underscores and hyphens, at most 200")
    return text


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
RecallUrl = Annotated[
    str, typer.Option(help="Where the recall service is.", envvar="AFTERTURN_RECALL_URL", callback=_recall_url)
]
TopicPrefix = Annotated[
    str, typer.Option(help="What the topics' names begin with.", envvar="AFTERTURN_TOPIC_PREFIX", callback=prefix_of)
]
Level = Annotated[LogLevel, typer.Option(help="How much to log.", envvar="AFTERTURN_LOG_LEVEL", case_sensitive=False)]
