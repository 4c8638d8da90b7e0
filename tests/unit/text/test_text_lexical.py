from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_edge import Bm25, Bm25Config

from afterturn.consumers.text.lexical import LexicalVector, document, fold, lexical_text, query, segment_cjk


def _hits(stored: str, asked: str) -> bool:
    return bool(set(document(stored).indices) & set(query(asked).indices))


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("She was running home", "who runs?"),
        ("two dogs", "the dog"),
        ("Caroline's guitars", "Caroline guitar"),
        ("don\u2019t forget the passports", "passport"),
        ("room 2023", "2023"),
        ("a well-known place", "known"),
        ("我喜欢北京烤鸭", "烤鸭"),
        ("我喜欢北京烤鸭", "北京"),
        ("我喜欢北京烤鸭", "鸭"),
        ("我用iPhone打电话", "iphone"),
        ("東京タワーに行きました", "東京"),
        ("東京タワーに行きました", "タワー"),
        ("ﾀﾜｰ", "タワー"),
        ("오리를 좋아해요", "오리"),
        ("ภาษาไทยง่าย", "ไทย"),
        ("एक नमस्ते", "नमस्ते"),
        ("Un café au lait", "CAFE"),
        ("Die Straße", "strasse"),
        ("zwei Hunde", "Hund"),
        ("los gatos", "gato"),
        ("El niño", "nino"),
        ("İstanbul", "istanbul"),
        ("ISTANBUL", "İstanbul"),
        ("Привет, Мир", "мир"),
        ("\uff26\uff35\uff2c\uff2c width", "full"),
        ("cafe\u0301", "café"),
    ],
)
def test_a_word_is_found_in_any_script_and_case(stored: str, asked: str) -> None:
    assert _hits(stored, asked)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("我喜欢北京烤鸭", "上海"), ("two dogs", "cat"), ("東京タワー", "大阪"), ("오리를 좋아해요", "고양")],
)
def test_other_words_are_not_found(stored: str, asked: str) -> None:
    assert not _hits(stored, asked)


@pytest.mark.parametrize(
    "text", ["", " ", "the and", "The And", "`", "-", '"', "*", "AND OR NOT", "\ud83d", "\0", "😀", "่"]
)
def test_a_text_without_a_token_is_an_empty_vector(text: str) -> None:
    assert not query(text)
    assert not document(text)
    assert query(text) == LexicalVector([], [])


@pytest.mark.parametrize(
    "text", ["`x`", "NEAR/2 main", "a:b -c +d", "key:*", "main", "hi \ud83d there", "x\0y", "(((", "\\"]
)
def test_no_syntax_is_an_error(text: str) -> None:
    query(text)
    document(text)


@given(st.text())
def test_any_text_makes_a_vector_a_store_takes(text: str) -> None:
    for vector in (document(text), query(text)):
        assert len(vector.indices) == len(vector.values)
        assert vector.indices == sorted(set(vector.indices))
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(0 < value < 100 for value in vector.values)


@given(st.text())
def test_a_text_finds_itself_whatever_its_case(text: str) -> None:
    assert set(query(text).indices) == set(document(text).indices)
    assert query(text.upper().lower()) == query(text.lower())


@given(st.text(alphabet=st.characters(min_codepoint=1, max_codepoint=0x7F)))
def test_ascii_text_has_the_weights_of_the_measured_recipe(text: str) -> None:
    measured = Bm25(Bm25Config(k=0.9, b=0.4, avg_len=40.0))
    assert document(text).indices == measured.embed_document(text).indices
    assert document(text).values == measured.embed_document(text).values
    assert query(text).indices == measured.embed_query(text).indices


def test_token_ids_stay_what_collections_were_written_with() -> None:
    assert query("running dogs").indices == [243905464, 1312749093]
    assert query("烤鸭").indices == sorted([*query("烤 鸭").indices, 391684780])


@given(st.text())
def test_folding_is_stable(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_runs_without_spaces_become_pairs() -> None:
    assert segment_cjk("I ate 烤鸭 here").split() == ["I", "ate", "烤鸭", "烤", "鸭", "here"]
    assert segment_cjk("北京烤鸭").split() == ["北京", "京烤", "烤鸭", "北", "京", "烤", "鸭"]
    assert segment_cjk("タワー").split() == ["タワ", "ワー"]
    assert segment_cjk("鸭").split() == ["鸭"]
    assert segment_cjk("plain, text!") == "plain, text!"


def test_the_indexed_text_names_day_and_author() -> None:
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert lexical_text("Ann", at, "Hello") == "[8 May 2023] Ann: Hello"
    assert lexical_text(None, at, "Hello") == "[8 May 2023] Hello"


def test_the_day_is_the_day_in_utc() -> None:
    evening = datetime(2023, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert lexical_text("Ann", evening, "Hi") == "[1 January 2024] Ann: Hi"


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        lexical_text("Ann", datetime(2023, 5, 8), "Hi")  # noqa: DTZ001
