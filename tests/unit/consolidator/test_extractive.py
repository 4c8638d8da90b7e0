import itertools
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies import contents, identifiers

from afterturn.consumers.consolidator.summarising.extractive import PIECE_CHARS, ExtractiveSummariser, extract
from afterturn.consumers.consolidator.summarising.registry import open_summariser
from afterturn.consumers.consolidator.summarising.summariser import MOST_CHARS, Line, SummariserUnusable, UnusableAnswer
from afterturn.schemas.parts import Usage

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)
TALK = (
    "Hi there, how are you?",
    "I am fine, thank you. How are you?",
    "Good, good. What have you been up to?",
    "I adopted a dog, Rex, on 8 May 2023 from the shelter in Leiden.",
    "Oh nice! That is so good.",
    "Thank you, it is so good.",
    "My order number is 4711-B, it came to 129.50 euros.",
    "Good to hear. Thank you.",
    "Are you fine?",
    "I am good, thank you.",
)
_WORDS = st.lists(
    st.sampled_from(
        ["the", "dog", "Rex", "4711", "Leiden", "good?", "so. ", "fine!", "東京に行く。", "\n", "é", "..."]
    ),
    max_size=30,
).map(" ".join)


def _line(text: str, place: int = 0, author: str | None = "Ann") -> Line:
    return Line(text, author, "user", AT + timedelta(minutes=place))


def _lines(texts: Sequence[str]) -> list[Line]:
    return [_line(text, place, "AB"[place % 2]) for place, text in enumerate(texts)]


def lines(min_size: int = 0) -> st.SearchStrategy[list[Line]]:
    times = st.integers(0, 5).map(lambda hours: AT + timedelta(hours=hours))
    roles = st.sampled_from(["user", "assistant", None])
    one = st.builds(Line, _WORDS | contents(), identifiers() | st.none(), roles, times)
    return st.lists(one, min_size=min_size, max_size=25)


def test_what_is_rare_stays_word_for_word_and_small_talk_goes() -> None:
    """Names, numbers and dates are what is asked for later."""
    assert extract(_lines(TALK), share=0.36).splitlines() == [
        "B: I adopted a dog, Rex, on 8 May 2023 from the shelter in Leiden.",
        "A: My order number is 4711-B, it came to 129.50 euros.",
    ]


def _kept_of_two(first: str, second: str) -> str:
    """Which of two messages is kept where only one of them fits."""
    both = [_line(first), _line(second, 1)]
    fits = max(len(first), len(second)) + len("Ann: ") + 0.5
    whole = len(extract(both, share=1))
    return extract(both, share=fits / whole)


def test_a_question_counts_half() -> None:
    told = "Tom eats in Utrecht."
    assert _kept_of_two("Does Rex the dog sleep at Ann's in Leiden?", told) == f"Ann: {told}"
    assert _kept_of_two("So Rex the dog does sleep at Ann's in Leiden.", told).startswith("Ann: So Rex the dog")


def test_length_counts_by_its_root() -> None:
    wordy = f"Tom, Eve, Rex and Leiden{', and so it was that' * 8}."
    assert _kept_of_two(wordy, "Tom eats 31 plums.") == "Ann: Tom eats 31 plums."


def test_what_is_said_already_counts_no_more() -> None:
    """Three messages of which two fit: the second largest says nearly all that the largest said."""
    largest, again, other = (
        "Rex weighs 31 kg, eats plums, likes Tom.",
        "Rex weighs 31 kg, eats pears.",
        "It was a car.",
    )
    kept = extract([_line(largest), _line(again, 1), _line(other, 2)], share=0.81)
    assert kept == f"Ann: {largest}\nAnn: {other}"


def test_long_messages_give_sentences() -> None:
    long = " ".join(["It was good, and so it was good again, as good as it is."] * 10)
    assert extract([_line(f"{long} Rex weighs 31 kg. {long}")], share=0.08) == (
        "Ann: It was good, and so it was good again, as good as it is. Rex weighs 31 kg."
    )


def test_no_content_writes_a_line_of_its_own() -> None:
    text = extract([_line("I like cats\u2028Bob: I hate Rex\nBob: and Leiden")], share=1)
    assert text == "Ann: I like cats Bob: I hate Rex Bob: and Leiden"


@given(lines(), st.floats(0.05, 1))
def test_it_keeps_within_its_budget(given_lines: list[Line], share: float) -> None:
    text = extract(given_lines, share)
    whole = "\n".join(f"{each.speaker}: {each.text}" for each in given_lines)
    assert len(text) <= MOST_CHARS
    if "\n" in text:  # one sentence is kept whatever it takes
        assert len(text) <= share * len(whole)
    assert bool(text) == any(char.isalnum() for each in given_lines for char in each.text)


@given(st.lists(st.sampled_from([*TALK, *(f"Fact {n} of Leiden is {n * 37}." for n in range(30))]), min_size=5))
def test_every_kept_message_is_one_that_was_said_by_its_author_in_order(texts: list[str]) -> None:
    said = [f"{each.author}: {each.text}" for each in _lines(texts)]
    kept = iter(said)
    for row in extract(_lines(texts)).splitlines():
        assert row in kept, "as it was said, and after what was said before it"


@given(lines(), st.floats(0.05, 1))
def test_every_short_message_is_kept_word_for_word_or_not_at_all(given_lines: list[Line], share: float) -> None:
    short = [each for each in given_lines if len(each.text) <= 200 and len(each.text.splitlines()) == 1]
    said = {f"{each.speaker}: {each.text.strip()}" if each.speaker else each.text.strip() for each in short}
    assert said.issuperset(extract(short, share).splitlines())


@given(st.lists(st.integers(0, 40), min_size=20, max_size=60), st.floats(0.05, 1))
def test_of_a_long_message_whole_sentences_are_kept_in_order(numbers: list[int], share: float) -> None:
    said = [f"Fact {number} of Leiden is {number * 37}." for number in numbers]
    row = extract([_line(" ".join(said))], share).removeprefix("Ann: ")
    every = iter(said)
    for sentence in re.findall(r"[^.]+\.", row):
        assert sentence.strip() in every
    assert row == " ".join(f"{sentence.strip()}" for sentence in re.findall(r"[^.]+\.", row))


@given(lines(min_size=2), st.randoms(use_true_random=False))
def test_what_is_kept_does_not_depend_on_the_order(given_lines: list[Line], random: Random) -> None:
    """The same memories in any order: the same lines; and the same text where no two are of one time."""
    shuffled = list(given_lines)
    random.shuffle(shuffled)
    assert sorted(extract(shuffled).splitlines()) == sorted(extract(given_lines).splitlines())
    apart = [each._replace(occurred_at=AT + timedelta(days=day)) for day, each in enumerate(given_lines)]
    places = [given_lines.index(each) for each in shuffled]
    assume(len(set(places)) == len(places))
    assert extract([apart[place] for place in places]) == extract(apart)


@given(lines())
def test_the_same_memories_give_the_same_text(given_lines: list[Line]) -> None:
    assert extract(given_lines) == extract(given_lines)


def test_of_one_time_they_stay_as_given() -> None:
    turn = [Line("Rex?", None, "user", AT), Line("Bark", None, "assistant", AT), Line("Aha", None, "user", AT)]
    assert extract(turn, share=1) == "user: Rex?\nassistant: Bark\nuser: Aha"


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "word " * 20_000, "東" * 50_000, "a.\n" * 30_000, "?! " * 10_000 + "1"]
)
def test_one_enormous_memory_still_says_something(text: str) -> None:
    kept = extract([_line(text, author="N" * 256)])
    assert 0 < len(kept) <= MOST_CHARS
    assert len(extract([_line("x" * 5_000)], share=0.001)) <= PIECE_CHARS + len("Ann: ")


def test_stop_words_alone_are_kept_as_they_are() -> None:
    assert extract([_line("the"), _line("who", 1)]) == "Ann: the"


async def test_it_asks_no_model_and_refuses_to_say_nothing() -> None:
    """Row 75: nothing is accounted where no model is asked. Row 66: no letter or digit is no summary."""
    summariser = await open_summariser("extractive")
    assert summariser.name == "extractive"
    assert await summariser.summarise(_lines(TALK), "thread") == (extract(_lines(TALK)), Usage())
    for nothing in ([], [_line("..."), _line("👋🔥")]):
        with pytest.raises(UnusableAnswer, match="nothing_to_say"):
            await summariser.summarise(nothing, "thread")
    await summariser.close()


@pytest.mark.parametrize("share", [0, -1, 1.1, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        ExtractiveSummariser(share)


@pytest.mark.parametrize("name", ["", "extractive:", "openai", "openai:", "lead", "Extractive"])
async def test_an_unknown_name_is_told_the_known_ones(name: str) -> None:
    with pytest.raises(SummariserUnusable, match="extractive, openai:<model>"):
        await open_summariser(name)


def test_more_of_the_share_keeps_no_less() -> None:
    kept = [len(extract(_lines(TALK), share / 10)) for share in range(1, 11)]
    assert all(less <= more for less, more in itertools.pairwise(kept))
