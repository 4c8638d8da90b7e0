"""The recipe against its executable form, which lies outside the project.

The reference answers with an order; its scores are read where it sorts by them.
"""

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW, START
from support.reference_recipe import needs_reference, reference

from afterturn.consumers.recall.prompt.packing import pack
from afterturn.consumers.recall.prompt.timeline import date_of, render
from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.names import strip_names
from afterturn.consumers.recall.ranking.scoring import rank

pytestmark = needs_reference

NAMES = ("Caroline", "Melanie", "Jon Snow", "Gina")
WORDS = ("What", "did", "like", "the pottery", "in May", "'s friend", "and", "say to", "when", "?", "Carolines", "snow")
TEXTS = ("Yes.", "Where was it?", "The vase broke, sadly. " * 4, "So you say, but is it true? " * 5, "?", " Is it? ")


Turn = dict[str, Any]


class Sample(NamedTuple):
    turns: list[Turn]
    candidates: dict[str, Candidate]
    dense: dict[int, float]
    lexical: dict[int, float]
    question: str


def conversation(lengths: list[int], pick: Callable[[tuple[str, ...]], str]) -> tuple[list[Turn], dict[str, Candidate]]:
    """Sessions of these lengths, one a day, as the reference and as the project know them."""
    turns: list[Turn] = []
    candidates = {}
    for session, length in enumerate(lengths):
        at = START + timedelta(days=session)
        for position in range(length):
            author, text, identity = pick(NAMES), pick(TEXTS), str(len(turns))
            asks = text.strip().endswith("?") and len(text.strip()) < 120
            candidates[identity] = Candidate(
                identity, f"thread {session}", position, 0, author, "user", at, len(text), asks, "episodic"
            )
            turns.append({"session": session, "speaker": author, "text": text, "date": date_of(at)})
    return turns, candidates


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    lengths = draw(st.lists(st.integers(1, 25), min_size=1, max_size=6))
    turns, candidates = conversation(lengths, lambda choices: draw(st.sampled_from(choices)))
    hits = st.dictionaries(st.integers(0, len(turns) - 1), st.floats(-1, 9, allow_nan=False), max_size=40)
    return Sample(turns, candidates, draw(hits), draw(hits), draw(questions))


questions = st.lists(st.sampled_from([*NAMES, *(f"{name}'s" for name in NAMES), *WORDS]), max_size=8).map(" ".join)


def of_strings(hits: dict[int, float]) -> dict[str, float]:
    return {str(seq): score for seq, score in hits.items()}


def assert_same(sample: Sample) -> None:
    functions, sorted_by = reference()
    order = functions["fuse"](sample.lexical, sample.dense, sample.turns, sample.question)
    expected = sorted_by[-1]
    authors = sorted({turn["speaker"] for turn in sample.turns})
    dense, lexical = of_strings(sample.dense), of_strings(sample.lexical)
    ranked = rank(dense, lexical, sample.candidates, sample.question, authors)
    # The reference drops hits whose score is 0, the project keeps them.
    made = {int(each.candidate.id): each.score for each in ranked if each.lexical + each.dense + each.neighbour > 0}
    assert made == pytest.approx(expected, abs=1e-6)
    assert [made[seq] for seq in order] == pytest.approx(list(made.values()), abs=1e-6)


@LAW
@given(samples())
def test_scores_and_order(sample: Sample) -> None:
    assert_same(sample)


@pytest.mark.parametrize("seed", range(5))
def test_scores_and_order_of_full_lists(seed: int) -> None:
    random = Random(seed)
    turns, candidates = conversation([random.randint(5, 40) for _ in range(30)], random.choice)
    dense = {seq: random.random() for seq in random.sample(range(len(turns)), 100)}
    lexical = {seq: random.random() * 12 for seq in random.sample(range(len(turns)), 100)}
    assert_same(Sample(turns, candidates, dense, lexical, "What did Caroline say to the potter?"))


@LAW
@given(samples(), st.integers(0, 1_500), st.randoms(use_true_random=False))
def test_pack_and_text(sample: Sample, max_tokens: int, random: Any) -> None:
    order = list(range(len(sample.turns)))
    random.shuffle(order)
    functions, _ = reference()
    chosen, text = functions["pack"](order, sample.turns, max_tokens)
    packed = pack([sample.candidates[str(seq)] for seq in order], max_tokens)
    assert [int(identity) for identity in packed.ids] == chosen
    texts = {str(seq): turn["text"] for seq, turn in enumerate(sample.turns)}
    assert render([sample.candidates[identity] for identity in packed.ids], texts) == text


@LAW
@given(questions)
def test_stripped_names(question: str) -> None:
    functions, _ = reference()
    stripped = functions["strip_names"](question, NAMES)
    if any(map(str.isalnum, stripped)):
        assert strip_names(question, NAMES)[0] == stripped
