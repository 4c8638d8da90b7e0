"""Recipes to compare, by the names of their numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.schemas.errors import ContractError

_NEUTRAL = {"lexical_power": 1.0}
_FORM = "write NAME=VALUE[,VALUE], a series of numbers as 0.3/0.2/0.1"


def tried(recipe: Recipe, wishes: Iterable[str]) -> dict[str, dict[str, Recipe]]:
    """For each wish, as ``dense_weight=0.5,0.9``, the recipes with these values, by their label.

    Several numbers change together where a wish joins them: ``author=0.6+question=0.3``.

    Raises:
        ContractError: there is no such number, or a value is none.
    """
    return {wish: dict(_variants(recipe, wish)) for wish in wishes}


def _variants(recipe: Recipe, wish: str) -> Iterator[tuple[str, Recipe]]:
    if "+" in wish:
        changes = dict(_parsed(recipe, one) for one in wish.split("+"))
        yield wish, replace(recipe, **changes)
        return
    name, _, values = wish.partition("=")
    for value in values.split(","):
        yield f"{name}={value}", replace(recipe, **dict([_parsed(recipe, f"{name}={value}")]))


def _parsed(recipe: Recipe, wish: str) -> tuple[str, Any]:
    name, _, value = wish.strip().partition("=")
    if name not in {field.name for field in fields(Recipe)}:
        raise ContractError("invalid", "try", f"the recipe has no number {name!r}")
    now = getattr(recipe, name)
    try:
        if isinstance(now, tuple):
            return name, tuple(map(float, value.split("/")))
        return name, int(value) if isinstance(now, int) else float(value)
    except ValueError:
        raise ContractError("invalid", "try", f"{value!r} is no value of {name}: {_FORM}") from None


def without(recipe: Recipe) -> dict[str, Recipe]:
    """The recipe with each of its numbers that is a weight set to nothing, one at a time."""
    weights = (name for name in (field.name for field in fields(Recipe)) if _is_weight(getattr(recipe, name)))
    nothing: dict[str, Any] = {name: _NEUTRAL.get(name, _nothing(getattr(recipe, name))) for name in weights}
    return {f"without {name}": replace(recipe, **{name: value}) for name, value in nothing.items()}


def _is_weight(value: object) -> bool:
    return isinstance(value, (float, tuple)) and value not in (0.0, _nothing(value))


def _nothing(value: object) -> float | tuple[float, ...]:
    return (0.0,) * len(value) if isinstance(value, tuple) else 0.0
