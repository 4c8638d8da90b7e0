"""Which authors a question names, and what is left of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.recall.ranking.names import named_author, named_authors, strip_names

AUTHORS = (
    "Caroline", "Melanie", "Will", "Anna Lee", "Anna Kim", "J. Smith", "C++", "Mr. Brown", "The Dude", "José", "İpek",
    "李明", "明", "민수", "田中 太郎", "राम", "กร", "🔥",
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "stripped", "named"),
    [
        ("What does Caroline's sister like?", "What does sister like?", {"Caroline"}),
        ("Ask Caroline\u2019s mother", "Ask mother", {"Caroline"}),
        ("what will melanie do?", "what will do?", {"Melanie"}),
        ("WHERE IS MELANIE'S CAT", "WHERE IS CAT", {"Melanie"}),
        ("What did Caroline tell Melanie?", "What did tell ?", {"Caroline", "Melanie"}),
        ("What will Will say?", "What will say?", {"Will"}),
        ("What will happen?", "What will happen?", set()),
        ("Two carolines sang", "Two carolines sang", set()),
        ("the caroline_x file", "the caroline_x file", set()),
        ("Does Anna Lee skate?", "Does skate?", {"Anna Lee"}),
        ("Does Anna skate?", "Does skate?", {"Anna Lee", "Anna Kim"}),
        ("Did J. Smith call?", "Did call?", {"J. Smith"}),
        ("Did J. call?", "Did J. call?", set()),
        ("Did Mr. Jones call?", "Did Mr. Jones call?", set()),
        ("Did Mr. Brown call?", "Did call?", {"Mr. Brown"}),
        ("Does C++'s build pass?", "Does build pass?", {"C++"}),
        ("Where did the dude park?", "Where did park?", {"The Dude"}),
        ("Where is the dog?", "Where is the dog?", set()),
        ("Jose\u0301's dog", "dog", {"José"}),
        ("ipek'i gördün mü", "'i gördün mü", {"İpek"}),
        ("李明喜欢什么?", "喜欢什么?", {"李明"}),
        ("李明的爱好是什么", "爱好是什么", {"李明"}),
        ("Caroline的爱好", "爱好", {"Caroline"}),
        ("明天怎么样", "明天怎么样", set()),
        ("说明 是什么", "说明 是什么", set()),
        ("明 来吗", "来吗", {"明"}),
        ("민수는 어디 살아?", "는 어디 살아?", {"민수"}),
        ("김민수는 어디 살아?", "김민수는 어디 살아?", set()),
        ("田中の趣味", "趣味", {"田中 太郎"}),
        ("राम कौन है", "कौन है", {"राम"}),
        ("रामायण क्या है", "रामायण क्या है", set()),
        ("กรอยู่ที่ไหน", "อยู่ที่ไหน", {"กร"}),
        ("กรุงเทพอยู่ที่ไหน", "กรุงเทพอยู่ที่ไหน", set()),
        ("what does 🔥 like", "what does like", {"🔥"}),
        ("Caroline?", "Caroline?", {"Caroline"}),
        ("", "", set()),
    ],
)
def test_names_are_found_and_taken_out(question: str, stripped: str, named: set[str]) -> None:
    assert strip_names(question, AUTHORS) == (stripped, frozenset(named))


def test_one_author_is_named_or_none() -> None:
    assert named_author("What did Caroline say?", AUTHORS) == "Caroline"
    assert named_author("What did Caroline tell Melanie?", AUTHORS) is None
    assert named_author("What was said?", AUTHORS) is None
    assert named_author("What did Anna say?", AUTHORS) is None
    assert named_author("What did Anna Kim say?", AUTHORS) == "Anna Kim"


def test_blank_authors_and_pronouns_name_nobody() -> None:
    assert named_authors("What did I tell you, a user, the other day", ["", " ", "I", "a", "You", "The"]) == frozenset()


texts = st.text(st.sampled_from("Ab anİß李明의\u2019' .?+\u0301"), max_size=30)


@LAW
@given(texts, st.lists(texts, max_size=4))
def test_any_question_and_any_names_leave_a_query(question: str, authors: list[str]) -> None:
    stripped, named = strip_names(question, authors)
    assert bool(stripped) == bool(question.split())
    assert named <= set(authors)
    assert named == named_authors(question, authors)
    assert stripped == " ".join(stripped.split())
