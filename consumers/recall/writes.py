"""What became of a write: read from its receipt and its partition's checkpoint."""

from __future__ import annotations

import math
from dataclasses import replace

from afterturn.consumers.recall.answering.arrivals import Arrivals, Store, token_of
from afterturn.schemas.commands import Command
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import content_digest, digest_of
from afterturn.schemas.points import Memory, Outcome, Receipt, StoredPoint
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import FoldSettings
from afterturn.schemas.token import Token
from afterturn.schemas.writes import WriteStatus
from afterturn.streams.errors import Retry

_HALF = 8
_SKIPPED = "memory.skipped.v1"


def marked(token: Token, tenant: str, command: Command) -> Token:
    """A token that can be asked about: bound to its tenant, and knowing which content it stands for."""
    return replace(token, mark=_bound(token, tenant) + content_digest(command)[:_HALF])


def _bound(token: Token, tenant: str) -> str:
    return digest_of([tenant, token.epoch, token.partition, token.offset, token.receipt])[:_HALF]


def known_token(tenant: str, text: str, fold: FoldSettings) -> Token | None:
    """The token of a write of this tenant; None where it is none, as far as arithmetic tells."""
    try:
        token = token_of(tenant, text, fold)
    except ContractError:
        return None
    return token if not token.mark or token.mark.startswith(_bound(token, tenant)) else None


def ending(token: Token, receipt: Memory | Receipt, outcome: Outcome) -> WriteStatus:
    """How an applied command ended, by the receipt at its id. Pure.

    ``born`` is the receipt's own: another than the token's is that of an earlier command under the same key.
    """
    if receipt.born != token.rev:
        digest = receipt.digest
        same = digest is None or not token.mark or token.mark.endswith(digest[:_HALF])
        return WriteStatus(status="duplicate" if same else "conflict", token=str(token))
    if outcome.reason == "dead_letter":
        return WriteStatus(status="dead_lettered", token=str(token), reason=outcome.reason)
    if outcome.event == _SKIPPED:
        return WriteStatus(status="skipped", token=str(token), reason=outcome.reason)
    event = outcome.event.rpartition(".v")[0]
    return WriteStatus(status="visible", token=str(token), event=event, counts=outcome.counts)


class Writes:
    """Tells of writes, and waits for them. Who asks sees those of its tenant, and of its scope as far as one is kept.

    Every method raises:
        Retry: the store does not answer.
    """

    def __init__(self, store: Store, fold: FoldSettings) -> None:
        self._store = store
        self._arrivals = Arrivals(store, fold, seconds=math.inf)

    async def status(self, tenant: str, own: Scope, token: Token) -> WriteStatus | None:
        """Where a write stands; None where this tenant has no such write, or has it no more."""
        passed = await self._arrivals.passed(token)
        receipt = await self._store.receipt(token.receipt)
        if receipt is not None and not _shown(receipt, tenant, own):
            return None
        if not passed:
            return WriteStatus(status="accepted", token=str(token))
        if not isinstance(receipt, Memory | Receipt) or receipt.outcome is None:
            return None
        if receipt.born == token.rev and not await self._arrivals.landed(receipt, receipt.outcome):
            return WriteStatus(status="accepted", token=str(token))
        return ending(token, receipt, receipt.outcome)

    async def settled(self, tenant: str, own: Scope, token: Token, seconds: float) -> WriteStatus | None:
        """Where a write stands as soon as that is settled, or after so many seconds."""
        found = await self.status(tenant, own, token)
        if seconds <= 0 or found is None or found.status != "accepted":
            return found
        await self._arrivals.wait(tenant, token, seconds)
        return await self.status(tenant, own, token)

    async def after_publishing(self, tenant: str, own: Scope, token: Token, seconds: float) -> WriteStatus:
        """``settled`` of what was just published: it is accepted, whatever can be told of it now."""
        accepted = WriteStatus(status="accepted", token=str(token))
        if seconds <= 0:
            return accepted
        try:
            return await self.settled(tenant, own, token, seconds) or accepted
        except Retry:
            return accepted


def _shown(receipt: StoredPoint, tenant: str, own: Scope) -> bool:
    if receipt.tenant != tenant:
        return False
    erased = getattr(receipt, "status", None) == "erased"
    return erased or not isinstance(receipt, Memory) or set(own.pairs()) <= set(receipt.scope.pairs())
