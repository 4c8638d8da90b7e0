"""From a token's claims to a principal. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from afterturn.consumers.recall.access.principals import Principal, Right, Unauthenticated
from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import Identifier

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


def principal_of(claims: Mapping[str, Any], settings: AccessSettings) -> Principal:
    """Whom a token whose signature and times were checked stands for.

    Raises:
        Unauthenticated: a claim is missing that the settings map, or is no name.
    """
    tenants = claims_named(claims, settings.jwt_tenant_claim)
    listed = tenants if isinstance(tenants, list) else [tenants]
    if not listed:
        raise Unauthenticated("the token's claim of its tenant names none")
    scope = {
        dimension: _name(claims_named(claims, claim), f"{dimension} of the scope")
        for dimension, claim in settings.jwt_scope_claims.items()
    }
    return Principal(
        f"jwt:{claims.get('iss')}|{claims.get('sub')}",
        _rights(claims_named(claims, settings.jwt_rights_claim), settings),
        tuple(dict.fromkeys(_name(each, "tenant") for each in listed)),
        Scope.model_validate(scope),
    )


def claims_named(claims: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON
    """A claim by its name, or by a dotted path into nested ones; None where it isn't there."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _rights(value: Any, settings: AccessSettings) -> frozenset[Right]:  # noqa: ANN401 - any JSON
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(right for word in words if isinstance(word, str) for right in settings.jwt_rights.get(word, ()))


def _name(value: object, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unauthenticated(f"the token's claim of its {what} is missing, or no name")
    try:
        return _IDENTIFIER.validate_python(value)
    except ValidationError:
        raise Unauthenticated(f"the token's claim of its {what} is no name") from None
