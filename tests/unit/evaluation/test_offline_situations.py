"""The two situations made from conversations of two authors: nothing is lost, and evidence stays evidence."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW, START

from afterturn.consumers.evaluation.locomo import Question
from afterturn.consumers.evaluation.offline.corpora import Corpus, Told
from afterturn.consumers.evaluation.offline.situations import (
    JOINED,
    PART_CHARS,
    first_person,
    in_first_person,
    in_long_messages,
)

AUTHORS = ("Ada Byron", "Ben")


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    lengths = draw(st.lists(st.integers(1, 20), min_size=1, max_size=3))
    told = [
        Told(
            f"{thread}:{place}",
            f"talk {thread}",
            place,
            "user",
            draw(st.sampled_from(AUTHORS)),
            START + timedelta(days=thread),
            f"<{thread}:{place}> " + "a word and another. " * draw(st.integers(0, 30)),
        )
        for thread, length in enumerate(lengths)
        for place in range(length)
    ]
    evidence = frozenset(draw(st.lists(st.sampled_from([each.id for each in told]), max_size=4)))
    asked = draw(st.sampled_from(["What did Ada say?", "Did Ben and Ada meet?", "Where is Ben's hat?", "Why?"]))
    return Corpus("c", tuple(told), (Question(asked, 1, evidence),))


@LAW
@given(corpora())
def test_long_messages_say_all_that_was_said_in_parts_that_fit(corpus: Corpus) -> None:
    (joined,) = in_long_messages([corpus])
    assert sorted("".join(each.content for each in joined.told).split()) == sorted(
        "\n\n".join(each.content for each in corpus.told).split()
    )
    assert all(len(each.content.strip()) <= PART_CHARS for each in joined.told)
    places = {(each.thread, each.position, each.author) for each in joined.told}
    assert len({place[:2] for place in places}) == len(places), "a long message has one author"
    assert len(places) >= len(corpus.told) / JOINED


@LAW
@given(corpora())
def test_the_part_that_holds_evidence_is_evidence(corpus: Corpus) -> None:
    (joined,) = in_long_messages([corpus])
    texts = {each.id: each.content for each in joined.told}
    (before,), (after,) = corpus.questions, joined.questions
    assert bool(before.evidence) == bool(after.evidence)
    found = "".join(texts[id_] for id_ in after.evidence)
    for each in corpus.told:
        if each.id in before.evidence and len(each.content) < PART_CHARS / 4:  # a longer one may lie in three parts
            half = len(each.content) // 2
            assert each.content[:half].strip() in found or each.content[half:].strip() in found


@LAW
@given(corpora())
def test_a_chat_has_one_user_and_no_names(corpus: Corpus) -> None:
    for chat, author in zip(in_first_person([corpus]), corpus.authors, strict=True):
        assert chat.authors == ()
        assert [each.content for each in chat.told] == [each.content for each in corpus.told]
        for before, after in zip(corpus.told, chat.told, strict=True):
            assert after.role == ("user" if before.author == author else "assistant")
        assert all("I" in q.text.split() or "my" in q.text.split() for q in chat.questions)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Where did Ada park Ada's car?", "Where did I park my car?"),
        ("Does Ada Byron like tea?", "Do I like tea?"),
        ("Ada\u2019s dog is what?", "My dog is what?"),
        ("What does Adam like?", "What does Adam like?"),
        ("Has Ada moved?", "Have I moved?"),
    ],
)
def test_a_question_is_asked_by_its_subject(asked: str, told: str) -> None:
    assert first_person(asked, "Ada Byron") == told
