"""What a value that breaks the contract raises: one error with a reason for machines, the place, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import ValidationError

_FREE = ("data", "consolidation")
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}|\[key\]", re.ASCII)
_TOO_LONG = re.compile(r"(\w+) should have at most (\d+) items? after validation, not \d+")

Reason = Literal[
    "empty", "headers", "not_json", "invalid", "unsupported", "too_large", "misrouted", "refused", "crash"
]  # fmt: skip
"""Why a record is no command of this contract, or was given up at run time; the header of a dead letter."""


class ContractError(ValueError):
    """A value is not what ``contract.md`` says.

    Attributes:
        reason: which kind of fault it is.
        place: dotted path of the field at fault, or ``""`` for the whole value.
        problem: what is wrong, without any of the value's content.
    """

    def __init__(self, reason: Reason, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}" if place else problem)
        self.reason: Reason = reason
        self.place = place
        self.problem = problem

    @property
    def named(self) -> str:
        """What is wrong, for whoever sent the value. It may hold a name of theirs, so it goes into no log."""
        return f"{self.place}: {self.problem}" if self.place else self.problem

    def __reduce__(self) -> tuple[type[ContractError], tuple[Reason, str, str]]:
        return type(self), (self.reason, self.place, self.problem)


class UnknownField(ContractError):  # noqa: N818 - what is there
    """A field that the contract doesn't know. Its name is the sender's own words.

    ``place`` has it, cut and of plain characters, so that the answer to the sender can name it; the text has not.
    """

    def __str__(self) -> str:
        above = self.place.rpartition(".")[0]
        return f"{above}: {self.problem}" if above else self.problem


class Unscoped(ContractError):  # noqa: N818 - what is lacking
    """A dimension is not named that the tenant's settings require: nothing is read or written."""

    @classmethod
    def missing(cls, dimensions: Sequence[str], place: str = "scope") -> Unscoped:
        """The refusal that names these dimensions, and no value."""
        return cls("invalid", f"{place}.{dimensions[0]}", f"memory unavailable: {', '.join(dimensions)}")


def from_pydantic(error: ValidationError) -> ContractError:
    """The first fault of a validation, translated; the input's values are left out, and keys that may be content."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    reason: Reason = "not_json" if first["type"] == "json_invalid" else "invalid"
    place = ".".join(map(_part, _known(first["loc"])))
    if first["type"] == "extra_forbidden":
        return UnknownField(reason, place[:256], "unknown field")
    return ContractError(reason, place[:256], _TOO_LONG.sub(_at_most, first["msg"].removeprefix("Value error, ")))


def _known(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The part of a place that the contract names: what lies below free JSON, and a free key, is content."""
    for at, name in enumerate(place):
        if name in _FREE and place[at - 1 : at] != ("summary",):
            return place[: at + 1]
    return (*place[:-2], "?", "[key]") if place[-1:] == ("[key]",) else place


def _at_most(found: re.Match[str]) -> str:
    """What is too long, without the library's words for its own steps."""
    return f"must have at most {found[2]} {'characters' if found[1] == 'Value' else 'items'}"


def field_name(text: str) -> str:
    """A name from outside as an answer may repeat it: as it is if it looks like a field's, else a question mark."""
    return text if _FIELD_NAME.fullmatch(text) else "?"


def _part(part: int | str) -> str:
    return str(part) if isinstance(part, int) else field_name(part)
