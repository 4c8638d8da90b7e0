"""Which questions speak of their asker."""

import pytest

from afterturn.consumers.recall.ranking.asker import speaks_of_asker


@pytest.mark.parametrize(
    "question",
    [
        "Where did I park my car?",
        "what did i say",
        "I'm allergic to what?",
        "Hello! Did I call?",
        "What have Ada and I planned?",
        "WHERE IS MY HAT",
        "Wo wohne ich?",
        "Wie heißt meine Schwester?",
        "¿Dónde vive mi madre?",
        "¿Qué idiomas hablo yo?",
        "我喜欢什么?",
        "什么是我的爱好",
    ],
)
def test_first_person(question: str) -> None:
    assert speaks_of_asker(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What does Ada like?",
        "Tell me about the harbour.",
        "When did World War I end?",
        "Who was Elizabeth I?",
        "Which animals live there, i.e. in the lake?",
        "Who drove down the I-95?",
        "Which iPhone does Ben use?",
        "Where in Ann Arbor, MI, is the shop?",
        "What are our plans?",
        "Erzähl mir von Ada.",
        "¿Qué le gusta a Ben?",
        "我们去哪里?",
        "告诉我李明住在哪里",
        "自我介绍是什么",
    ],
)
def test_anyone_else(question: str) -> None:
    assert not speaks_of_asker(question)
