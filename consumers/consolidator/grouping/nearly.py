"""Near-duplicates: facts that say the same in nearly the same words become one.

Two are the same where both their vectors and their words are close, and no number and no negation tells them apart; or
where their words are exactly the same, whatever their vectors. All members of a cluster are the same as one another
(complete linkage): a chain of small differences never joins what is far apart. The exact scope is never crossed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, hypot
from operator import mul

from afterturn.consumers.consolidator.grouping.commands import MAX_TAGS, Prepared, command_id
from afterturn.consumers.consolidator.grouping.policies import MOST_SOURCES, DuplicatePolicy
from afterturn.consumers.consolidator.grouping.sourced import Sourced, is_free, one_tenant
from afterturn.schemas.belief import Belief, effective
from afterturn.schemas.commands import Revise
from afterturn.schemas.parts import Change, Derived, Set
from afterturn.schemas.points import Memory

POLICY = "duplicates"
REINFORCED_BY, MOST_REINFORCED, DECAY_EASED = 0.1, 0.95, 0.85
"""What hearing a fact again does to it: + 0.1 of the other's confidence, up to 0.95; it then fades more slowly."""
_ROUNDING = 1e-9
"""What a computed measure may be short of its bound: 0.7 is not exact in binary."""
_NOT_PUNCTUATION = frozenset("#@&%*/\\")
_NEGATIONS = frozenset("no not never none nobody nothing neither nor without cannot t".split())
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Embedded:
    """A memory and its dense vector; None where it was stored without."""

    source: Sourced
    vector: Sequence[float] | None = None


@dataclass(frozen=True)
class _Fact:
    """A candidate with all that comparing needs."""

    source: Sourced
    text: str
    words: frozenset[str]
    vector: Sequence[float]
    length: float
    rank: tuple[float, int, str]


def merges(memories: Iterable[Embedded], policy: DuplicatePolicy, now: datetime) -> tuple[Prepared[Revise], ...]:
    """The commands that merge a tenant's near-duplicates, one a cluster, whatever order the memories come in.

    Raises:
        ValueError: the memories are of several tenants.
    """
    given = list(memories)
    one_tenant(each.source for each in given)
    if not policy.enabled:
        return ()
    blocks: dict[object, list[_Fact]] = defaultdict(list)
    for each in given:
        if _may_merge(each.source.memory, policy, now):
            blocks[_block(each.source.memory)].append(_fact(each, now))
    clusters = [cluster for block in blocks.values() for cluster in _clusters(block, policy)]
    clusters.sort(key=lambda cluster: cluster[0].rank)
    return tuple(_merge([fact.source for fact in cluster]) for cluster in clusters)


def _may_merge(memory: Memory, policy: DuplicatePolicy, now: datetime) -> bool:
    """Messages stay what was said; what has a key of its publisher's own is the publisher's to replace."""
    return memory.kind in policy.kinds and memory.turn_id is None and memory.key is None and is_free(memory, now)


def _block(memory: Memory) -> object:
    """What must be the same in both: where they belong, what they are, and how long they hold."""
    holds = (memory.valid_from, memory.valid_to, memory.invalidated_at, memory.expires_at is None)
    return tuple(memory.scope.pairs()), memory.kind, memory.type, memory.collection, memory.level, holds


def _fact(each: Embedded, now: datetime) -> _Fact:
    memory = each.source.memory
    text = plain(memory.content or "")
    rank = (-believed(memory, now), -memory.reinforce_count, each.source.id)
    vector = each.vector or ()
    return _Fact(each.source, text, frozenset(text.split()), vector, hypot(*vector), rank)


def believed(memory: Memory, at: datetime) -> float:
    """A memory's effective confidence."""
    confidence = 1.0 if memory.confidence is None else memory.confidence
    revised = memory.content_revised or memory.recorded_at
    window = (memory.valid_from, memory.valid_to, memory.invalidated_at)
    return effective(Belief(confidence, memory.decay, revised, *window), at)


def plain(content: str) -> str:
    """A text's words in their order, case folded, without punctuation; as it is where nothing else would be left.

    Each mark becomes a space, so that 3.5 is never 35; ``C#`` and ``50%`` keep theirs.
    """
    folded = unicodedata.normalize("NFKC", content).casefold()
    marks = {char for char in set(folded) if _is_punctuation(char)}
    bare = "".join(" " if char in marks else char for char in folded)
    return _SPACE.sub(" ", bare).strip() or content


def _is_punctuation(char: str) -> bool:
    return char not in _NOT_PUNCTUATION and unicodedata.category(char).startswith("P")


def _clusters(facts: list[_Fact], policy: DuplicatePolicy) -> Iterator[list[_Fact]]:
    """Clusters of two and more, the survivor first. The best believed choose first, among all that are as they are."""
    facts.sort(key=lambda fact: fact.rank)
    near = _neighbours(facts, policy.jaccard)
    taken: set[int] = set()
    for first, seed in enumerate(facts):
        if first in taken:
            continue
        cluster = [seed]
        for other in sorted(near[first] - taken):
            if other > first and len(cluster) < MOST_SOURCES and all(_same(facts[other], m, policy) for m in cluster):
                cluster.append(facts[other])
                taken.add(other)
        if len(cluster) > 1:
            yield cluster


def _neighbours(facts: Sequence[_Fact], least: float) -> dict[int, set[int]]:
    """By number, the facts that share enough words with each.

    Exact, and not all pairs: texts of a Jaccard of ``least`` share one of each other's rarest words, as many as may
    differ and one more.
    """
    common = Counter(word for fact in facts for word in fact.words)
    holders: dict[str, list[int]] = defaultdict(list)
    near: dict[int, set[int]] = defaultdict(set)
    for number, fact in enumerate(facts):
        rarest = sorted(fact.words, key=lambda word: (common[word], word))
        tried = rarest[: len(rarest) - ceil(least * len(rarest) - _ROUNDING) + 1]
        for other in {other for word in tried for other in holders[word]}:
            if _jaccard(fact.words, facts[other].words) >= least - _ROUNDING:
                near[number].add(other)
                near[other].add(number)
        for word in tried:
            holders[word].append(number)
    return near


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _same(one: _Fact, other: _Fact, policy: DuplicatePolicy) -> bool:
    """Whether two say the same."""
    if one.text == other.text:
        return True
    if _jaccard(one.words, other.words) < policy.jaccard - _ROUNDING or any(map(_decides, one.words ^ other.words)):
        return False
    if not one.length or not other.length or len(one.vector) != len(other.vector):
        return False
    cosine: float = sum(map(mul, one.vector, other.vector)) / (one.length * other.length)
    return cosine >= policy.cosine - _ROUNDING


def _decides(word: str) -> bool:
    """Whether a word alone makes another fact of a sentence: a number, or a no."""
    return word in _NEGATIONS or any(map(str.isdigit, word))


def _merge(cluster: Sequence[Sourced]) -> Prepared[Revise]:
    """The survivor, first of its cluster, takes up the others; each as it was when they were compared."""
    survivor, *losers = cluster
    gone = (Change(id=each.id, rev=each.memory.rev, set=Set(status="merged")) for each in losers)
    kept = Change(id=survivor.id, rev=survivor.memory.rev, set=_reinforced(survivor.memory, [e.memory for e in losers]))
    ids = tuple(sorted(each.id for each in cluster))
    command = Revise(
        tenant=survivor.memory.tenant,
        changes=(kept, *gone),
        reason="merged",
        # Were the survivor forgotten meanwhile, nothing would be left of what the others said.
        derived=Derived(source_ids=ids, based_on=max(each.memory.rev for each in cluster)),
    )
    return Prepared(command_id(POLICY, cluster), command)


def _reinforced(survivor: Memory, losers: Sequence[Memory]) -> Set:
    """What hearing it again makes of a fact; nothing that any of them had is lost to the others' end."""
    own = 1.0 if survivor.confidence is None else survivor.confidence
    heard = own + REINFORCED_BY * sum(1.0 if each.confidence is None else each.confidence for each in losers)
    every = (survivor, *losers)
    tags = tuple(dict.fromkeys(tag for each in every for tag in each.tags))[:MAX_TAGS]
    ends = [each.expires_at for each in every if each.expires_at is not None]
    return Set(
        confidence=max(own, min(MOST_REINFORCED, heard)),
        reinforce_count=survivor.reinforce_count + len(losers),
        decay=survivor.decay * DECAY_EASED ** len(losers) if survivor.decay else None,
        importance=max((each.importance for each in every if each.importance is not None), default=None),
        tags=tags or None,
        expires_at=max(ends, default=None),
    )
