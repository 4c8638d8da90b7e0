"""Every metric is documented once, with its type, labels and meaning; none names a tenant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recorder.metrics import LagCollector, RecorderMetrics

PAGE = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"
Row = tuple[str, str, str, str]


def registered() -> set[Row]:
    """Name as scraped, type, labels and meaning of all there is."""
    registry = CollectorRegistry()
    RecorderMetrics(registry)
    RecallMetrics(registry)
    registry.register(LagCollector(lambda: {3: 5}))
    return {row for collector in list(registry._collector_to_names) for row in _rows(collector)}


def _rows(collector: object) -> Iterable[Row]:
    if isinstance(collector, MetricWrapperBase):
        (family,) = collector.describe()
        labels = ", ".join(collector._labelnames)
        yield _named(family.name, family.type), family.type, labels, family.documentation
    elif isinstance(collector, LagCollector):
        for family in collector.collect():
            labels = ", ".join(sorted({name for sample in family.samples for name in sample.labels}))
            yield family.name, family.type, labels, family.documentation


def _named(name: str, kind: str) -> str:
    return f"{name}_total" if kind == "counter" else name


def documented() -> list[Row]:
    lines = re.findall(r"^\| `(afterturn_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    return [(name, kind, labels.strip().replace("`", ""), says.strip()) for name, kind, labels, says in lines]


def test_the_page_says_what_there_is() -> None:
    rows = documented()
    assert len({name for name, *_ in rows}) == len(rows), "each once"
    assert set(rows) == registered()


@pytest.mark.parametrize("word", ["tenant", "thread", "key", "content"])
def test_no_label_can_name_anyone(word: str) -> None:
    assert not [name for name, _, labels, _ in registered() if word in labels.split(", ")]
