"""``openai:<model>``: summaries by the chat of any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from afterturn.consumers.consolidator.summarising import prompting
from afterturn.consumers.consolidator.summarising.answers import UnfitAnswer, summary_of
from afterturn.consumers.consolidator.summarising.manners import Manner
from afterturn.consumers.consolidator.summarising.summariser import Line, Summarised, SummariserAway, UnusableAnswer
from afterturn.consumers.text.errors import ModelAway
from afterturn.consumers.text.openai_client import KIND, OpenAIClient, RefusedInput, Reply
from afterturn.schemas.parts import Usage
from afterturn.streams.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a model that is away or busy is asked for one group; all but ``tries`` in seconds."""

    tries: int = 4
    backoff: Backoff = field(default_factory=lambda: Backoff(first=1.0, cap=20.0))
    longest_wait_s: float = 60.0
    """An endpoint that asks for a longer wait is away."""
    whole_s: float = 180.0


@dataclass(slots=True)
class _Tally:
    """What one call of `OpenAISummariser.summarise` has used so far."""

    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, reply: Reply) -> None:
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out

    def usage(self) -> Usage:
        """Every request counts as a call, one without an answer too."""
        return Usage(model=self.model, model_calls=self.calls, tokens_in=self.tokens_in, tokens_out=self.tokens_out)


class OpenAISummariser:
    """Asks for one JSON object, once more where the answer cannot be used, and again with backoff where none comes."""

    def __init__(
        self,
        client: OpenAIClient,
        patience: Patience | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = f"{KIND}:{client.model}"
        self._client = client
        self._patience = patience or Patience()
        self._chance = chance
        self._manner = Manner()
        """What the endpoint took last: what it refused is not offered with every group."""

    async def summarise(self, texts: Sequence[Line], kind: str) -> Summarised:
        """The model's summary of ``texts``.

        Raises:
            SummariserAway: no answer within the tries and the time, or the endpoint asks to wait longer.
            UnusableAnswer: two answers that could not be used, or the request itself is refused.
            ModelUnusable: the endpoint refuses the key or the model.
        """
        tally = _Tally(self._client.model)
        try:
            async with asyncio.timeout(self._patience.whole_s):
                return await self._twice(prompting.messages(texts, kind), tally)
        except TimeoutError:
            problem = f"gives no answer within {self._patience.whole_s:g} s"
            raise SummariserAway(self._client.who, problem, tally.usage()) from None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def _twice(self, asked: Sequence[prompting.Message], tally: _Tally) -> Summarised:
        answer = await self._answer(asked, tally)
        try:
            return Summarised(summary_of(answer), tally.usage())
        except UnfitAnswer as unfit:
            asked = prompting.again(asked, answer, unfit.problem)
        answer = await self._answer(asked, tally)
        try:
            return Summarised(summary_of(answer), tally.usage())
        except UnfitAnswer as unfit:
            raise UnusableAnswer(self._client.who, unfit.problem, tally.usage()) from None

    async def _answer(self, asked: Sequence[prompting.Message], tally: _Tally) -> str:
        manner, failures = self._manner, 0
        while True:
            tally.calls += 1
            try:
                reply = await self._client.chat([each._asdict() for each in asked], manner.options())
            except RefusedInput as refused:
                plainer = manner.without(refused.field)
                if plainer is None:
                    raise UnusableAnswer(self._client.who, "refused", tally.usage()) from None
                manner = plainer
            except ModelAway as away:
                failures += 1
                await self._wait(away, failures, tally)
            else:
                self._manner = manner
                tally.add(reply)
                return reply.text

    async def _wait(self, away: ModelAway, failures: int, tally: _Tally) -> None:
        patience = self._patience
        wait = max(patience.backoff.delay(failures, self._chance()), away.retry_after_s or 0.0)
        if failures >= patience.tries or wait > patience.longest_wait_s:
            raise SummariserAway(
                self._client.who, away.problem, tally.usage(), retry_after_s=away.retry_after_s
            ) from None
        await asyncio.sleep(wait)
