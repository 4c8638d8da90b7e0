"""A variable that is nearly a setting is told; any other is left alone."""

from __future__ import annotations

import pytest

from afterturn.consumers.cli.variables import mistyped, names_of
from afterturn.consumers.recorder.service import RecorderSettings
from afterturn.consumers.settings import ServiceSettings

KNOWN = names_of(ServiceSettings, RecorderSettings)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AFTERTURN_RECORDER_BATCHPOINTS", "AFTERTURN_RECORDER_BATCH_POINTS"),
        ("AFTERTURN_PARTITION", "AFTERTURN_PARTITIONS"),
        ("AFTERTURN_MAX_MEMORY", "AFTERTURN_MAX_MEMORIES"),
    ],
)
def test_a_typing_error_is_told_with_what_was_meant(name: str, meant: str) -> None:
    assert mistyped([name, "PATH"], KNOWN) == {name: meant}


def test_what_others_set_is_left_alone() -> None:
    orchestrators = ["AFTERTURN_RECALL_SERVICE_HOST", "AFTERTURN_RECORDER_PORT_8081_TCP_ADDR", "AFTERTURN_FAULTS"]
    assert mistyped([*KNOWN, *orchestrators, "AFTERTURN_LOG_LEVEL", "afterturn_partition"], KNOWN) == {}
