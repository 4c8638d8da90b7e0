"""A tenant's policies: its own fields over the service's, and by name what is wrong with them."""

from typing import Any

import pytest

from afterturn.consumers.consolidator.grouping.policies import POLICY_NAMES, Policies, policies_of
from afterturn.schemas.errors import ContractError

DAY_S = 86_400


def test_row_58_the_defaults_are_those_of_the_systems_taken_over() -> None:
    """And row 62: weeks from 5; row 80: what is said of an entity from 5, in three levels."""
    policies = Policies()
    assert {name: policies.of(name).min_sources for name in POLICY_NAMES} == {
        "thread": 10, "week": 5, "entity": 5, "source": 10, "user": 10, "outcome": 10,
    }  # fmt: skip
    for name in POLICY_NAMES:
        policy = policies.of(name)
        assert (policy.older_than_s, policy.source_ttl_s, policy.max_sources) == (7 * DAY_S, 7 * DAY_S, 50)
    assert (policies.duplicates.cosine, policies.duplicates.jaccard) == (0.95, 0.7)


def test_a_tenants_own_fields_leave_the_others_as_the_service_has_them() -> None:
    base = policies_of({"week": {"max_sources": 20}, "user": {"enabled": False}})
    own = policies_of({"week": {"min_sources": 8}, "duplicates": {"kinds": ["semantic"]}}, base)
    assert (own.week.min_sources, own.week.max_sources, own.week.max_level) == (8, 20, 1)
    assert own.duplicates.kinds == ("semantic",)
    assert not own.user.enabled
    assert policies_of(None, base) == policies_of({}, base) == base


@pytest.mark.parametrize(("own", "named"), [
    ({"week": {"min_sources": 1}}, "consolidation.week.min_sources"),
    ({"thread": {"max_sources": 201}}, "consolidation.thread.max_sources"),
    ({"thread": {"min_sources": 60}}, "consolidation.thread: max_sources must not be below min_sources"),
    ({"thread": {"older_than_s": "7d"}}, "consolidation.thread.older_than_s"),
    ({"entity": {"max_level": 0}}, "consolidation.entity.max_level"),
    ({"duplicates": {"cosine": 0.2}}, "consolidation.duplicates.cosine"),
    ({"duplicates": {"kinds": ["rumour"]}}, "consolidation.duplicates.kinds"),
    ({"week": {"secret": 1}}, "consolidation.week.secret: unknown field"),
    ({"months": {}}, "consolidation.months: unknown field"),
    ({"week": "off"}, "consolidation.week"),
    ({"week": {"enabled": 1}}, "consolidation.week.enabled"),
])  # fmt: skip
def test_what_is_wrong_is_said_by_field_and_without_its_value(own: dict[str, Any], named: str) -> None:
    with pytest.raises(ContractError) as raised:
        policies_of(own)
    assert raised.value.named.startswith(named)
    assert "rumour" not in str(raised.value)
    assert "secret" not in str(raised.value), "a log doesn't repeat what a sender called it"
