import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.schemas.budget import chars_for, tokens_of


@given(st.integers(0, 10**9))
def test_what_a_budget_holds_takes_just_that_budget(tokens: int) -> None:
    assert tokens_of(chars_for(tokens)) == tokens
    assert tokens_of(chars_for(tokens) + 1) == tokens + 1


@given(st.integers(0, 10**9))
def test_a_text_fits_into_the_tokens_it_takes(chars: int) -> None:
    assert chars <= chars_for(tokens_of(chars)) < chars + 4


@pytest.mark.parametrize("size", [chars_for, tokens_of])
def test_a_negative_size_is_refused(size: object) -> None:
    assert callable(size)
    with pytest.raises(ValueError, match="negative"):
        size(-1)
