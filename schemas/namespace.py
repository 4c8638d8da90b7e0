"""A tenant and a scope as one text, for people: ids are never made of it (features of B4.run's codec).

Dimensions stand in a fixed order, as ``workspace=app|tenant=acme|user=ada``; ``%``, ``|`` and ``=`` in a value are
percent-encoded, so that no value can look like a dimension.
"""

from __future__ import annotations

import re

from afterturn.schemas.errors import ContractError
from afterturn.schemas.scope import Scope

ORDER = ("workspace", "route", "tenant", "user", "agent")
_CODED = {"%25": "%", "%7C": "|", "%3D": "="}
_ESCAPE = re.compile("%25|%7C|%3D")


def namespace_of(tenant: str | None, scope: Scope) -> str:
    """The text of a tenant, where one is meant, and a scope.

    Raises:
        ContractError: neither names anything.
    """
    named = {**dict(scope.pairs()), **({} if tenant is None else {"tenant": tenant})}
    if not named:
        raise ContractError("invalid", "scope", f"must name at least one of {', '.join(ORDER)}")
    return "|".join(f"{dimension}={_escaped(named[dimension])}" for dimension in ORDER if dimension in named)


def read_namespace(text: str) -> tuple[str | None, Scope]:
    """The tenant, if there is one, and the scope of such a text.

    Raises:
        ContractError: it is none.
    """
    named: dict[str, str] = {}
    for part in text.split("|"):
        dimension, equals, value = part.partition("=")
        if not equals or dimension not in ORDER or dimension in named or not _is_escaped(value):
            raise ContractError("invalid", "namespace", f"must be {'|'.join(f'{each}=…' for each in ORDER)}, each once")
        named[dimension] = _ESCAPE.sub(lambda found: _CODED[found[0]], value)
    if list(named) != [dimension for dimension in ORDER if dimension in named]:
        raise ContractError("invalid", "namespace", f"its dimensions stand in the order {', '.join(ORDER)}")
    return named.pop("tenant", None), Scope(**named)


def _escaped(value: str) -> str:
    return value.replace("%", "%25").replace("|", "%7C").replace("=", "%3D")


def _is_escaped(value: str) -> bool:
    return bool(value) and not re.search("[|=%]", _ESCAPE.sub("", value))
