"""Rows 1, 6, 7: whose a request is decides what it may name, and nothing it names widens that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.recall.access.principals import (
    EVERYONE,
    RIGHTS,
    Forbidden,
    Principal,
    Right,
    require_dimensions,
    within,
)
from afterturn.schemas.errors import ContractError
from afterturn.schemas.scope import DIMENSIONS, Dimension, Scope

SCOPES = st.builds(Scope, **{d: st.none() | st.sampled_from(["a", "b"]) for d in DIMENSIONS})
TENANTS = st.lists(st.sampled_from(["t1", "t2", "t3"]), min_size=1, max_size=3, unique=True).map(tuple)


@given(SCOPES, SCOPES)
def test_a_fixed_scope_is_never_left(own: Scope, asked: Scope) -> None:
    """Row 7: what comes out holds every pair of both, or the request is refused."""
    clash = [d for d in DIMENSIONS if None not in (getattr(own, d), getattr(asked, d)) and _differ(own, asked, d)]
    if clash:
        with pytest.raises(Forbidden) as refused:
            within(own, asked)
        assert refused.value.place.removeprefix("scope.") in clash
        return
    both = within(own, asked)
    assert set(both.pairs()) == set(own.pairs()) | set(asked.pairs())


def _differ(own: Scope, asked: Scope, dimension: str) -> bool:
    return bool(getattr(own, dimension) != getattr(asked, dimension))


@given(TENANTS, st.none() | st.sampled_from(["t1", "t2", "t3", "t4"]))
def test_the_tenant_is_always_one_of_the_principals(tenants: tuple[str, ...], named: str | None) -> None:
    """Row 1: the tenant comes from the credential; a header only chooses among its tenants."""
    principal = Principal("p", frozenset(RIGHTS), tenants)
    if named in tenants or (named is None and len(tenants) == 1):
        assert principal.tenant(named) == (named or tenants[0])
        return
    with pytest.raises(ContractError if named is None else Forbidden) as refused:
        principal.tenant(named)
    assert getattr(refused.value, "place", None) == "Afterturn-Tenant"


def test_everyone_must_say_for_whom_they_ask() -> None:
    assert EVERYONE.tenant("anyone") == "anyone"
    with pytest.raises(ContractError):
        EVERYONE.tenant(None)


@given(st.sets(st.sampled_from(RIGHTS)), st.sampled_from(RIGHTS))
def test_only_a_right_that_is_given_is_had(given_: set[Right], right: Right) -> None:
    principal = Principal("p", frozenset(given_), None)
    if right in given_:
        principal.require(right)
    else:
        with pytest.raises(Forbidden, match=right):
            principal.require(right)


@given(SCOPES, st.sets(st.sampled_from(DIMENSIONS)))
def test_a_missing_dimension_makes_memory_unavailable(scope: Scope, required: set[Dimension]) -> None:
    """Row 6: fail closed, naming the dimensions that are missing and no value."""
    dimensions: list[Dimension] = [d for d in DIMENSIONS if d in required]
    missing = [d for d in dimensions if getattr(scope, d) is None]
    if not missing:
        require_dimensions(scope, dimensions)
        return
    with pytest.raises(ContractError) as refused:
        require_dimensions(scope, dimensions)
    assert refused.value.problem == f"memory unavailable: {', '.join(missing)}"


def test_what_concerns_the_whole_tenant_is_not_for_a_part_of_it() -> None:
    with pytest.raises(Forbidden):
        Principal("p", frozenset(RIGHTS), None, Scope(user="ada")).require_whole_tenant()
    EVERYONE.require_whole_tenant()
