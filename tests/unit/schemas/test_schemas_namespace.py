"""A tenant and a scope as one text for people (row 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.schemas.errors import ContractError
from afterturn.schemas.namespace import ORDER, namespace_of, read_namespace
from afterturn.schemas.scope import DIMENSIONS, Scope

VALUES = st.text(st.sampled_from("ab%|=25CD7 é"), min_size=1, max_size=8)
SCOPES = st.dictionaries(st.sampled_from(DIMENSIONS), VALUES).map(Scope.model_validate)


@given(st.none() | VALUES, SCOPES)
def test_row_5_what_is_written_is_read_again_and_no_value_looks_like_a_dimension(
    tenant: str | None, scope: Scope
) -> None:
    if tenant is None and not scope.pairs():
        with pytest.raises(ContractError):
            namespace_of(tenant, scope)
        return
    text = namespace_of(tenant, scope)
    assert read_namespace(text) == (tenant, scope)
    assert [part.partition("=")[0] for part in text.split("|")] == [
        each for each in ORDER if (each == "tenant" and tenant is not None) or dict(scope.pairs()).get(each) is not None
    ]


def test_row_5_the_order_and_the_signs_are_fixed() -> None:
    scope = Scope(agent="a", user="50%|x=y", workspace="app", route="/support")
    told = "workspace=app|route=/support|tenant=acme|user=50%25%7Cx%3Dy|agent=a"
    assert namespace_of("acme", scope) == told


@pytest.mark.parametrize(
    "text",
    ["", "user", "user=", "planet=mars", "user=a|user=b", "user=a|tenant=t", "user=a=b", "user=100%", "user=%41", "|"],
)
def test_row_5_what_is_no_such_text_is_refused(text: str) -> None:
    with pytest.raises(ContractError):
        read_namespace(text)
