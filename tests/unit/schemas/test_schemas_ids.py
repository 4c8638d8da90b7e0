"""Ids: their bytes never change, and no two keys share one."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import commands, identifiers, scopes

from afterturn.schemas.commands import Collect, Command, TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import (
    NAMESPACE,
    checkpoint_id,
    command_key,
    digest_of,
    event_id,
    memory_id,
    memory_ids,
    position_of,
    receipt_id,
    rev_of,
    tenant_id,
    thread_id,
    turn_key,
)
from afterturn.schemas.scope import Scope
from afterturn.schemas.token import Token

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "ids.json"
COLLECT = Collect(partition=3, below=1)
MAKERS: dict[str, Any] = {
    "turn": lambda tenant, scope, thread, turn, n: memory_id(tenant, turn_key(Scope(**scope), thread, turn), n),
    "thread": lambda tenant, scope, thread: thread_id(tenant, Scope(**scope), thread),
    "command": lambda tenant, source, id_, n: memory_id(tenant, command_key(COLLECT, source, id_), n),
    "tenant": tenant_id,
    "checkpoint": checkpoint_id,
    "event": event_id,
}
ROWS: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['make']} {row['id'][:8]}")
def test_an_id_never_changes(row: dict[str, Any]) -> None:
    assert MAKERS[row["make"]](*row["arguments"]) == row["id"]


def test_the_golden_ids_are_of_every_kind_and_differ() -> None:
    assert {row["make"] for row in ROWS} == set(MAKERS)
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_a_program_in_another_language_can_make_a_receipts_id() -> None:
    namespace = uuid5(NAMESPACE_OID, "afterturn")
    assert str(namespace) in (Path(__file__).parents[3] / "docs" / "contracts" / "README.md").read_text(
        encoding="utf-8"
    )
    made = uuid5(namespace, '["memory","t",[[["agent","a"],["user","ü"]],"h","1"],0]')
    fields = {"tenant": "t", "thread": "h", "turn_id": "1", "occurred_at": "2026-01-01T00:00:00Z", "messages": []}
    turn = TurnCompleted.model_validate({**fields, "scope": {"user": "ü", "agent": "a"}})
    assert receipt_id(turn, "any", "any") == str(made)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a&run_id=b", {}, "c", "1"), ("a", {}, "b&run_id=c", "1")),
        (("t:1", {}, "u", "1"), ("t", {}, "1:u", "1")),
        (("team_a", {}, "x", "1"), ("team", {}, "a_x", "1")),
        (("t", {"user": "u1"}, "s", "1"), ("t", {"user": "u2"}, "s", "1")),
        (("t", {"user": "u"}, "s", "1"), ("t", {"agent": "u"}, "s", "1")),
        (("t", {"user": "u"}, "s", "1"), ("t", {}, "s", "1")),
        (("t", {}, "s1", "2"), ("t", {}, "s", "12")),
        (("t", {}, '"],["', "1"), ("t", {}, "", '"],["1')),
    ],
)
def test_names_that_strings_would_join_stay_apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    """I-36, I-37: what is joined by no separator can't be taken for something else."""

    def ids(key: tuple[Any, ...]) -> tuple[str, str]:
        tenant, scope, thread, turn = key
        return memory_id(tenant, turn_key(Scope(**scope), thread, turn), 0), thread_id(tenant, Scope(**scope), thread)

    assert ids(one)[0] != ids(other)[0]
    assert one[:3] == other[:3] or ids(one)[1] != ids(other)[1]


TURN_KEYS = st.tuples(identifiers(), scopes(), identifiers(), identifiers(), st.integers(0, 3))


def id_of(key: tuple[str, Scope, str, str, int]) -> str:
    tenant, scope, thread, turn_id, ordinal = key
    return memory_id(tenant, turn_key(scope, thread, turn_id), ordinal)


@given(TURN_KEYS, TURN_KEYS)
def test_two_turns_share_an_id_only_if_they_are_one(
    one: tuple[str, Scope, str, str, int], other: tuple[str, Scope, str, str, int]
) -> None:
    assert (id_of(one) == id_of(other)) == (one == other)


@given(TURN_KEYS, identifiers(), identifiers(), st.integers(0, 3))
def test_turns_threads_tenants_and_other_commands_never_share_an_id(
    turn: tuple[str, Scope, str, str, int], source: str, ce_id: str, ordinal: int
) -> None:
    tenant, scope, thread, _, _ = turn
    made = [
        id_of(turn),
        thread_id(tenant, scope, thread),
        tenant_id(tenant),
        memory_id(tenant, [source, ce_id], ordinal),
    ]
    assert len({*made, checkpoint_id(ordinal), event_id(ce_id, 0, 0, ordinal)}) == len(made) + 2


@given(identifiers(), identifiers(), identifiers())
def test_however_a_text_is_split_into_tenant_thread_and_turn_the_ids_differ(a: str, b: str, c: str) -> None:
    text = a + b + c
    cuts = [(i, j) for i in range(1, len(text) - 1) for j in range(i + 1, len(text))][:200]
    made = [id_of((text[:i], Scope(), text[i:j], text[j:], 0)) for i, j in cuts]
    assert len(set(made)) == len(cuts)


@given(commands(), identifiers(), identifiers())
def test_a_receipt_is_the_first_of_its_commands_points(command: Command, source: str, ce_id: str) -> None:
    tenant = getattr(command, "tenant", "")
    ids = memory_ids(tenant, command_key(command, source, ce_id), 3)
    assert receipt_id(command, source, ce_id) == ids[0]
    assert len(set(ids)) == 3


def test_a_turns_key_ignores_who_sent_it_and_when() -> None:
    fields = {"tenant": "t", "thread": "h", "turn_id": "1", "occurred_at": "2026-01-01T00:00:00Z", "messages": []}
    turn = TurnCompleted.model_validate(fields)
    later = TurnCompleted.model_validate({**fields, "occurred_at": "2027-01-01T00:00:00Z", "tags": ["x"]})
    assert receipt_id(turn, "shop", "1") == receipt_id(later, "another", "2")


@given(st.integers(0, 511), st.integers(0, 2**44 - 1))
def test_a_rev_is_a_position_and_stays_exact_in_every_store(epoch: int, offset: int) -> None:
    rev = rev_of(epoch, offset)
    assert position_of(rev) == (epoch, offset)
    assert rev < 2**53


@given(st.lists(st.tuples(st.integers(0, 511), st.integers(0, 2**44 - 1)), min_size=2, max_size=6))
def test_revs_are_ordered_over_epochs(positions: list[tuple[int, int]]) -> None:
    assert all(rev_of(*a) <= rev_of(*b) for a, b in pairwise(sorted(positions)))


@given(st.integers(0, 511), st.integers(0, 999_999), st.integers(0, 2**44 - 1), st.uuids().map(str))
def test_a_token_comes_back_from_its_text(epoch: int, partition: int, offset: int, receipt: str) -> None:
    token = Token(epoch, partition, offset, receipt)
    assert Token.parse(str(token)) == token
    assert token.rev == rev_of(epoch, offset)


@given(st.text() | st.from_regex(r"[0-9]+-[0-9]+-[0-9]+-[0-9a-f-]*"))
@example("\u0661-0-0-00000000-0000-4000-8000-000000000000")
@example("0-0-0-00000000-0000-4000-8000-000000000000\n")
@example("0-0-0-00000000-0000-4000-8000-00000000000A")
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(ContractError) as found:
        assert str(Token.parse(text)) != text
    assert found.value.place == "after"


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=3), max_size=3))
def test_a_digest_tells_contents_apart(parts: list[list[str]]) -> None:
    assert digest_of(parts) == digest_of(orjson.loads(orjson.dumps(parts)))
    assert digest_of(parts) != digest_of([*parts, []])
    assert len(digest_of(parts)) == 32


def test_the_namespace_never_changes() -> None:
    assert str(NAMESPACE) == "7941cb8b-700e-5d9f-9218-c04d4aa118cf"
