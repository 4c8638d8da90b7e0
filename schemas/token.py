"""Tokens: what publishing returns, and what a reader waits for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of

_FORM = re.compile(
    r"(\d{1,3})-(\d{1,6})-(\d{1,14})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-([0-9a-f]{16}))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Token:
    """Where a command stands on the turn log, and the id of its receipt.

    ``mark``, in tokens given over HTTP, binds it to its tenant and tells a repeated command from another one under the
    same key; empty where there is none.
    """

    epoch: int
    partition: int
    offset: int
    receipt: str
    mark: str = ""

    @property
    def rev(self) -> int:
        """The command's position as one number."""
        return rev_of(self.epoch, self.offset)

    def __str__(self) -> str:
        place = f"{self.epoch}-{self.partition}-{self.offset}-{self.receipt}"
        return f"{place}-{self.mark}" if self.mark else place

    @classmethod
    def parse(cls, text: str) -> Token:
        """A token from its text.

        Raises:
            ContractError: where the text is none.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise ContractError("invalid", "after", "must be a token that publishing a turn returned")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4], found[5] or "")
