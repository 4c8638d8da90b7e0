"""What the collection is called, and what counts as another one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.store.doctor import Versions, version_of
from afterturn.consumers.store.schema import collection_name, creation, indexes
from afterturn.schemas.settings import FoldSettings


def settings(embedder: str, dimension: int = 256) -> FoldSettings:
    return FoldSettings(embedder=embedder, dimension=dimension, topic="t", partitions=12, group="g")


@pytest.mark.parametrize(
    ("embedder", "name"),
    [
        ("wordllama", "memories-wordllama-256-v1"),
        ("fastembed:BAAI/bge-small", "memories-fastembed-baai-bge-small-256-v1"),
        ("openai:text-embedding-3", "memories-openai-text-embedding-3-256-v1"),
        ("/", "memories--256-v1"),
    ],
)
def test_a_collection_is_named_by_embedder_and_dimension(embedder: str, name: str) -> None:
    assert collection_name(settings(embedder)) == name


@given(st.text(max_size=300))
def test_any_embedder_gives_a_name_the_store_takes(embedder: str) -> None:
    name = collection_name(settings(embedder))
    assert len(name) <= 255
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")


def test_only_the_tenants_index_takes_part_in_a_graph() -> None:
    for field, index in indexes().items():
        assert (index.enable_hnsw is False) == (field != "tenant"), field


def test_the_metadata_are_the_settings() -> None:
    ours = settings("wordllama")
    assert FoldSettings.model_validate(creation(ours)["metadata"]) == ours


@pytest.mark.parametrize(
    ("text", "enough"),
    [("1.19.0", True), ("1.20.1-dev", True), ("v2.0.0", True), ("1.18.9", False), ("0.99", False), ("", False)],
)
def test_versions_are_compared_as_numbers(text: str, *, enough: bool) -> None:
    assert Versions("qdrant", text, "1.20.0").new_enough == enough
    assert version_of("1.9.2") < version_of("1.19.0")
