import pytest

from afterturn.consumers.text.graphemes import joined, safe_end


@pytest.mark.parametrize(
    "whole",
    [
        "e\u0301",
        "\r\n",
        "👋🏽",
        "❤\ufe0f",
        "👩\u200d👧",
        "क्",
        "🏴\U000e0067\U000e0062\U000e007f",
        "\u1112\u1161\u11ab",
        "\ud83d\ude00",
    ],
)
def test_one_character_of_several_code_points_is_kept_whole(whole: str) -> None:
    text = f"a{whole}b"
    torn = [index for index in range(len(text) + 1) if joined(text, index)]
    assert torn == list(range(2, len(whole) + 1))


def test_flags_pair_up_from_their_start() -> None:
    flags = "🇩🇪🇫🇷🇮🇹"
    assert [joined(flags, index) for index in range(1, 6)] == [True, False, True, False, True]


def test_the_ends_and_plain_letters_are_never_joined() -> None:
    assert not any(joined("ab\n c", index) for index in range(6))
    assert not joined("\u0301", 0)


def test_a_safe_end_goes_back_to_a_whole_character_but_not_for_ever() -> None:
    assert safe_end("abe\u0301", 0, 3) == 2
    assert safe_end("e\u0301", 0, 1) == 1
    assert safe_end("a" + "\u0301" * 200, 0, 100) == 100
    assert safe_end("abc", 0, 99) == 3
