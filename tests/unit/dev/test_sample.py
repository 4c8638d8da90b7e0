"""The laws of the sample: what the demo, the tests and the recall floor rely on."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import timedelta
from importlib.resources import files
from itertools import pairwise

import pytest

from afterturn.consumers.dev.sample import Question, load_questions, load_turns
from afterturn.schemas.codec import MAX_BODY_BYTES, body_of
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.parts import Message
from afterturn.schemas.types import is_blank

Key = tuple[str, str, str, int]
ORDINARY_LENGTH = 300
LONGEST = 1_200
SHARED_WORDS = 5
HAN = re.compile(r"[\u4e00-\u9fff]")
# Words that are frequent in one language and unlikely in the others.
TYPICAL = {
    "de": {"ich", "der", "und", "nicht", "mit", "dem", "sie", "den", "vor", "wie", "wann", "warum", "wo", "zu"},
    "es": {"el", "por", "los", "qué", "cómo", "que", "una", "en", "y", "del", "las"},
    "en": {"the", "and", "of", "what", "is", "did", "who", "how", "for", "my", "to", "with", "it", "i"},
}


@pytest.fixture(scope="module")
def turns() -> list[TurnCompleted]:
    return [TurnCompleted.model_validate_json(line) for line in _lines("turns.jsonl")]


@pytest.fixture(scope="module")
def messages(turns: list[TurnCompleted]) -> dict[Key, Message]:
    return {(t.tenant, t.thread, t.turn_id, i): m for t in turns for i, m in enumerate(t.messages)}


def _lines(name: str) -> list[str]:
    return files("afterturn.consumers.dev.sample").joinpath(name).read_text("utf-8").splitlines()


def _evidence(question: Question) -> list[Key]:
    return [(question.tenant, e.thread, e.turn_id, e.message) for e in question.evidence]


def _words(text: str) -> list[str]:
    """Words in lower case; a Chinese character counts as one."""
    return re.findall(r"[\u4e00-\u9fff]|[^\W_]+", text.lower())


def _language(text: str) -> str:
    if HAN.search(text):
        return "zh"
    words = set(_words(text))
    return max(TYPICAL, key=lambda language: len(TYPICAL[language] & words))


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    words = _words(text)
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


def test_the_numbers_are_as_announced(turns: list[TurnCompleted], messages: dict[Key, Message]) -> None:
    threads = Counter(t.tenant for t in {(t.tenant, t.thread): t for t in turns}.values())
    assert len(threads) == 3
    assert threads.total() == 8
    assert 195 <= len(messages) <= 220
    assert len(load_questions()) == 40
    assert {q.tenant for q in load_questions()} == set(threads)


def test_the_loader_returns_what_the_file_holds(turns: list[TurnCompleted]) -> None:
    assert [TurnCompleted.model_validate(body) for body in load_turns()] == turns


@pytest.mark.parametrize("name", ["turns.jsonl", "questions.jsonl"])
def test_files_are_plain_utf8_with_one_object_a_line(name: str) -> None:
    lines = _lines(name)
    assert all(line.startswith("{") and line.endswith("}") for line in lines)
    assert not any("\\u" in line or "\ufffd" in line for line in lines)


def test_every_turn_fits_the_contract(turns: list[TurnCompleted]) -> None:
    # That each line parses at all is the model's part: identifiers, times, shares, tags, no unknown field.
    assert all(len(body_of(t)) <= MAX_BODY_BYTES for t in turns)
    assert all(2 <= len(t.messages) <= 256 for t in turns)


def test_messages_have_an_author_and_a_natural_length(messages: dict[Key, Message]) -> None:
    lengths = [len(m.content) for m in messages.values()]
    assert all(20 <= n <= LONGEST for n in lengths)
    assert 1 <= sum(n > ORDINARY_LENGTH for n in lengths) <= 12
    assert all(m.author and m.role in {"user", "assistant"} for m in messages.values())
    assert not any(is_blank(m.content) for m in messages.values())
    assert len({m.content for m in messages.values()}) == len(messages)


def test_people_have_two_names_and_share_no_first_name_within_a_tenant(messages: dict[Key, Message]) -> None:
    people: dict[str, set[str]] = defaultdict(set)
    for (tenant, *_), message in messages.items():
        if message.role == "user":
            people[tenant].add(message.author or "")
    for names in people.values():
        assert len(names) >= 3
        assert all(len(name.split()) == 2 for name in names)
        assert len({name.split()[0] for name in names}) == len(names)


def test_an_author_keeps_one_role(messages: dict[Key, Message]) -> None:
    roles = {(key[0], m.author, m.role) for key, m in messages.items()}
    assert len(roles) == len({(tenant, author) for tenant, author, _ in roles})


def test_ids_are_unique(turns: list[TurnCompleted]) -> None:
    assert len({t.turn_id for t in turns}) == len(turns)
    assert len({memory_id(t.tenant, turn_key(t.scope, t.thread, t.turn_id), 0) for t in turns}) == len(turns)


def test_a_thread_has_one_scope_and_some_belong_to_one_user(turns: list[TurnCompleted]) -> None:
    scopes: dict[tuple[str, str], set[tuple[tuple[str, str], ...]]] = defaultdict(set)
    for turn in turns:
        scopes[turn.tenant, turn.thread].add(tuple(turn.scope.pairs()))
    assert all(len(found) == 1 for found in scopes.values())
    private = {tenant for (tenant, _), found in scopes.items() if "user" in dict(next(iter(found)))}
    assert len(private) == 3


def test_times_ascend_in_a_thread_and_span_months(turns: list[TurnCompleted]) -> None:
    threads: dict[tuple[str, str], list[TurnCompleted]] = defaultdict(list)
    for turn in turns:
        threads[turn.tenant, turn.thread].append(turn)
    for thread in threads.values():
        times = [t.occurred_at for t in thread]
        assert all(earlier < later for earlier, later in pairwise(times))
        assert times[-1] - times[0] > timedelta(days=150)
        assert len({t.date() for t in times}) >= 6
    assert all('Z", "messages"' in line for line in _lines("turns.jsonl"))


@pytest.mark.parametrize("question", load_questions(), ids=lambda q: q.question)
def test_evidence_exists_and_speaks_the_questions_language(question: Question, messages: dict[Key, Message]) -> None:
    keys = _evidence(question)
    assert 1 <= len(keys) == len(set(keys)) <= 4
    for key in keys:
        assert not is_blank(messages[key].content)
        assert _language(messages[key].content) == question.language
    assert _language(question.question) == question.language
    assert not is_blank(question.note or "")


@pytest.mark.parametrize("question", load_questions(), ids=lambda q: q.question)
def test_no_question_repeats_its_evidence(question: Question, messages: dict[Key, Message]) -> None:
    asked = _runs(question.question, SHARED_WORDS)
    for key in _evidence(question):
        assert not asked & _runs(messages[key].content, SHARED_WORDS)


def test_questions_are_of_every_kind() -> None:
    questions = load_questions()
    languages = Counter(q.language for q in questions)
    assert set(languages) == {"en", "de", "es", "zh"}
    assert min(languages.values()) >= 4
    assert len({q.question for q in questions}) == len(questions)
    assert sum(len(q.evidence) > 1 for q in questions) >= 12
    assert sum("first person" in (q.note or "") for q in questions) >= 5
    assert sum("adversarial" in (q.note or "") for q in questions) >= 5
    assert sum("named author" in (q.note or "") for q in questions) >= 2
    assert sum("temporal" in (q.note or "") for q in questions) >= 3


@pytest.mark.parametrize(("language", "least"), [("de", 15), ("es", 12), ("zh", 10)])
def test_messages_are_in_several_languages(language: str, least: int, messages: dict[Key, Message]) -> None:
    assert sum(_language(m.content) == language for m in messages.values()) >= least
