"""What a query's filter means, read off its definition: the reference the store's answers are compared with."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from afterturn.schemas.conditions import FIELDS, Condition
from afterturn.schemas.points import Memory
from afterturn.schemas.when import resolve_time


def fulfils(memory: Memory, condition: Condition, now: datetime) -> bool:
    """Whether a memory fulfils a condition."""
    if condition.and_ is not None:
        return all(fulfils(memory, part, now) for part in condition.and_)
    if condition.or_ is not None:
        return any(fulfils(memory, part, now) for part in condition.or_)
    if condition.not_ is not None:
        return not fulfils(memory, condition.not_, now)
    assert condition.field is not None
    value: Any = condition.value
    if FIELDS[condition.field].sort == "time" and condition.op != "exists":
        value = [resolve_time(v, now) for v in value] if isinstance(value, tuple) else resolve_time(value, now)
    return _compared(_of(memory, condition.field), condition.op or "", value)


def _of(memory: Memory, name: str) -> Any:
    if name.startswith("entities."):
        part = name.removeprefix("entities.")
        return [getattr(entity, part) for entity in memory.entities if getattr(entity, part) is not None]
    if name == "tags":
        return list(memory.tags)
    found: Any = memory
    for part in name.split("."):
        found = None if found is None else getattr(found, part)
    return found


def _compared(found: Any, op: str, value: Any) -> bool:
    if op == "exists":
        return bool((found not in (None, [])) == value)
    if op in ("ne", "not_in"):
        return not _compared(found, "eq" if op == "ne" else "in", value)
    if found is None:
        return False
    tests: dict[str, Callable[[], Any]] = {
        "eq": lambda: found == value,
        "in": lambda: found in value,
        "gt": lambda: found > value,
        "gte": lambda: found >= value,
        "lt": lambda: found < value,
        "lte": lambda: found <= value,
        "between": lambda: value[0] <= found <= value[1],
        "contains_any": lambda: any(each in found for each in value),
        "contains_all": lambda: all(each in found for each in value),
    }
    return bool(tests[op]())
