"""From a group and what was written about it to the command that lets the summary take the group's place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Generic, TypeVar

import orjson

from afterturn.consumers.consolidator.grouping.groups import Group
from afterturn.consumers.consolidator.grouping.policies import GroupPolicy
from afterturn.consumers.consolidator.grouping.sourced import Sourced
from afterturn.consumers.consolidator.summarising.summariser import MOST_CHARS
from afterturn.consumers.text.split import cut
from afterturn.schemas.commands import Consolidate, Revise
from afterturn.schemas.parts import ConsolidationSource, Summary, SummaryData, Usage
from afterturn.schemas.points import Memory
from afterturn.schemas.types import clean_text

MAX_TAGS, MAX_TAG_CHARS = 64, 128
MAX_DERIVED_FROM = 256
CONSOLIDATED = "consolidated"
_NEUTRAL = 0.5
"""The importance of what nobody gave one."""

C = TypeVar("C", Consolidate, Revise)


class NotASummary(ValueError):  # noqa: N818 - what it is
    """What a summariser returned says nothing: there is no letter and no digit in it."""


@dataclass(frozen=True)
class Written:
    """A summary's text, tags of its own, and the model work it took (the model's name included)."""

    text: str
    tags: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Prepared(Generic[C]):
    """A command and its ``ce_id``: of the same memories in the same versions it is always the same."""

    ce_id: str
    command: C


def command_id(policy: str, sources: Iterable[Sourced]) -> str:
    """64 hex digits of a policy and its sources' ids and revs, in whatever order they come.

    Who does the same work a second time asks for it under the same id, and the recorder does it once.
    """
    named = sorted([source.id, source.memory.rev] for source in sources)
    return hashlib.sha256(orjson.dumps([policy, named])).hexdigest()


def consolidation(group: Group, written: Written, policy: GroupPolicy) -> Prepared[Consolidate]:
    """The command that puts a summary in its group's place.

    Raises:
        NotASummary: the text has no letter and no digit.
    """
    content = _content(written.text)
    memories = [source.memory for source in group.sources]
    types = {memory.type for memory in memories}
    command = Consolidate(
        tenant=group.tenant,
        scope=group.scope,
        policy=group.policy,
        group=group.key,
        sources=tuple(ConsolidationSource(id=source.id, rev=source.memory.rev) for source in group.sources),
        min_sources=policy.min_sources,
        summary=Summary(
            kind="episodic" if group.policy == "week" else "semantic",
            type=types.pop() if len(types) == 1 else None,
            content=content,
            tags=_tags(memories, written.tags),
            confidence=1.0,
            importance=max((m.importance for m in memories if m.importance is not None), default=_NEUTRAL),
            level=max(memory.level for memory in memories) + 1,
            data=SummaryData(
                period=_period(memories), source_count=len(memories), derived_from=_origins(group.sources)
            ),
        ),
        source_ttl_s=policy.source_ttl_s,
        based_on=max(memory.rev for memory in memories),
        usage=written.usage,
    )
    return Prepared(command_id(group.policy, group.sources), command)


def _content(text: str) -> str:
    text = clean_text(text).strip()
    if not any(map(str.isalnum, text)):
        raise NotASummary("the summary has no letter and no digit")
    return text if len(text) <= MOST_CHARS else f"{cut(text, MOST_CHARS - 1).rstrip()}…"


def _tags(memories: Iterable[Memory], own: Iterable[str]) -> tuple[str, ...]:
    """The mark of a summary, its own tags and its sources', each once, as many as a memory may have."""
    every = chain((CONSOLIDATED,), own, *(memory.tags for memory in memories))
    fitting = (tag for tag in map(clean_text, every) if 0 < len(tag) <= MAX_TAG_CHARS)
    return tuple(islice(dict.fromkeys(fitting), MAX_TAGS))


def _period(memories: Iterable[Memory]) -> tuple[datetime, datetime] | None:
    """From the first to just after the last; none where it is not known when anything happened."""
    times = [memory.occurred_at for memory in memories if memory.occurred_at is not None]
    if not times:
        return None
    last = max(times)
    try:
        return min(times), last + timedelta(milliseconds=1)
    except OverflowError:  # the last instant there is
        return min(times), last


def _origins(sources: Iterable[Sourced]) -> tuple[str, ...]:
    """What the sources were made of: when all of it is forgotten, so is the summary."""
    members = list(sources)
    named = {source.id for source in members}
    origins = chain.from_iterable((*each.memory.source_ids, *each.memory.derived_from) for each in members)
    return tuple(islice((id_ for id_ in dict.fromkeys(origins) if id_ not in named), MAX_DERIVED_FROM))
