"""Token budgets without a tokenizer: four characters a token, the usual rate of English text."""

from __future__ import annotations

CHARS_PER_TOKEN = 4


def chars_for(tokens: int) -> int:
    """How many code points fit into ``tokens`` (>= 0)."""
    if tokens < 0:
        raise ValueError(f"a budget of {tokens} tokens: it must not be negative")
    return tokens * CHARS_PER_TOKEN


def tokens_of(chars: int) -> int:
    """How many tokens ``chars`` code points (>= 0) take, rounded up."""
    if chars < 0:
        raise ValueError(f"a text of {chars} code points: it must not be negative")
    return -(-chars // CHARS_PER_TOKEN)
