"""What kind of thing a question asks for, what names one, and what only speaks to another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.recall.ranking.addressing import only_addresses
from afterturn.consumers.recall.ranking.looking import NOWHERE, Looking, Seen
from afterturn.consumers.recall.ranking.scoring import NOBODY, Favour
from afterturn.consumers.recall.ranking.wanted import NOTHING, answers, wanted

AUTHORS = ("Ada Lovelace", "Ben")
NUMBER, PERSON, NAME = "How many hats has Ada?", "Who made the hat?", "Where was the hat made?"


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        (NUMBER, "number"),
        ("how old is the dog", "number"),
        ("What is the number of the house?", "number"),
        (PERSON, "person"),
        ("Whose is it?", "person"),
        ("Which friends came?", "person"),
        (NAME, "name"),
        ("What is the dog called?", "name"),
        ("Which Italian city is it?", "name"),
        ("What book did she read?", "name"),
        ("What does Ada like?", ""),
        ("When did it break?", ""),
        ("Why does it break?", ""),
        ("What is somewhere in the whole?", ""),
        ("", ""),
    ],
)
def test_what_a_question_asks_for(question: str, kinds: str) -> None:
    found = wanted(question, AUTHORS)
    assert [kind for kind in ("number", "person", "name") if getattr(found, kind)] == kinds.split()
    assert found.anything is bool(kinds)


@pytest.mark.parametrize(
    ("question", "text", "named"),
    [
        (NUMBER, "I have three of them", True),
        (NUMBER, "There were 12", True),
        (NUMBER, "I have some in Rome", False),
        (PERSON, "My sister did", True),
        (PERSON, "It was made by Grace", True),
        (PERSON, "Someone did. Nobody knows", False),
        (NAME, "It was in Rome", True),
        (NAME, "We went (Rome it was)", True),
        (NAME, "We went (to Rome)", True),
        (NAME, 'It is called "the wind"', True),
        (NAME, "Rome", False),
        (NAME, "Yes! Wow! Great", False),
        (NAME, "Hey Ben, thanks Ada", False),
        (NAME, "So I said that I'm here", False),
        (NAME, "I have three", False),
        (NAME, "", False),
    ],
)
def test_what_names_a_thing_of_that_kind(question: str, text: str, named: bool) -> None:
    """A word at a sentence's start has its capital from there, and authors say each other's names."""
    assert answers(wanted(question, AUTHORS), text) is named


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("You must be proud!", True),
        ("How was your day?", True),
        ("I saw you", False),
        ("i'm with you", False),
        ("That\u2019s good of you, isn\u2019t it?", True),
        ("We like your hat", False),
        ("My hat beats yours", False),
        ("The hat is blue", False),
        ("youth of today", False),
        ("", False),
    ],
)
def test_what_only_speaks_to_another(text: str, addresses: bool) -> None:
    assert only_addresses(text) is addresses


@LAW
@given(st.text(max_size=300), st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_is_taken_and_what_is_not_looked_for_is_not_seen(text: str, question: str, names: list[str]) -> None:
    for asked in (question, f"{question} who, where, how many"):
        looking = Looking(times=True, wanted=wanted(asked, names), speech=Favour("Ada"))
        assert looking.at(text, "Ada", "user").answers <= wanted(asked, names).anything
    assert NOWHERE.at(f"You saw two in Rome last week. {text}", "", "") == Seen()
    assert not answers(NOTHING, text)


@pytest.mark.parametrize(
    ("favoured", "seen"), [(Favour("Ada"), True), (Favour(role="user"), True), (Favour("Ben"), False), (NOBODY, False)]
)
def test_only_of_favoured_messages_it_is_seen_whom_they_speak_to(favoured: Favour, seen: bool) -> None:
    assert Looking(speech=favoured).at("You must be proud!", "Ada", "user").addresses is seen
