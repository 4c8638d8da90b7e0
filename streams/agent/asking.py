"""From what a memory is about to the queries of a turn. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from afterturn.schemas.errors import from_pydantic
from afterturn.schemas.query import MAX_TEXT, Query
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import is_blank
from afterturn.streams.agent.about import About
from afterturn.streams.agent.errors import MemoryRefused

__all__ = ("eager_queries", "index_query", "query_of", "question_query", "tool_query")

_TOOL_TOKENS = 4_000


def query_of(about: About, scope: Scope, fields: dict[str, Any]) -> Query:
    """A query narrowed by what the memory is about; ``fields`` are the query's own.

    Raises:
        MemoryRefused: they make no query; it would be refused.
    """
    narrowed: dict[str, Any] = {"scope": scope, "profile": about.profile, "min_confidence": about.min_confidence}
    own = {name: value for name, value in fields.items() if value is not None}
    filters = [each for each in (about.narrowed_by, own.pop("filter", None)) if each]
    if filters:
        narrowed["filter"] = filters[0] if len(filters) == 1 else {"and": filters}
    least = [each for each in (about.min_confidence, own.pop("min_confidence", None)) if each is not None]
    narrowed["min_confidence"] = max(least, default=None)
    try:
        return Query.model_validate({name: value for name, value in {**own, **narrowed}.items() if value is not None})
    except ValidationError as error:
        fault = from_pydantic(error)
        raise MemoryRefused(422, fault.place, fault.problem) from None


def question_query(about: About, scope: Scope, text: str | None, max_tokens: int, seen: Sequence[str]) -> Query:
    """The question of a turn; without a text, what happened last.

    What is said to an agent may be longer than a question may be: its beginning is asked then.
    """
    asked: object = text
    if isinstance(text, str):
        beginning = text.strip()[:MAX_TEXT]
        asked = None if is_blank(beginning) else beginning
    return query_of(about, scope, {"text": asked, "limit": about.limit, "max_tokens": max_tokens, "seen": list(seen)})


def tool_query(about: About, scope: Scope, text: str | None, limit: int, seen: Sequence[str]) -> Query:
    """What a model asks by the tool: what it was shown already is left out before the limit."""
    shown = {"limit": limit, "max_tokens": _TOOL_TOKENS, "seen": list(seen), "format": "tagged", "topic": about.topic}
    return query_of(about, scope, {"text": text, **shown})


def eager_queries(about: About, scope: Scope) -> list[Query]:
    """What is asked before anything is asked: about, topic, query, as far as each is wanted."""
    eager = about.eager
    if eager is None:
        return []
    fields: list[dict[str, Any]] = []
    if eager.about:
        fields.append({"text": eager.about})
    if eager.topic:
        fields.append({"text": about.topic})
    if eager.query is not None:
        fields.append(dict(eager.query))
    return [query_of(about, scope, {**one, "limit": eager.limit, "max_tokens": 0, "count": True}) for one in fields]


def index_query(about: About, scope: Scope, max_tokens: int, seen: Sequence[str]) -> Query | None:
    """The newest memories by id and first words, where they are wanted."""
    if not about.index:
        return None
    fields = {"format": "index", "limit": about.index, "max_tokens": max_tokens, "seen": list(seen)}
    return query_of(about, scope, fields)
