"""Summarisers by name."""

from __future__ import annotations

import asyncio

from afterturn.consumers.consolidator.summarising.extractive import NAME as EXTRACTIVE
from afterturn.consumers.consolidator.summarising.extractive import ExtractiveSummariser
from afterturn.consumers.consolidator.summarising.openai import OpenAISummariser, Patience
from afterturn.consumers.consolidator.summarising.summariser import Summariser, SummariserUnusable
from afterturn.consumers.text.openai_client import CHAT, OpenAIClient, OpenAISettings
from afterturn.consumers.text.openai_client import KIND as OPENAI

FORMS = "extractive, openai:<model>"


async def open_summariser(
    name: str, openai: OpenAISettings | None = None, patience: Patience | None = None
) -> Summariser:
    """The summariser called ``name``. No model is asked anything yet.

    Args:
        name: one of `FORMS`.
        openai: where the endpoint of ``openai:<model>`` is; read from the environment if absent.
        patience: how long that endpoint is asked for one summary.

    Raises:
        SummariserUnusable: there is no such summariser.
        ModelUnusable: the package openai isn't installed, or its settings are wrong.
    """
    kind, _, model = name.partition(":")
    if name == EXTRACTIVE:
        return ExtractiveSummariser()
    if kind == OPENAI and model:
        client = await asyncio.to_thread(OpenAIClient, model, openai or OpenAISettings(), CHAT)
        return OpenAISummariser(client, patience)
    raise SummariserUnusable(repr(name), f"does not exist: name one of {FORMS}")
