"""Variables of the environment that are nearly a setting: a typing error would go unseen, the default would hold."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic_settings import BaseSettings

PREFIX = "AFTERTURN_"
_NEAR = 0.85
_OPTIONS = frozenset({"AFTERTURN_LOG_LEVEL", "AFTERTURN_RECALL_URL", "AFTERTURN_API_KEY"})


def names_of(*kinds: type[BaseSettings]) -> frozenset[str]:
    """The variables that these settings are read from."""
    return frozenset(
        f"{kind.model_config.get('env_prefix', '')}{field}".upper() for kind in kinds for field in kind.model_fields
    )


def mistyped(environment: Iterable[str], known: frozenset[str]) -> dict[str, str]:
    """Variables of ours that are no setting and nearly one, each with the one that was meant. Pure.

    Others are left alone: an orchestrator sets variables after the names of its services.
    """
    names = known | _OPTIONS
    strange = sorted(name for name in environment if name.startswith(PREFIX) and name not in names)
    near = {name: get_close_matches(name, sorted(names), n=1, cutoff=_NEAR) for name in strange}
    return {name: found[0] for name, found in near.items() if found}
