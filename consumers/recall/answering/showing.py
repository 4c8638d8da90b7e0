"""From what was found to an answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from afterturn.consumers.recall.answering.asking import asked_of
from afterturn.consumers.recall.answering.finding import Entry, Found
from afterturn.consumers.recall.prompt.formats import OF_THE_LIST, timeline, written
from afterturn.consumers.recall.prompt.shown import Purpose, Section, Shown, handles_of
from afterturn.consumers.recall.ranking.confidence import effective_of
from afterturn.consumers.recall.ranking.pool import Payload
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.schemas.budget import chars_for, tokens_of
from afterturn.schemas.guarding import line
from afterturn.schemas.query import TOPIC, Answer, Format, FoundBy, Query, RecalledMemory, ScoreParts
from afterturn.schemas.settings import Kind, Role

_KINDS, _ROLES = frozenset(get_args(Kind)), frozenset((*get_args(Role), None))
_FOUND_BY: tuple[FoundBy, ...] = ("vector", "keyword", "neighbour", "related")


COUNTED: frozenset[Format] = frozenset({"tagged", "contribution"})
"""Formats that say how many memories there are."""


class Extras(NamedTuple):
    """What an answer has beside what was found: labels by memory, and how many memories there are in all."""

    labels: Mapping[str, tuple[str, ...]] = {}
    available: int | None = None


def answer_of(found: Found, query: Query, at: datetime, recipe: Recipe, extras: Extras = Extras()) -> Answer:  # noqa: B008
    """The answer to a query: a list of so many, and what fits into the text."""
    section = _section(found, query, recipe, extras)
    in_text = frozenset(section.ids)
    memories = tuple(
        memory_of(entry, found.pool.payloads[entry.candidate.id], query, at, extras, in_text)
        for entry in found.ranked[: query.limit]
    )
    return Answer.model_construct(
        memories=memories,
        text=section.text,
        tokens=tokens_of(len(section.text)),
        degraded=(),
        limits=found.limits,
        cursor=found.cursor,
        available=extras.available,
        took_ms=0.0,
    )


def _section(found: Found, query: Query, recipe: Recipe, extras: Extras) -> Section:
    """The text; a summary yields to what it was made of, as long as that is there and shown."""
    payloads = found.pool.payloads
    ranked = found.ranked
    while True:
        section = _section_of(ranked, payloads, query, recipe, extras)
        shown = set(section.ids)
        doubled = {payloads[id_]["summary"] for id_ in shown if "summary" in payloads[id_]} & shown
        if not doubled:
            return section
        ranked = [entry for entry in ranked if entry.candidate.id not in doubled]


def _section_of(
    ranked: Sequence[Entry], payloads: Mapping[str, Payload], query: Query, recipe: Recipe, extras: Extras
) -> Section:
    if query.format == "timeline":
        candidates = [entry.candidate for entry in ranked]
        contents = {each.id: payloads[each.id]["content"] for each in candidates}
        return timeline(candidates, contents, query.max_tokens, recipe, note=query.note)
    entries = ranked[: query.limit] if query.format in OF_THE_LIST else ranked
    shown = [_shown(entry, payloads[entry.candidate.id], extras) for entry in entries]
    purpose = Purpose(asked_of(query), query.topic or TOPIC, query.use_when, extras.available, bool(query.seen))
    return written(query.format, shown, purpose, chars_for(query.max_tokens), note=query.note)


def _shown(entry: Entry, payload: Payload, extras: Extras) -> Shown:
    candidate = entry.candidate
    return Shown(
        id=candidate.id,
        text=line(payload["content"]),
        type=payload.get("type") or candidate.kind,
        kind=candidate.kind,
        found_by=found_by(entry.found_by),
        confidence=payload.get("confidence", 1.0),
        decay=payload.get("decay", 0.0),
        labels=extras.labels.get(candidate.id, ()),
        handles=handles_of(payload.get("entities", ())),
    )


def memory_of(
    entry: Entry, payload: Payload, query: Query, at: datetime, extras: Extras, in_text: Collection[str]
) -> RecalledMemory:
    """One memory of an answer. What a later version has stored and this one doesn't know is passed through."""
    candidate = entry.candidate
    stated, believed = payload.get("confidence", 1.0), effective_of(payload, at)
    fields = {
        "id": candidate.id,
        "text": payload["content"],
        "kind": candidate.kind,
        "type": payload.get("type") or candidate.kind,
        "author": payload.get("author"),
        "role": payload.get("role"),
        "thread": payload.get("thread"),
        "turn_id": payload.get("turn_id"),
        "position": payload.get("position"),
        "occurred_at": candidate.occurred_at if "occurred_at" in payload else None,
        "importance": payload.get("importance", 0.5),
        "confidence": stated,
        "effective_confidence": None if believed == stated else believed,
        "tags": tuple(payload.get("tags", ())),
        "source": payload.get("source"),
        "labels": extras.labels.get(candidate.id),
        "entities": handles_of(payload["entities"]) if payload.get("entities") else None,
        "found_by": found_by(entry.found_by),
        "score": entry.score,
        "in_text": candidate.id in in_text,
        "parts": ScoreParts(**entry.parts._asdict()) if query.explain else None,
    }
    if _plain(fields):
        return RecalledMemory.of_valid(fields)
    try:
        return RecalledMemory.model_validate(fields)
    except ValidationError:
        return RecalledMemory.model_construct(None, **fields)


def _plain(fields: Mapping[str, Any]) -> bool:
    """Whether a memory is as this version writes them, and of no source: checking it would take a tenth of an answer.

    Everything else of it this process has made, or the recorder has checked when it was written.
    """
    return (
        fields["source"] is None
        and fields["kind"] in _KINDS
        and fields["role"] in _ROLES
        and type(fields["importance"]) is float
        and type(fields["confidence"]) is float
    )


@cache
def found_by(arms: frozenset[FoundBy]) -> tuple[FoundBy, ...]:
    """What found a memory, in a fixed order."""
    return tuple(arm for arm in _FOUND_BY if arm in arms)
