"""What is consolidated, and when: frozen values, by configuration and per tenant.

The defaults are those of the systems taken over: threads, facts and outcomes in groups of 10 to 50, weeks of episodes
from 5, what is said of one entity from 5, all of it older than a week.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, JsonValue, ValidationError, model_validator

from afterturn.schemas.errors import from_pydantic
from afterturn.schemas.settings import Kind
from afterturn.schemas.types import Model, Seconds, as_tuple

PolicyName = Literal["thread", "week", "entity", "source", "user", "outcome"]
POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)
WEEK_S = 7 * 86_400
MOST_SOURCES = 200
"""What one command can name."""
CONTEXT_TOKENS = 128_000
"""How much a model reads at once where nothing else is said; a group takes at most four fifths of it."""
PLACE = "consolidation"

Size = Annotated[int, Field(ge=2, le=MOST_SOURCES)]
Level = Annotated[int, Field(ge=1, le=10)]


class GroupPolicy(Model):
    """When memories that belong together are due, and how many make a group.

    ``max_level`` is the highest level of a summary: what has reached it is summarised no further. ``source_ttl_s`` is
    how long the sources stay beside their summary.
    """

    enabled: bool = True
    older_than_s: Seconds = WEEK_S
    min_sources: Size = 10
    max_sources: Size = 50
    max_level: Level = 3
    source_ttl_s: Seconds = WEEK_S

    @model_validator(mode="after")
    def _a_group_is_possible(self) -> Self:
        if self.max_sources < self.min_sources:
            raise ValueError("max_sources must not be below min_sources")
        return self


class WeekPolicy(GroupPolicy):
    """Episodes by ISO week; a summary of them is not summarised again."""

    min_sources: Size = 5
    max_level: Level = 1


class EntityPolicy(GroupPolicy):
    """Facts about one entity, in levels of abstraction."""

    min_sources: Size = 5


class DuplicatePolicy(Model):
    """When two memories say the same: both measures must be reached. The same words are the same without them."""

    enabled: bool = True
    cosine: Annotated[float, Field(ge=0.8, le=1)] = 0.95
    jaccard: Annotated[float, Field(ge=0.5, le=1)] = 0.7
    kinds: Annotated[tuple[Kind, ...], Field(fail_fast=True), BeforeValidator(as_tuple)] = (
        "semantic",
        "reflection",
        "procedural",
    )


class Policies(Model):
    """A policy a way to group, and what counts as a duplicate."""

    thread: GroupPolicy = GroupPolicy()
    week: WeekPolicy = WeekPolicy()
    entity: EntityPolicy = EntityPolicy()
    source: GroupPolicy = GroupPolicy()
    user: GroupPolicy = GroupPolicy()
    outcome: GroupPolicy = GroupPolicy()
    duplicates: DuplicatePolicy = DuplicatePolicy()

    def of(self, name: PolicyName) -> GroupPolicy:
        """The policy of this name."""
        policy: GroupPolicy = getattr(self, name)
        return policy


def policies_of(own: Mapping[str, JsonValue] | None, base: Policies | None = None) -> Policies:
    """The policies of a tenant: what its ``consolidation`` setting names, and those of the service for all else.

    Raises:
        ContractError: a field is unknown or its value is not possible; it names the field and no value.
    """
    base = base or Policies()
    if not own:
        return base
    try:
        return Policies.model_validate(_over(base.model_dump(), own))
    except ValidationError as error:
        fault = from_pydantic(error)
    place = f"{PLACE}.{fault.place}" if fault.place else PLACE
    raise type(fault)(fault.reason, place, fault.problem) from None


def _over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The one object laid over the other, field by field."""
    return dict(base) | {
        name: _over(base[name], value) if isinstance(value, Mapping) and isinstance(base.get(name), Mapping) else value
        for name, value in own.items()
    }
