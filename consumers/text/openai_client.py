"""The one module that imports ``openai``: a client of any compatible endpoint, its errors translated.

Texts of the provider's errors stay out of ours: they may quote the input or the key.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from afterturn.consumers.text.errors import EmbedderAway, EmbedderUnusable, ModelAway, ModelUnusable
from afterturn.schemas.budget import tokens_of
from afterturn.schemas.types import clean_text

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

KIND = "openai"
_REFUSED = frozenset({400, 413, 422})
"""Answers to the input itself. Any other 4xx but `_LATER` is about the settings."""
_LATER = frozenset({408, 409, 425, 429})


class RefusedInput(Exception):  # noqa: N818 - an answer to the input, which the caller narrows down
    """The endpoint refuses what it was given, or one text of it; ``field`` is the request's, where it names one."""

    def __init__(self, field: str | None = None) -> None:
        super().__init__()
        self.field = field


class Faults(NamedTuple):
    """The errors a client raises, by what it is used for."""

    away: type[EmbedderAway | ModelAway]
    unusable: type[EmbedderUnusable | ModelUnusable]


EMBEDDING = Faults(EmbedderAway, EmbedderUnusable)
CHAT = Faults(ModelAway, ModelUnusable)


class Reply(NamedTuple):
    """A chat's answer, and the tokens read and written (estimated where the endpoint doesn't say)."""

    text: str
    tokens_in: int
    tokens_out: int


class _Said(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Said


class _Count(BaseModel):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class _Completion(BaseModel):
    """What is read of a chat's answer."""

    choices: list[_Choice] = Field(min_length=1)
    usage: object = None


class OpenAISettings(BaseSettings):
    """Where the endpoint is and what opens it. Every field is `OPENAI_` and its name in the environment."""

    model_config = SettingsConfigDict(env_prefix="OPENAI_", frozen=True, extra="ignore", hide_input_in_errors=True)

    base_url: str | None = Field(
        default=None, description="the endpoint's address up to /v1; the public one where it is not set"
    )
    api_key: SecretStr | None = Field(default=None, description="its key; many endpoints of one's own want none")
    timeout_s: float = Field(default=60.0, gt=0, description="how long an answer may take, in seconds")


class OpenAIClient:
    """Requests for one model. Nothing is repeated here: the caller keeps polling while it waits."""

    def __init__(self, model: str, settings: OpenAISettings, faults: Faults = EMBEDDING) -> None:
        """Raises ``faults.unusable`` without the package, or without a key for the public endpoint."""
        self.model = model
        self.who = f"{KIND}:{model} at {_host(settings.base_url)}"
        self._faults = faults
        self._timeout_s = settings.timeout_s
        self._client = _connect(self.who, settings, faults)

    async def embeddings(self, texts: list[str]) -> tuple[list[list[float]], int]:
        """The vectors of ``texts``, unchecked, and the tokens read (estimated where the endpoint doesn't say).

        Raises:
            RefusedInput: it refuses one of the texts, or their number.
            EmbedderAway: it cannot be reached, is busy, or answers with something else.
            EmbedderUnusable: it refuses the key or the model.
        """
        from openai import APIError

        try:
            answer = await self._client.embeddings.create(
                model=self.model, input=[clean_text(text) for text in texts], encoding_format="float"
            )
        except APIError as error:
            raise _translated(error, self.who, self._faults) from None
        except JSONDecodeError:
            raise EmbedderAway(self.who, "answers with something that is no JSON") from None
        return _vectors(answer, len(texts), self.who), _tokens(answer, texts)

    async def chat(self, messages: Sequence[Mapping[str, str]], options: Mapping[str, object]) -> Reply:
        """The first answer to ``messages``; ``options`` are the request's other fields.

        Raises:
            RefusedInput: it refuses the messages, or one of the options, which it may name.
            ModelAway: it cannot be reached, is busy, takes longer than it may, or answers with something else.
            ModelUnusable: it refuses the key or the model.
        """
        from openai import APIError

        said = [{**each, "content": clean_text(each["content"])} for each in messages]
        try:
            async with asyncio.timeout(self._timeout_s):  # the client's own bounds each read, not the whole
                body = {"model": self.model, "messages": said, **options}
                answer = await self._client.post("/chat/completions", body=body, cast_to=str)
        except TimeoutError:
            raise ModelAway(self.who, f"gives no whole answer within {self._timeout_s:g} s") from None
        except APIError as error:
            raise _translated(error, self.who, self._faults) from None
        return _reply(answer, self.who, sum(len(each["content"]) for each in said))

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


def _host(base_url: str | None) -> str:
    """Host and port only: an address may carry credentials."""
    return urlsplit(base_url).netloc.rpartition("@")[2] if base_url else "the public endpoint"


def _connect(who: str, settings: OpenAISettings, faults: Faults) -> AsyncOpenAI:
    try:
        from openai import AsyncOpenAI
    except ImportError as error:
        help_by = "pip install 'afterturn[openai]'"
        raise faults.unusable(who, "needs the package openai", command_that_helps=help_by) from error
    if not settings.base_url and not settings.api_key:
        raise faults.unusable(who, "needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own")
    logging.getLogger("openai").setLevel(logging.INFO)  # below that older releases log whole requests
    key = settings.api_key.get_secret_value() if settings.api_key else "none"
    return AsyncOpenAI(base_url=settings.base_url or None, api_key=key, max_retries=0, timeout=settings.timeout_s)


def _translated(error: APIError, who: str, faults: Faults) -> Exception:
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or status < 400:
        return faults.away(who, f"is away ({type(error).__name__})")
    if status in _REFUSED:
        return RefusedInput(_field(error))
    if status in _LATER or status >= 500:
        away = faults.away(who, f"answers {status}")
        if isinstance(away, ModelAway):
            away.retry_after_s = _retry_after(error, datetime.now(UTC))
        return away
    return faults.unusable(who, f"answers {status}: check OPENAI_API_KEY, OPENAI_BASE_URL and the model's name")


def _field(error: APIError) -> str | None:
    """The refused field of the request, ``response_format`` for one within it."""
    return error.param.partition(".")[0] if isinstance(error.param, str) and error.param else None


def _retry_after(error: APIError, now: datetime) -> float | None:
    """The seconds an answer asks to wait, in either form HTTP has for it."""
    said = getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        try:
            at = parsedate_to_datetime(said)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _reply(answer: str, who: str, chars_in: int) -> Reply:
    try:
        completion = _Completion.model_validate_json(answer)
    except ValidationError:
        raise ModelAway(who, "answers with something that is no chat completion") from None
    text = completion.choices[0].message.content or ""
    try:
        count = _Count.model_validate(completion.usage)
    except ValidationError:
        return Reply(text, tokens_of(chars_in), tokens_of(len(text)))
    return Reply(text, count.prompt_tokens, count.completion_tokens)


def _tokens(answer: object, texts: list[str]) -> int:
    total = getattr(getattr(answer, "usage", None), "total_tokens", None)
    return total if isinstance(total, int) else sum(tokens_of(len(text)) for text in texts)


def _vectors(answer: object, count: int, who: str) -> list[list[float]]:
    """The answer's vectors by their index, whatever order it lists them in; by their place where it gives none."""
    data = getattr(answer, "data", None)
    if not isinstance(data, list) or len(data) != count:
        raise EmbedderAway(who, f"answers with something that is no list of {count} embeddings")
    places = [getattr(item, "index", None) for item in data]
    try:
        if any(place is not None for place in places):
            data = [data[places.index(place)] for place in range(count)]
        return [[float(number) for number in item.embedding] for item in data]
    except (AttributeError, OverflowError, TypeError, ValueError):
        raise EmbedderAway(who, "answers with embeddings that are no numbered lists of numbers") from None
