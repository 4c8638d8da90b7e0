"""How a chat endpoint is spoken to: what every one may be asked for, and what is left out where it is refused. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from afterturn.consumers.consolidator.summarising.answers import Answer
from afterturn.consumers.consolidator.summarising.prompting import MAX_TOKENS, TEMPERATURE

Form = Literal["json_schema", "json_object", "text"]
_PLAINER: dict[Form, Form] = {"json_schema": "json_object", "json_object": "text"}
_SCHEMA = {"name": "summary", "strict": True, "schema": Answer.model_json_schema()}


@dataclass(frozen=True, slots=True)
class Manner:
    """The options of a request: structured output, 500 tokens, temperature 0.3, as far as the endpoint takes them."""

    form: Form = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def options(self) -> dict[str, object]:
        """The fields of the request beside model and messages."""
        options: dict[str, object] = {self.limit: MAX_TOKENS}
        if self.temperature:
            options["temperature"] = TEMPERATURE
        if self.form != "text":
            schema = {"json_schema": _SCHEMA} if self.form == "json_schema" else {}
            options["response_format"] = {"type": self.form, **schema}
        return options

    def without(self, refused: str | None) -> Manner | None:
        """What to try after a request was refused for the field ``refused`` (None: it doesn't say which).

        None where nothing is left to leave out: then the request itself is refused.
        """
        if refused == "temperature" and self.temperature:
            return replace(self, temperature=False)
        if refused == self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        plainer = _PLAINER.get(self.form)
        return replace(self, form=plainer) if plainer and refused in (None, "response_format") else None
