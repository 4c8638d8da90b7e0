"""Embedders by name."""

from __future__ import annotations

import asyncio

from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.errors import EmbedderUnusable
from afterturn.consumers.text.fastembed_embedder import KIND as FASTEMBED
from afterturn.consumers.text.fastembed_embedder import FastembedEmbedder
from afterturn.consumers.text.openai_client import KIND as OPENAI
from afterturn.consumers.text.openai_client import OpenAISettings
from afterturn.consumers.text.openai_embedder import open_openai
from afterturn.consumers.text.wordllama_embedder import NAME as WORDLLAMA
from afterturn.consumers.text.wordllama_embedder import WordLlamaEmbedder

FORMS = "wordllama, fastembed:<model or folder>, openai:<model>"


async def open_embedder(name: str, openai: OpenAISettings | None = None) -> Embedder:
    """The embedder called ``name``, loaded (a second or more, off the event loop) and ready.

    Args:
        name: one of `FORMS`.
        openai: where the endpoint of ``openai:<model>`` is; read from the environment if absent.

    Raises:
        EmbedderUnusable: there is no such embedder, its extra isn't installed, or its settings are wrong.
        EmbedderAway: it is away, and it alone knows its dimension.
    """
    kind, _, model = name.partition(":")
    if name == WORDLLAMA:
        return await asyncio.to_thread(WordLlamaEmbedder)
    if kind == FASTEMBED and model:
        return await asyncio.to_thread(FastembedEmbedder, model)
    if kind == OPENAI and model:
        return await open_openai(model, openai or OpenAISettings())
    raise EmbedderUnusable(repr(name), f"does not exist: name one of {FORMS}")
