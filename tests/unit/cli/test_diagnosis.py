"""What doctor makes of what it found. Pure."""

from __future__ import annotations

import pytest

from afterturn.consumers.diagnosis import dead_letters_of, lag_of, misrouted
from afterturn.consumers.store.settings import StoreSettings


def test_misrouted_dead_letters_ask_for_the_partitioners_table() -> None:
    found = dead_letters_of({"not_json": 2, "misrouted": 1})
    assert found.health == "note"
    assert found.lines == ("misrouted: 1", "not_json: 2")
    assert misrouted([found])
    assert not misrouted([dead_letters_of({"not_json": 2})])
    assert dead_letters_of({}).health == "ok"


@pytest.mark.parametrize(
    ("ends", "committed", "nexts", "health", "said"),
    [
        ({0: 5, 1: 0}, {0: 5, 1: None}, {0: 5, 1: 0}, "ok", "0 records"),
        ({0: 9, 1: 3}, {0: 5, 1: None}, {0: 5, 1: 0}, "note", "7 records"),
        ({0: 5}, {0: 5}, {0: 2}, "note", "0 records"),
    ],
)
def test_lag_counts_what_waits_and_names_what_heals(
    ends: dict[int, int], committed: dict[int, int | None], nexts: dict[int, int], health: str, said: str
) -> None:
    found = lag_of(ends, committed, nexts)
    assert found.health == health
    assert found.said.startswith(said)
    assert any("heals" in line for line in found.lines) == (nexts[0] < (committed[0] or 0))


@pytest.mark.parametrize("url", ["http://user:sesame@qdrant:6333", "https://sesame@qdrant:6333/under"])
def test_an_address_that_is_shown_has_no_credentials(url: str) -> None:
    shown = StoreSettings(url=url).address
    assert "sesame" not in shown
    assert "qdrant:6333" in shown
