"""Query parameters, read strictly: what is not known, or comes twice where once is meant, is refused by name."""

from __future__ import annotations

import math
from collections.abc import Collection

from pydantic import ValidationError
from starlette.requests import Request

from afterturn.schemas.errors import ContractError, field_name, from_pydantic
from afterturn.schemas.scope import DIMENSIONS, Scope

SCOPE = tuple(f"scope.{dimension}" for dimension in DIMENSIONS)
"""A dimension is named as ``scope.user=ada``."""


_DIGITS = 12


class Parameters:
    """The query parameters of a request; only ``known`` ones may be there."""

    def __init__(self, request: Request, known: Collection[str]) -> None:
        self._given: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items():
            if name not in known:
                raise ContractError("invalid", field_name(name), "unknown parameter")
            self._given.setdefault(name, []).append(value)

    def one(self, name: str) -> str | None:
        """A parameter's value.

        Raises:
            ContractError: it comes more than once.
        """
        values = self._given.get(name, [])
        if len(values) > 1:
            raise ContractError("invalid", name, "must be there once")
        return values[0] if values else None

    def every(self, name: str) -> list[str] | None:
        """All values of a parameter, as often as it comes; None where it doesn't."""
        return self._given.get(name)

    def flag(self, name: str) -> bool:
        """A switch: ``true`` or ``false``, which it is without.

        Raises:
            ContractError: it is neither.
        """
        value = self.one(name) or "false"
        if value not in {"true", "false"}:
            raise ContractError("invalid", name, "must be true or false")
        return value == "true"

    def number(self, name: str, usual: int, most: int) -> int:
        """A whole number from 1; what is more than ``most`` is taken as that.

        Raises:
            ContractError: it is no such number.
        """
        value = self.one(name)
        if value is None:
            return usual
        if not (value.isascii() and value.isdecimal()) or not int(value[:_DIGITS]):
            raise ContractError("invalid", name, "must be a whole number of at least 1")
        return min(int(value[:_DIGITS]), most)

    def position(self, name: str) -> int:
        """A whole number from 0, which it is without.

        Raises:
            ContractError: it is no such number.
        """
        value = self.one(name) or "0"
        if not (value.isascii() and value.isdecimal()) or len(value) > _DIGITS:
            raise ContractError("invalid", name, "must be a whole number from 0")
        return int(value)

    def share(self, name: str) -> float:
        """A number that is to be a share; the contract says which are.

        Raises:
            ContractError: it is no number.
        """
        try:
            return float(self.one(name) or "")
        except ValueError:
            raise ContractError("invalid", name, "must be a number from 0 to 1") from None

    def seconds(self, name: str, most: float) -> float:
        """A bounded time to wait; 0 without.

        Raises:
            ContractError: it is no such time.
        """
        value = self.one(name)
        if value is None:
            return 0.0
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if not 0 <= found <= most:
            raise ContractError("invalid", name, f"must be seconds, from 0 to {most:g}")
        return found

    def scope(self) -> Scope:
        """The scope that is named.

        Raises:
            ContractError: a value is none.
        """
        given = {dimension: self.one(f"scope.{dimension}") for dimension in DIMENSIONS}
        try:
            return Scope.model_validate({name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            fault = from_pydantic(error)
        raise ContractError("invalid", f"scope.{fault.place}", fault.problem)
