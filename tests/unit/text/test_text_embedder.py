import math
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.text.embedder import Embedded, Embedder, Vector, checked, slug_of
from afterturn.consumers.text.errors import EmbedderAway, EmbedderUnusable
from afterturn.consumers.text.registry import open_embedder
from afterturn.streams.errors import Retry, Stop


class _Three:
    name = "three"
    slug = "three"
    dimension = 3

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded([[1.0, 0.0, 0.0] for _ in texts], tokens=0, calls=1)

    async def embed_query(self, text: str) -> Vector | None:
        return [1.0, 0.0, float(len(text))]

    async def close(self) -> None:
        pass


THREE: Embedder = _Three()


@pytest.mark.parametrize(
    "bad",
    [
        [0.0, 0.0, 0.0],
        [1.0, math.nan, 0.0],
        [math.inf, 1.0, 1.0],
        [math.inf, -math.inf, 1.0],
        [1e300, 0.0, 0.0],
        [1e-30, 0.0, 0.0],
        None,
    ],
)
def test_what_no_store_may_hold_is_refused(bad: Vector | None) -> None:
    good = [0.5, -0.5, 0.0]
    assert checked([good, bad, good], 3, THREE) == [good, None, good]


@given(st.lists(st.floats(-1e3, 1e3).filter(lambda number: abs(number) > 1e-3), min_size=3, max_size=3))
def test_any_ordinary_vector_is_kept(vector: Vector) -> None:
    assert checked([vector], 1, THREE) == [vector]


@pytest.mark.parametrize("vector", [[1.0, 1.0], [1.0] * 4, [], [math.nan] * 2])
def test_another_dimension_stops(vector: Vector) -> None:
    with pytest.raises(EmbedderUnusable, match=rf"three gave a vector of {len(vector)} numbers where 3 were") as raised:
        checked([[1.0] * 3, vector], 2, THREE)
    assert isinstance(raised.value, Stop)


@pytest.mark.parametrize("count", [0, 2])
def test_another_number_of_vectors_is_tried_again(count: int) -> None:
    with pytest.raises(EmbedderAway, match=f"gave {count} vectors for 1 texts") as raised:
        checked([[1.0] * 3] * count, 1, THREE)
    assert isinstance(raised.value, Retry)
    assert raised.value.dependency == "embedder"


def test_refused_texts_are_counted() -> None:
    assert Embedded([[1.0], None, None], tokens=3, calls=1).unembedded == 2
    assert Embedded([], tokens=0, calls=0).unembedded == 0


_names = st.sampled_from(["fastembed", "openai"]).flatmap(
    lambda kind: st.text(st.sampled_from("abAB/:-._ é"), min_size=1, max_size=8).map(lambda model: f"{kind}:{model}")
)


@given(_names, _names)
def test_distinct_names_have_distinct_safe_slugs(one: str, other: str) -> None:
    assert (slug_of(one) == slug_of(other)) == (one == other)
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", slug_of(one))


def test_slugs_stay_what_collections_are_called() -> None:
    assert slug_of("openai:text-embedding-3-small") == "openai-text-embedding-3-small"
    assert slug_of("fastembed:BAAI/bge-small-en-v1.5") == "fastembed-baai-bge-small-en-v1.5-f1f52874"
    assert len(slug_of("openai:" + "x" * 500)) < 100


@pytest.mark.parametrize("name", ["", "nonsense", "wordllama:x", "openai:", "fastembed:", "openai", "cohere:x"])
async def test_an_unknown_name_is_refused_with_the_forms(name: str) -> None:
    with pytest.raises(EmbedderUnusable) as raised:
        await open_embedder(name)
    for form in ("wordllama", "fastembed:<model or folder>", "openai:<model>"):
        assert form in str(raised.value)
