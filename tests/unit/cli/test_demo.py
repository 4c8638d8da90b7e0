"""The laws of what the demo shows: which questions, which memories are marked, what is cut out of a long one."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from afterturn.consumers.cli import asking, demo
from afterturn.consumers.cli.asking import MARK, SHOWN_CHARS, show, snippet
from afterturn.consumers.dev.sample import load_questions, load_turns
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.query import Answer, RecalledMemory
from afterturn.schemas.settings import Recording
from afterturn.streams.publisher import as_turn

TURNS = [as_turn(fields) for fields in load_turns()]
QUESTIONS = demo.chosen(load_questions())
PADDING = "Nothing of any use is to be found within these words. " * 10


def memory(id_: str, text: str = "said", *, in_text: bool = True) -> RecalledMemory:
    return RecalledMemory(
        id=id_, text=text, kind="episodic", type="conversation", author="Wilhelmina Featherstonehaugh",
        importance=0.5, confidence=1.0, found_by=("vector", "keyword"), score=1.0, in_text=in_text,
    )  # fmt: skip


def test_a_dozen_questions_show_every_language_and_tenant_each_tenants_together() -> None:
    assert len({question.question for question in QUESTIONS}) == 12
    assert {question.language for question in QUESTIONS} == {"en", "de", "es", "zh"}
    tenants = [question.tenant for question in QUESTIONS]
    assert len(set(tenants)) == 3
    assert tenants == sorted(tenants, key=tenants.index)


def test_a_chosen_turn_is_the_first_evidence_of_one_question_only() -> None:
    firsts = [question.evidence[0].turn_id for question in load_questions()]
    assert all(firsts.count(turn_id) == 1 for turn_id in demo.CHOSEN)


def test_evidence_is_the_memory_of_the_message_it_names() -> None:
    roles, longest = Recording().roles, Recording().max_chars
    assert all(m.role in roles and len(m.content) <= longest for t in TURNS for m in t.messages), "numbered as messages"
    for question in QUESTIONS:
        ids = demo.evidence_ids(question, TURNS)
        assert len(ids) == len(question.evidence)
        first = question.evidence[0]
        (turn,) = (t for t in TURNS if (t.tenant, t.turn_id) == (question.tenant, first.turn_id))
        assert memory_id(turn.tenant, turn_key(turn.scope, turn.thread, turn.turn_id), first.message) in ids


def test_evidence_counts_where_it_is_shown() -> None:
    answer = Answer(memories=(memory("a"), memory("b"), memory("c"), memory("d", in_text=False)))
    both = demo.found(answer, {"b", "d", "elsewhere"})
    assert both == demo.Found(ranks=(2, 4), in_text=1, wanted=3)
    assert [both.among(shown) for shown in (1, 2, 3, 4)] == [0, 1, 1, 2]


def test_the_verdict_says_what_is_so() -> None:
    assert demo.verdict(demo.Found((1, 5), 2, 3), 3) == (f"{MARK} ", "evidence: 1 of 3 among these, 2 in the text")
    assert demo.verdict(demo.Found((9,), 1, 1), 3)[1].endswith("it ranks 9, and is in the text")
    assert demo.verdict(demo.Found((9,), 0, 1), 3)[1].endswith("it ranks 9, and is not in the text")
    assert demo.verdict(demo.Found((), 0, 1), 3) == ("✗ ", "the evidence was not found")


def test_events_are_counted_by_type() -> None:
    console = Console(width=80)
    with console.capture() as shown:
        console.print(demo.counted(["memory.recorded.v1", "memory.skipped.v1", "memory.recorded.v1"]))
    rows = [line.split() for line in shown.get().splitlines()]
    assert rows == [["MemoryEvent", "received"], ["memory.recorded", "2"], ["memory.skipped", "1"], ["all", "3"]]


def test_the_next_command_can_be_typed_from_here() -> None:
    own = Path("/home/ada/afterturn/.venv/bin/afterturn")
    assert demo.next_command(None, own, Path("/home/ada/afterturn")) == ".venv/bin/afterturn dev"
    assert demo.next_command(str(own), own, Path("/home/ada/afterturn")) == "afterturn dev"
    assert demo.next_command("/usr/bin/afterturn", own, Path("/tmp")) == f"{own} dev"


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("evidence", [(), ("b",)])
def test_a_table_of_memories_fits_and_marks_evidence_only(
    monkeypatch: pytest.MonkeyPatch, width: int, evidence: tuple[str, ...]
) -> None:
    console = Console(width=width)
    monkeypatch.setattr(asking, "out", console)
    answer = Answer(
        memories=(memory("a", PADDING + "Nightjar " + PADDING), memory("b", "The boat is called Nightjar."))
    )
    with console.capture() as shown:
        show("Where is Nightjar?", answer, evidence=evidence)
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= width
    assert "Nightjar" in shown.get().partition("boat")[0].partition("\n")[2], "the cut is made around it"
    assert [line.split()[1] for line in lines if MARK in line] == (["Wilhelmina"] if evidence else [])


def test_a_short_text_is_shown_whole_in_one_line() -> None:
    assert snippet("One\n\ntwo  three", "two?") == "One two three"


@pytest.mark.parametrize("before", [0, 1, 40, 105, 540])
@pytest.mark.parametrize("after", [0, 1, 40, 105, 540])
def test_a_long_text_is_cut_around_what_is_asked_for(before: int, after: int) -> None:
    text = f"{PADDING[:before]} the Nightjar sailed {PADDING[:after]}"
    cut = snippet(text, "When did Nightjar sail?")
    assert "Nightjar" in cut
    assert len(cut) <= SHOWN_CHARS + 2
    assert cut.strip("…") in " ".join(text.split())
    assert cut.startswith("…") == (not " ".join(text.split()).startswith(cut.strip("…")))
    assert cut.endswith("…") == (not " ".join(text.split()).endswith(cut.strip("…")))


def test_the_place_with_most_of_the_question_is_shown() -> None:
    text = f"We travelled often. {PADDING}We travelled in autumn and the ferry was late. {PADDING}A ferry, said Ada."
    assert "ferry was late" in snippet(text, "Was the FERRY late when we travelled?")


def test_other_forms_of_the_words_that_are_asked_for_count() -> None:
    assert "travelled" in snippet(f"{PADDING}They travelled in autumn. {PADDING}", "Who was travelling?")


def test_without_a_word_of_the_question_the_beginning_is_shown() -> None:
    assert snippet(PADDING, "Wo liegt der Mietvertrag?").startswith("Nothing of any use")


def test_a_language_without_spaces_is_cut_too() -> None:
    cut = snippet("我" * 200 + "老白茶" + "你" * 200, "喝什么茶")
    assert "茶" in cut
    assert len(cut) == SHOWN_CHARS + 2
