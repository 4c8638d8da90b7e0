"""What of a model's answer is the summary, and when it is none. Pure, linear in the answer."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, ValidationError

from afterturn.consumers.consolidator.summarising.prompting import repeats_the_task
from afterturn.consumers.consolidator.summarising.summariser import CUT, MOST_CHARS
from afterturn.consumers.text.split import cut
from afterturn.schemas.types import clean_text

_FENCE = "```"


class Answer(BaseModel):
    """A summary of the memories."""  # the model is told so, by the schema

    # An endpoint that keeps to no schema may add fields: they are left alone.
    model_config = ConfigDict(extra="ignore", strict=True, json_schema_extra={"additionalProperties": False})

    summary: str


class UnfitAnswer(ValueError):  # noqa: N818 - the answer is at fault, not the program
    """It cannot be used; ``problem`` is a stable word, never what the answer says."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def summary_of(answer: str) -> str:
    """The summary an answer holds, at most 2,000 characters of it, `CUT` included.

    Raises:
        UnfitAnswer: there is no JSON object with one (no_json), it has no letter or digit (placeholder), or it repeats
            what the model was told (repeats_prompt).
    """
    summary = clean_text(_found(answer)).strip()
    if not any(map(str.isalnum, summary)):
        raise UnfitAnswer("placeholder")
    if repeats_the_task(summary):
        raise UnfitAnswer("repeats_prompt")
    return summary if len(summary) <= MOST_CHARS else cut(summary, MOST_CHARS - len(CUT)) + CUT


def _found(answer: str) -> str:
    for text in _candidates(answer):
        try:
            return Answer.model_validate_json(text).summary
        except ValidationError:
            continue
    raise UnfitAnswer("no_json")


def _candidates(answer: str) -> Iterator[str]:
    """The whole answer, its fenced blocks, the widest first, and what its outermost braces hold."""
    yield answer
    blocks = answer.split(_FENCE)[1::2]
    yield from sorted((block[block.find("{") :] for block in blocks if "{" in block), key=len, reverse=True)
    begin, end = answer.find("{"), answer.rfind("}")
    if 0 <= begin < end:
        yield answer[begin : end + 1]
