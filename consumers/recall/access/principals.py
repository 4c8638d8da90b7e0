"""Principals and what they may. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from afterturn.schemas.errors import ContractError, Unscoped
from afterturn.schemas.query import TENANT_HEADER
from afterturn.schemas.scope import DIMENSIONS, Dimension, Scope

Right = Literal["read", "write", "erase", "review", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)


class Refusal(Exception):  # noqa: N818 - the subclasses say what is refused
    """Whoever asks may not. Neither field nor problem repeats what was sent."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class Unauthenticated(Refusal):
    """Nobody known asks: no credential, a wrong one, or one that has expired."""

    def __init__(self, problem: str) -> None:
        super().__init__("Authorization", problem)


class Forbidden(Refusal):
    """Who asks is known and may not do this."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks.

    Attributes:
        id: tells principals apart, for quotas; no secret. Empty where nobody is asked who they are.
        tenants: those it may name; None: any.
        scope: what its every read and write is bound to.
    """

    id: str
    rights: frozenset[Right]
    tenants: tuple[str, ...] | None
    scope: Scope = field(default_factory=Scope)

    def require(self, right: Right) -> None:
        """Go on only with this right.

        Raises:
            Forbidden: it isn't given.
        """
        if right not in self.rights:
            raise Forbidden("", f"this needs the right {right}")

    def require_whole_tenant(self) -> None:
        """Go on only unbound by a scope: what follows changes or tells of the whole tenant.

        Raises:
            Forbidden: a scope is fixed.
        """
        if self.scope.pairs():
            raise Forbidden("", "this concerns the whole tenant, and this credential is bound to a scope of it")

    def tenant(self, named: str | None) -> str:
        """The tenant it asks for; ``named`` chooses among several.

        Raises:
            ContractError: none is named, and there is no only one.
            Forbidden: it may not name this one.
        """
        if named is None:
            if self.tenants is not None and len(self.tenants) == 1:
                return self.tenants[0]
            raise ContractError("headers", TENANT_HEADER, "is missing: it names the tenant")
        if self.tenants is not None and named not in self.tenants:
            raise Forbidden(TENANT_HEADER, "this credential is not for this tenant")
        return named

    def may_name(self, tenant: str) -> bool:
        """Whether a tenant is one of its own."""
        return self.tenants is None or tenant in self.tenants


EVERYONE = Principal("", frozenset(RIGHTS), None)
"""Who asks where there is no authentication: the service listens on loopback only then."""


def within(own: Scope, asked: Scope, place: str = "scope") -> Scope:
    """Both scopes at once: what is fixed, and what was asked beside it.

    Raises:
        Forbidden: another value was asked of a dimension that is fixed; ``place`` leads to it.
    """
    fixed = dict(own.pairs())
    for dimension, value in asked.pairs():
        if fixed.setdefault(dimension, value) != value:
            raise Forbidden(f"{place}.{dimension}", "this credential is bound to another value")
    return Scope(**{dimension: fixed.get(dimension) for dimension in DIMENSIONS})


def require_dimensions(scope: Scope, required: Iterable[Dimension] | None, place: str = "scope") -> None:
    """Go on only with every dimension named that the tenant requires (``required_scope``).

    Raises:
        Unscoped: one is missing: nothing is read or written.
    """
    if missing := scope.missing(tuple(required or ())):
        raise Unscoped.missing(missing, place)
