"""A publisher's own key: which memory it stands for now."""

from __future__ import annotations

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.recording import supersede
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.ids import key_id
from afterturn.schemas.points import KeyState, Memory


def take_key(view: View, arrival: Arrival, memory: Memory, id_: str, version: int | None = None) -> int:
    """Let a memory's key stand for it from now on; how many memories that supersedes."""
    if memory.key is None:
        return 0
    known = view.key(memory.tenant, memory.scope, memory.key)
    state = KeyState(
        partition=arrival.record.partition,
        born=known.born if known else arrival.rev,
        rev=arrival.rev,
        tenant=memory.tenant,
        scope=memory.scope,
        key=memory.key,
        current=id_,
        version=known.version if known and version is None else version,
    )
    view.put(key_id(memory.tenant, memory.scope, memory.key), state)
    return supersede(view, arrival, [known.current] if known and known.current else [])
