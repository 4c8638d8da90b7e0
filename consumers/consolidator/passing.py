"""One pass over a tenant: read what is kept, group what is due, summarise each group, publish what takes its place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from afterturn.consumers.consolidator.grouping.commands import Prepared, Written, consolidation
from afterturn.consumers.consolidator.grouping.groups import Group, group
from afterturn.consumers.consolidator.grouping.policies import Policies, policies_of
from afterturn.consumers.consolidator.grouping.sourced import Sourced, when
from afterturn.consumers.consolidator.summarising.summariser import Line, Summariser, UnusableAnswer
from afterturn.consumers.store.browse import BrowseStore, Order, Place
from afterturn.consumers.store.search import Search
from afterturn.schemas.commands import Consolidate
from afterturn.schemas.parts import Usage
from afterturn.schemas.points import Memory, TenantState

SOURCE = "afterturn/consolidator"
"""The publisher of consolidations: two of them name the same work alike."""
_PAGE = 500
_ORDER = Order("evict_key", descending=False)
Publish = Callable[[Prepared[Consolidate]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Due:
    """What a pass over a tenant would do.

    Attributes:
        groups: due now, oldest first, at most as many as were asked for.
        left: due memories and groups that wait for a later pass.
    """

    tenant: str
    policies: Policies
    groups: tuple[Group, ...]
    left: int


@dataclass(slots=True)
class Done:
    """What a pass over a tenant has done."""

    published: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)


async def due(reads: BrowseStore, state: TenantState, now: datetime, most: int, base: Policies | None = None) -> Due:
    """The groups of a tenant that are due; nothing is summarised and nothing written.

    Raises:
        ContractError: the tenant's own consolidation settings are not possible.
        Retry: the store is away.
    """
    policies = policies_of(state.settings.consolidation, base)
    if state.settings.phases is not None and state.settings.phases.consolidate == "off":
        return Due(state.tenant, policies, (), 0)
    memories = [source async for source in _memories(reads, state.tenant)]
    found = group(memories, policies, now)
    later = sum(len(each.sources) for each in found.groups[most:])
    return Due(state.tenant, policies, found.groups[:most], later + sum(found.surplus.values()))


async def consolidate(due_: Due, summariser: Summariser, publish: Publish, *, strict: bool = False) -> Done:
    """Summarise and publish each group. Where a summary can't be used its group is left as it is, and the rest goes on.

    Raises:
        UnusableAnswer: (strict) a summary could not be used; what was published before stays.
        Retry: model, broker or store are away.
    """
    done = Done()
    for each in due_.groups:
        try:
            said = await summariser.summarise(lines(each.sources), each.policy)
        except UnusableAnswer as error:
            done.failed += 1
            done.usage += error.usage
            if strict:
                raise
            continue
        done.usage += said.usage
        await publish(consolidation(each, Written(said.text, usage=said.usage), due_.policies.of(each.policy)))
        done.published += 1
    return done


def lines(sources: Sequence[Sourced]) -> list[Line]:
    """What a summariser is given of memories."""
    return [_line(source.memory) for source in sources]


def _line(memory: Memory) -> Line:
    at = when(memory) or datetime.fromtimestamp(0, UTC)
    return Line(memory.content or "", memory.author, memory.role, at)


async def _memories(reads: BrowseStore, tenant: str) -> AsyncIterator[Sourced]:
    """Every memory of a tenant that is in use, in the order in which they would leave."""
    search, after = Search(tenant=tenant), None
    while page := await reads.page(search, _ORDER, after, _PAGE):
        for id_, memory in page.items():
            yield Sourced(id_, memory)
        last, memory = list(page.items())[-1]
        after = Place(memory.evict_key or 0, last)
        if len(page) < _PAGE:
            return
