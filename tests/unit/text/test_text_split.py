import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from afterturn.consumers.text.graphemes import joined
from afterturn.consumers.text.split import cut, split

FAMILY = "👨‍👩‍👧‍👦"
_PIECES = [
    "a",
    "word",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    ". ",
    "? ",
    "。",
    "」",
    "é",
    "e\u0301",
    FAMILY,
    "🇩🇪",
    "👋🏽",
    "\t",
    "x" * 9,
]
texts = st.one_of(st.lists(st.sampled_from(_PIECES), max_size=60).map("".join), st.text(max_size=200))
sizes = st.integers(1, 40)


@given(texts, sizes)
@example("a" + " " * 50 + "b", 10)
@example(" " * 50 + "b" * 30, 10)
@example("a" * 10 + " " * 30, 10)
def test_nothing_is_lost_and_no_part_is_blank_or_too_long(text: str, size: int) -> None:
    parts = split(text, size)
    assert "".join(parts) == (text if text.strip() else "")
    assert all(part.strip() for part in parts)
    assert all(len(part.strip()) <= size for part in parts)
    assert all(len(part) <= size or len(part) - len(part.strip()) >= size - _longest_character(text) for part in parts)


def _longest_character(text: str) -> int:
    ends = [index for index in range(len(text) + 1) if not joined(text, index)]
    return max(after - before for before, after in pairwise(ends))


@pytest.mark.parametrize("end", ["", "\n", " \n\n"])
def test_a_trailing_line_end_makes_no_part_too_long(end: str) -> None:
    for letters in range(3990, 4011):
        text = "x" * letters + end
        parts = split(text, 4000)
        assert "".join(parts) == text
        assert all(part.strip() and len(part) <= 4000 for part in parts)


@given(st.lists(st.sampled_from(["e\u0301", FAMILY, "🇩🇪", "👋🏽", "a", " ", "\r\n", "1️⃣"]), max_size=60).map("".join))
@example("🇩🇪" * 99)
@example("a" + "🇩🇪" * 99)
@example("é" * 3 + FAMILY + "\r\n" * 3)
@example("\r\n" * 3 + FAMILY)
def test_no_character_is_torn(text: str) -> None:
    place = 0
    for part in split(text, 12)[:-1]:
        place += len(part)
        assert not joined(text, place)


@given(texts, sizes)
def test_a_text_that_fits_is_one_part(text: str, size: int) -> None:
    if len(text) <= size and text.strip():
        assert split(text, size) == [text]


@pytest.mark.parametrize(
    ("text", "size", "parts"),
    [
        ("One two. Three.\n\nFour five.", 20, ["One two. Three.\n\n", "Four five."]),
        ("One two three.\n\nFour. Five six seven.", 30, ["One two three.\n\n", "Four. Five six seven."]),
        ("One two. Three four five.", 20, ["One two. ", "Three four five."]),
        ('He said "No!" Then he left.', 20, ['He said "No!" ', "Then he left."]),
        ("one two three four five", 12, ["one two ", "three four ", "five"]),
        ("12345678 90", 8, ["12345678", " 90"]),
        ("我喜欢北京。烤鸭很好吃。真的", 8, ["我喜欢北京。", "烤鸭很好吃。真的"]),
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
        ("a line\nanother line\nlast", 20, ["a line\nanother line\n", "last"]),
        ("A. " + "b" * 30, 20, ["A. ", "b" * 20, "b" * 10]),
        ("ab" + " " * 20, 10, ["ab" + " " * 20]),
        (FAMILY + FAMILY, 10, [FAMILY, FAMILY]),
        ("aaaa\r\nbbb", 5, ["aaaa", "\r\nbbb"]),
    ],
)
def test_the_best_boundary_is_taken(text: str, size: int, parts: list[str]) -> None:
    assert split(text, size) == parts


def test_an_early_paragraph_does_not_make_a_tiny_part() -> None:
    assert split("Hi\n\n" + "word " * 10, 40)[0] == "Hi\n\n" + "word " * 7


def test_a_boundary_far_before_the_limit_is_found() -> None:
    first = "word " * 300 + "\n\n"
    assert split(first + "word " * 900, 4000)[0] == first


@given(texts, sizes)
@example("  a", 2)
def test_a_cut_text_is_the_start_and_not_blank(text: str, size: int) -> None:
    short = cut(text, size)
    assert len(short) <= size
    assert text.startswith(short) or text.lstrip().startswith(short)
    assert bool(short.strip()) == bool(text.strip())
    if len(text) <= size:
        assert short == text


def test_cutting_keeps_the_last_character_whole() -> None:
    assert cut("a" + FAMILY, 4) == "a"
    assert cut("a" + "\u0301" * 500, 100) == "a" + "\u0301" * 99


@pytest.mark.parametrize("size", [0, -1])
def test_a_part_holds_at_least_one_code_point(size: int) -> None:
    with pytest.raises(ValueError, match="max_chars"):
        split("text", size)
    with pytest.raises(ValueError, match="max_chars"):
        cut("text", size)


@pytest.mark.parametrize(
    "unit",
    ["lorem ipsum dolor ", "x", ".", "\n a", " ", '"', "。」", "a\u0301", "🇩🇪", FAMILY, "\n" + " " * 3900, "Hm?! "],
)
def test_two_megabytes_split_in_linear_time(unit: str) -> None:
    text = "a." + unit * (2_000_000 // len(unit)) + "b"
    started = time.process_time()
    parts = split(text, 4000)
    assert time.process_time() - started < 30  # quadratic work takes many minutes
    assert "".join(parts) == text
