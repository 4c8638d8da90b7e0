"""Rankings by name give the numbers they are known by."""

from datetime import UTC, datetime, timedelta
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.recall.ranking import b4, dice, llm4s
from afterturn.consumers.recall.ranking.reciprocal import reciprocal

NOW = datetime(2026, 4, 1, tzinfo=UTC)
WORDS = st.frozensets(st.integers(0, 6), max_size=4)


def row(id_: str, words: set[int], days: float = 0, confidence: float = 1.0) -> b4.Row:
    return b4.Row(id_, frozenset(words), NOW - timedelta(days=days), confidence)


def test_the_checked_numbers_of_b4() -> None:
    """Rows 43, 44."""
    assert b4.idf(1, 4) == pytest.approx(1.2040, abs=5e-5)
    assert b4.idf(4, 4) == pytest.approx(0.1054, abs=5e-5)
    assert b4.recency(timedelta(days=14)) == 0.5
    assert b4.recency(timedelta(days=-3)) == 1.0
    rows = [row("a", {1})]
    (first,) = b4.hybrid(rows, ["a"], frozenset({1}), 4, NOW)
    assert first.lexical + first.dense == pytest.approx(0.032787, abs=5e-7)
    assert first.score == pytest.approx(0.045902, abs=5e-7)


def test_b4_ranks_words_by_rarity_then_by_recency_and_confidence() -> None:
    """Row 43: 0.6 relevance, 0.3 recency, 0.1 confidence; a memory without a word of the question is none of it."""
    rows = [
        row("rare", {1, 9}),
        row("usual", {2}),
        row("old", {2}, days=14),
        row("doubted", {2}, confidence=0),
        row("x", {8}),
    ]
    ranked = b4.keyword(rows, frozenset({1, 2}), 5, NOW)
    rare, usual = log(1 + 4.5 / 1.5), log(1 + 2.5 / 3.5)
    assert [each.id for each in ranked] == ["rare", "usual", "doubted", "old"]
    assert ranked[0].score == pytest.approx(0.6 * rare / (rare + usual) + 0.3 + 0.1)
    assert ranked[3].score == pytest.approx(0.6 * usual / (rare + usual) + 0.15 + 0.1)


def test_b4_breaks_ties_by_the_newest_then_by_id() -> None:
    rows = [row("b", {1}), row("a", {1}), row("c", {1}, days=-1)]
    assert [each.id for each in b4.keyword(rows, frozenset({1}), 3, NOW)] == ["c", "a", "b"]


def test_b4_compares_the_newest_only() -> None:
    rows = [row(f"{n:03}", {1}, days=n) for n in range(b4.POOL + 10)]
    ranked = b4.keyword(rows, frozenset({1}), len(rows), NOW)
    assert [each.id for each in ranked] == [f"{n:03}" for n in range(b4.POOL)]


def test_b4_hybrid_fuses_by_rank_and_raises_the_new() -> None:
    """Row 44: what both lists hold comes first; of equal ranks the newer."""
    rows = [row("both", {1}, days=14), row("near", set(), days=0), row("word", {1, 2}, days=14)]
    ranked = b4.hybrid(rows, ["near", "both"], frozenset({1, 2}), 3, NOW)
    assert [each.id for each in ranked] == ["both", "near", "word"]
    assert ranked[0].score == pytest.approx((1 / 62 + 1 / 62) * (1 + 0.3 * 0.5 + 0.1))
    assert ranked[1].score == pytest.approx(1 / 61 * 1.4)
    assert ranked[2].score == pytest.approx(1 / 61 * 1.25)


@LAW
@given(st.lists(st.tuples(WORDS, st.integers(0, 99), st.floats(0, 1)), max_size=12), WORDS, st.data())
def test_scores_of_b4_are_sums_of_what_is_named(
    drawn: list[tuple[frozenset[int], int, float]], question: frozenset[int], data: st.DataObject
) -> None:
    rows = [b4.Row(str(n), words, NOW - timedelta(days=d), c) for n, (words, d, c) in enumerate(drawn)]
    nearest = data.draw(st.lists(st.sampled_from([each.id for each in rows]), unique=True)) if rows else []
    for ranked in (b4.keyword(rows, question, len(rows), NOW), b4.hybrid(rows, nearest, question, len(rows), NOW)):
        assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
        for each in ranked:
            assert sum(each[2:]) == pytest.approx(each.score)
            assert question & rows[int(each.id)].words or each.id in nearest


def test_ranks_are_fused_with_sixty() -> None:
    assert reciprocal(["a", "b"]) == {"a": 1 / 61, "b": 1 / 62}


def test_dice_fuses_three_tiers() -> None:
    """Row 45: each list gives 1 / (60 + rank); equal sums stand in the order of the lists."""
    fused = dice.fuse(["v", "both"], ["both", "k"], ["r", "v"])
    assert [each.id for each in fused] == ["v", "both", "r", "k"]
    assert fused[1] == ("both", 1 / 62 + 1 / 61, 1 / 62, 1 / 61, 0.0)
    assert fused[0].related == 1 / 62


def test_dice_counts_words_of_the_most_believed() -> None:
    """Row 45: whole words count, ties go to the more believed, and the pool is ten times the limit."""
    facts = [
        dice.Fact("one", frozenset({1}), 0.9),
        dice.Fact("two", frozenset({1, 2}), 0.6),
        dice.Fact("x", frozenset({7}), 1),
    ]
    assert dice.by_words(facts, frozenset({1, 2}), 5) == ["two", "one"]
    many = [dice.Fact(f"{n}", frozenset({1}), n / 100) for n in range(30)]
    assert dice.by_words(many, frozenset({1}), 2) == ["29", "28"]
    doubted = [*[dice.Fact(f"{n}", frozenset({7}), 1.0) for n in range(20)], dice.Fact("late", frozenset({1}), 0.1)]
    assert dice.by_words(doubted, frozenset({1}), 2) == []


def test_dice_looks_up_four_entities() -> None:
    """Row 45: thin results bring in what the hits' first four entities are mentioned by."""
    hits = [dice.Fact("a", frozenset(), 1, ("x", "y")), dice.Fact("b", frozenset(), 1, ("y", "z", "u", "v"))]
    assert dice.entities_of(hits) == ["x", "y", "z", "u"]
    facts = [dice.Fact(f"{n}", frozenset(), n / 10) for n in range(9)]
    assert dice.by_entities(facts, 1) == ["8", "7", "6"]


@pytest.mark.parametrize(("cosine", "expected"), [(-1.0, 0.0), (0.0, 0.5), (1.0, 1.0)])
def test_llm4s_maps_cosines(cosine: float, expected: float) -> None:
    """Row 46."""
    assert llm4s.similarity(cosine) == expected


def test_llm4s_counts_whole_words() -> None:
    """Row 46: case and accents don't count, substrings don't either; a question without a word finds nothing."""
    question = llm4s.words_of("I CAFÉ, Berlin i")
    assert question == {"i", "cafe", "berlin"}
    assert llm4s.share(question, "The café in Berlin") == pytest.approx(2 / 3)
    assert llm4s.share(question, "Berliner cafeteria") == 0
    assert llm4s.share(llm4s.words_of("東京 タワー"), "東京 タワー") == 1
    assert llm4s.share(llm4s.words_of("?!"), "anything") == 0
