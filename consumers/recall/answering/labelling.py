"""What the sources of memories are called: asked for once an answer, and left out where that fails or takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import ValidationError

from afterturn.consumers.recall.prompt.shown import labels_of
from afterturn.consumers.recall.ranking.pool import Payload
from afterturn.schemas.parts import Source

SECONDS = 0.25
"""How long labels are waited for."""
Sources = Mapping[str, Source | None]
"""Where each memory is from, by its id; None where it does not say."""


class LabelResolver(Protocol):
    """Knows what sources are called, from a catalogue of documents, say."""

    async def labels(self, tenant: str, sources: Sources, /) -> Mapping[str, Sequence[str]]:
        """Labels by memory, the one that matters most first; memories may be left out. May raise what it wants."""
        ...


class SourceLabels:
    """A memory's own word: its source's label, else its address."""

    async def labels(self, tenant: str, sources: Sources, /) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        """The labels memories bring along."""
        named = {id_: source.label or source.uri for id_, source in sources.items() if source is not None}
        return {id_: (label,) for id_, label in named.items() if label}


async def labels(
    resolver: LabelResolver, tenant: str, payloads: Mapping[str, Payload], seconds: float = SECONDS
) -> dict[str, tuple[str, ...]]:
    """At most two labels of at most 80 characters for each memory; one call for all of them, its failure ignored."""
    if not payloads or (isinstance(resolver, SourceLabels) and not any("source" in each for each in payloads.values())):
        return {}
    sources = {id_: _source(payload) for id_, payload in payloads.items()}
    asked = asyncio.ensure_future(resolver.labels(tenant, sources))
    await asyncio.wait({asked}, timeout=seconds)
    if not asked.done():
        asked.cancel()
        return {}
    if asked.cancelled() or asked.exception() is not None:
        return {}
    found = {id_: labels_of(given) for id_, given in asked.result().items() if id_ in payloads}
    return {id_: given for id_, given in found.items() if given}


def _source(payload: Payload) -> Source | None:
    try:
        return Source.model_validate(payload["source"], extra="ignore") if "source" in payload else None
    except ValidationError:
        return None
