"""API keys: known by their secret alone, kept as its hash, read again when their file changes."""

from __future__ import annotations

import logging
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.recall.access.keyring import KeyRing, fixed_keys, load, save
from afterturn.consumers.recall.access.keys import KeyFile, KeyRecord, hash_of, identify, new_secret, read_keys
from afterturn.consumers.recall.access.principals import Unauthenticated
from afterturn.schemas.errors import ContractError
from afterturn.streams.errors import BadSettings

NOW = datetime(2026, 4, 1, tzinfo=UTC)


def made(**fields: Any) -> tuple[str, KeyRecord]:
    id_, key, hashed = new_secret()
    usual: dict[str, Any] = {"id": id_, "sha256": hashed, "rights": ("read",), "tenants": ("acme",)}
    return key, KeyRecord.model_validate(usual | fields)


def test_a_key_is_known_by_its_secret_and_kept_without_it() -> None:
    key, record = made()
    assert identify({record.id: record}, key, NOW).tenants == ("acme",)
    secret = key.split("_", 2)[2]
    assert len(secret) >= 43, "32 random bytes"
    assert secret not in KeyFile(keys=(record,)).body().decode()


@given(st.text(max_size=80))
def test_nothing_else_is_a_key(text: str) -> None:
    key, record = made()
    for wrong in (text, f"aft_{text}", f"aft_{record.id}_{text}", key + text + "x", key[:-1], key.upper()):
        with pytest.raises(Unauthenticated):
            identify({record.id: record}, wrong, NOW)


def test_the_hash_itself_opens_nothing() -> None:
    _, record = made()
    with pytest.raises(Unauthenticated):
        identify({record.id: record}, f"aft_{record.id}_{record.sha256}", NOW)


def test_an_unknown_id_says_the_same_as_a_wrong_secret() -> None:
    _, record = made()
    said = set()
    for wrong in ("aft_unknown_secret", f"aft_{record.id}_secret"):
        with pytest.raises(Unauthenticated) as refused:
            identify({record.id: record}, wrong, NOW)
        said.add(str(refused.value))
    assert len(said) == 1


def test_a_key_ends_at_its_time() -> None:
    key, record = made(expires_at=NOW)
    assert identify({record.id: record}, key, NOW - timedelta(seconds=1)).id == f"key:{record.id}"
    with pytest.raises(Unauthenticated, match="expired"):
        identify({record.id: record}, key, NOW)


@pytest.mark.parametrize(
    "fields",
    [{"tenants": ()}, {"tenants": ("a",), "all_tenants": True}, {"rights": ()}, {"rights": ("boss",)}, {"sha256": "x"}],
    ids=["nobody", "both", "no right", "another right", "no hash"],
)
def test_a_key_is_for_someone_and_something(fields: dict[str, Any]) -> None:
    _, record = made()
    with pytest.raises(ContractError):
        read_keys(orjson.dumps({"keys": [record.model_dump(mode="json", exclude_none=True) | fields]}))


def test_two_keys_of_one_id_are_refused() -> None:
    _, record = made()
    with pytest.raises(ContractError, match="same id"):
        read_keys(orjson.dumps({"keys": [record.model_dump(mode="json", exclude_none=True)] * 2}))


def test_a_file_of_keys_is_its_owners_and_comes_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "keys.json"
    assert load(path) == KeyFile()
    keys = KeyFile(keys=(made(scope={"user": "ada"})[1], made(tenants=(), all_tenants=True)[1]))
    save(path, keys)
    assert load(path) == keys
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["keys.json"]


def test_a_changed_file_holds_at_the_next_request(tmp_path: Path) -> None:
    path, said = tmp_path / "keys.json", list[bool]()
    first, second = made()[1], made()[1]
    save(path, KeyFile(keys=(first,)))
    ring = KeyRing(path, {}, said.append)
    assert set(ring.current()) == {first.id}
    save(path, KeyFile(keys=(second,)))
    assert set(ring.current()) == {second.id}
    save(path, KeyFile())
    assert ring.current() == {}, "a revoked key is gone"


@pytest.mark.parametrize("broken", [b"{", b'{"keys": [{}]}', None], ids=["no JSON", "no keys", "removed"])
def test_a_broken_file_keeps_the_last_good_keys_and_says_so(
    tmp_path: Path, broken: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    path, said = tmp_path / "keys.json", list[bool]()
    key, record = made()
    save(path, KeyFile(keys=(record,)))
    ring = KeyRing(path, {}, said.append)
    if broken is None:
        path.unlink()
    else:
        path.write_bytes(broken)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert set(ring.current()) == {record.id}
    assert said[-1] is True
    assert len(caplog.records) == 1, "once, not at every request"
    assert key.split("_", 2)[2] not in caplog.text
    assert record.sha256 not in caplog.text
    save(path, KeyFile())
    assert ring.current() == {}
    assert said[-1] is False


def test_at_first_there_must_be_good_keys(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="AFTERTURN_RECALL_KEYS_FILE"):
        KeyRing(tmp_path / "missing.json", {}, lambda _: None)
    with pytest.raises(BadSettings, match="AFTERTURN_RECALL_KEYS ") as refused:
        fixed_keys('{"keys": [{"id": "hunter2", "sha256": "hunter3"}]}')
    assert "hunter" not in str(refused.value)


def test_keys_of_the_environment_stand_beside_those_of_the_file(tmp_path: Path) -> None:
    ours, theirs = made()[1], made()[1]
    save(tmp_path / "keys.json", KeyFile(keys=(theirs,)))
    fixed = fixed_keys(KeyFile(keys=(ours,)).body().decode())
    assert set(KeyRing(tmp_path / "keys.json", fixed, lambda _: None).current()) == {ours.id, theirs.id}
    with pytest.raises(BadSettings, match="too"):
        KeyRing(tmp_path / "keys.json", {theirs.id: theirs}, lambda _: None)


def test_a_lone_surrogate_is_only_a_wrong_secret() -> None:
    assert len(hash_of("\ud83d")) == 64
