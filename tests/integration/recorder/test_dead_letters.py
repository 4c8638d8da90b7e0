"""Dead letters on a running recorder: listed, shown, replayed and dropped from the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from subprocess import CompletedProcess
from typing import Any
from uuid import uuid4

import orjson
import pytest
import pytest_asyncio
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from support.commandline import CommandLine, clean_environment
from support.kafka import KafkaBroker
from support.recording import Recording, recording

from afterturn.schemas.codec import Attributes
from afterturn.schemas.commands import Erase, Remember
from afterturn.schemas.events import Skipped
from afterturn.schemas.parts import Source
from afterturn.streams.kafka import OutRecord, Position, Producer
from afterturn.streams.partitioner import partition_for

AT = "2026-01-01T00:00:00Z"
CANARY = "canary-3c1e"
PARTITIONS = 2
pytestmark = pytest.mark.asyncio(loop_scope="module")


def headers() -> tuple[tuple[str, bytes], ...]:
    return Attributes("id", "test", "turn.completed.v1", datetime(2026, 1, 1, tzinfo=UTC)).headers()


def turn(tenant: str, content: str = f"hello {CANARY}") -> bytes:
    messages = [{"role": "user", "content": content}]
    return orjson.dumps({"tenant": tenant, "thread": "t", "turn_id": "1", "occurred_at": AT, "messages": messages})


class Letters:
    """A running recorder, its dead letters as an operator sees them, and a tenant of the test's own."""

    def __init__(self, recording: Recording) -> None:
        self.it = recording
        show = {"COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}
        self.cli = CommandLine(dict(recording.recorder.environment) | show)

    @property
    def tenant(self) -> str:
        """The test's tenant."""
        return self.it.tenant

    @property
    def home(self) -> int:
        """The partition of the test's tenant."""
        return partition_for(self.tenant.encode(), PARTITIONS)

    async def run(self, *arguments: str, code: int = 0) -> CompletedProcess[str]:
        """Run a command of the group; it must end with this code, and show nothing of the content."""
        done = await asyncio.to_thread(self.cli.run, "dead-letters", *arguments)
        assert done.returncode == code, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done

    async def listed(self, *options: str) -> list[dict[str, Any]]:
        """The letters of the test's tenant."""
        done = await self.run("list", "--tenant", self.tenant, "--json", *options)
        assert CANARY not in done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    async def misroute(self) -> Position:
        """Put a turn of the test's tenant into the wrong partition."""
        record = OutRecord(
            self.it.service.topics.turns, self.tenant.encode(), turn(self.tenant), headers(), 1 - self.home
        )
        return await self.it.producer.send(record)

    async def reasons(self) -> list[str | None]:
        """How the test's commands ended: the reason where they were skipped, None where they were applied."""
        return [e.reason if isinstance(e, Skipped) else None for e in await self.it.events()]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Recording]:
    """One recorder for all of them."""
    folder = tmp_path_factory.mktemp("recorder")
    async with recording(kafka, f"t{uuid4().hex[:12]}", folder, partitions=str(PARTITIONS)) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def letters(shared: Recording) -> Letters:
    """The recorder, for a tenant that has nothing yet."""
    await shared.mark(f"tenant-{uuid4().hex[:8]}")
    return Letters(shared)


async def test_a_topic_without_letters_is_no_error(letters: Letters) -> None:
    assert (await letters.run("list", "--reason", "crash")).stdout.startswith("0 dead letters")
    assert (await letters.run("list", "--reason", "crash", "--json")).stdout == ""
    assert "0 dead letters replayed" in (await letters.run("replay", "--all", "--reason", "crash")).stdout


async def test_a_letter_is_listed_and_shown_without_its_content(letters: Letters) -> None:
    stood = await letters.misroute()
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    assert (listed["partition"], listed["offset"]) == (stood.partition, stood.offset)
    assert (listed["reason"], listed["key"], listed["state"]) == ("misrouted", letters.tenant, "waiting")
    assert listed["bytes"] == len(turn(letters.tenant))
    table = (await letters.run("list", "--tenant", letters.tenant)).stdout
    assert CANARY not in table
    for told in (listed["id"], letters.tenant, "misrouted", f"{stood.partition}/{stood.offset}", "1 dead letter of"):
        assert told in table
    shown = (await letters.run("show", listed["id"])).stdout
    assert CANARY not in shown
    assert "header    ce_type = turn.completed.v1" in shown
    body = await letters.run("show", listed["id"], "--value")
    assert body.stdout.encode() == turn(letters.tenant)
    assert "content" in body.stderr
    for others in (("--reason", "invalid"), ("--since", "2999-01-01T00:00:00Z")):
        assert await letters.listed(*others) == []
    assert [each["id"] for each in await letters.listed("--since", "-1d", "--reason", "misrouted")] == [listed["id"]]


async def test_a_replay_is_applied_where_it_belongs_and_a_second_one_is_a_duplicate(letters: Letters) -> None:
    await letters.misroute()
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    would = await letters.run("replay", listed["id"], "--dry-run")
    assert "1 dead letter would be replayed" in would.stdout
    assert [each["state"] for each in await letters.listed()] == ["waiting"]
    (replayed,) = map(json.loads, (await letters.run("replay", listed["id"], "--json")).stdout.splitlines())
    await letters.it.consumed(2)
    assert [m["content"] for m in await letters.it.memories()] == [f"hello {CANARY}"]
    assert int(replayed["replayed_as"].split("/")[0]) == letters.home, "by its key, not where it stood"
    (again,) = await letters.listed()
    assert (again["state"], again["replayed_as"]) == ("replayed", replayed["replayed_as"])
    assert f"replayed as {replayed['replayed_as']}" in (await letters.run("show", listed["id"])).stdout
    waiting = await letters.run("replay", "--all", "--tenant", letters.tenant)
    assert "0 dead letters replayed" in waiting.stdout, "it was replayed"
    await letters.run("replay", listed["id"])
    await letters.it.consumed(3)
    assert len(await letters.it.memories()) == 1
    assert sorted(map(str, await letters.reasons())) == ["None", "dead_letter", "duplicate"]
    assert letters.it.endings() == {"dead_lettered": 1, "applied": 1, "duplicate": 1}


async def test_what_this_version_does_not_apply_is_dead_again_and_its_own_replay_takes_its_place(
    letters: Letters,
) -> None:
    asks = Remember(tenant=letters.tenant, content="c", mode="ask", source=Source(type="user", id="1"))
    await letters.it.publisher.publish_command(asks)
    await letters.it.consumed(1)
    (first,) = await letters.listed()
    await letters.run("replay", first["id"])
    await letters.it.consumed(2)
    second = (await letters.listed())[1]
    assert (second["reason"], second["state"]) == ("unsupported", "waiting")
    await letters.run("replay", first["id"])
    await letters.it.consumed(3)
    assert letters.it.endings() == {"dead_lettered": 2, "duplicate": 1}, "another one has its place"
    await letters.run("replay", second["id"])
    await letters.it.consumed(4)
    assert letters.it.endings() == {"dead_lettered": 3, "duplicate": 1}


async def test_a_replayed_letter_of_a_tenant_that_was_erased_since_is_skipped(letters: Letters) -> None:
    await letters.misroute()
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    await letters.it.publisher.publish_command(Erase(tenant=letters.tenant, confirm=letters.tenant, reason="asked"))
    await letters.it.consumed(2)
    await letters.run("replay", listed["id"])
    await letters.it.consumed(3)
    assert await letters.it.memories() == []
    assert (await letters.reasons())[-1] == "erased"


async def test_what_would_be_dead_again_needs_force(letters: Letters) -> None:
    await letters.it.raw(turn("somebody else"), headers())
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    refused = await letters.run("replay", listed["id"], code=1)
    assert "0 dead letters replayed" in refused.stdout
    assert "its key is not its tenant" in refused.stderr
    assert "--force" in refused.stderr
    assert await letters.listed() == [listed]
    would = await letters.run("replay", "--all", "--tenant", letters.tenant, "--dry-run", "--json", code=1)
    assert json.loads(would.stdout)["id"] == listed["id"]
    await letters.run("replay", listed["id"], "--force")
    await letters.it.consumed(2)
    assert [each["state"] for each in await letters.listed()] == ["replayed", "waiting"]


async def test_a_dropped_letter_is_listed_no_more_and_not_replayed_with_all(letters: Letters) -> None:
    await letters.misroute()
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    assert "1 dead letter dropped" in (await letters.run("drop", listed["id"])).stdout
    assert await letters.listed() == []
    assert [each["state"] for each in await letters.listed("--all")] == ["dropped"]
    assert "1 dropped" in (await letters.run("list", "--tenant", letters.tenant)).stdout
    assert "0 dead letters replayed" in (await letters.run("replay", "--all", "--tenant", letters.tenant)).stdout


async def test_several_are_replayed_once_it_is_confirmed(letters: Letters) -> None:
    """Also by number: they are published in the order they were in."""
    for number in ("2", "3"):
        value = turn(letters.tenant).replace(b'"turn_id":"1"', b'"turn_id":"%s"' % number.encode())
        topic = letters.it.service.topics.turns
        await letters.it.producer.send(OutRecord(topic, letters.tenant.encode(), value, headers(), 1 - letters.home))
    await letters.it.consumed(2)
    asked = ("dead-letters", "replay", "--all", "--tenant", letters.tenant)
    no = await asyncio.to_thread(letters.cli.run, *asked, stdin="n\n")
    assert no.returncode == 1
    assert "Publish 2 records again" in no.stderr
    assert {each["state"] for each in await letters.listed()} == {"waiting"}
    yes = await asyncio.to_thread(letters.cli.run, *asked, stdin="y\n")
    assert yes.returncode == 0
    assert "2 dead letters replayed" in yes.stdout
    await letters.it.consumed(4)
    assert [m["turn_id"] for m in await letters.it.memories()] == ["2", "3"]


async def test_a_hostile_key_is_shown_and_replayed_as_it_is(letters: Letters) -> None:
    key = f"{letters.tenant}\x1b[2J\r\n[bold]".encode() + b"\xff"
    await letters.it.raw(turn(letters.tenant), headers(), key)
    await letters.it.consumed(1)
    lines = [json.loads(line) for line in (await letters.run("list", "--json")).stdout.splitlines()]
    (mine,) = (each for each in lines if each["key"].startswith(letters.tenant))
    table = (await letters.run("list")).stdout
    assert "\x1b" not in table
    assert f"{letters.tenant}\\x1b[2J" in table
    await letters.run("replay", mine["id"], "--force")
    await letters.it.consumed(2)
    assert [each.key for each in await letters.it.dead_letters() if each.value] == [key, key]


async def test_a_value_that_was_left_out_is_taken_from_the_turn_log(letters: Letters) -> None:
    value = turn(letters.tenant, "x" * 3_000_000)
    record = OutRecord(letters.it.service.topics.turns, letters.tenant.encode(), value, headers(), letters.home)
    async with Producer(letters.it.kafka, max_request_size=8_000_000) as producer:
        stood = await producer.send(record)
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    assert (listed["left_out"], listed["bytes"], listed["reason"]) == ("value", len(value), "too_large")
    refused = await letters.run("show", listed["id"], "--value", code=65)
    assert f"{stood.partition}/{stood.offset}" in refused.stderr
    await letters.run("replay", listed["id"], "--force")
    await letters.it.consumed(2)
    again = (await letters.listed())[1]
    assert (again["left_out"], again["bytes"]) == ("value", len(value)), "all of it was on the log again"
    client = AIOKafkaAdminClient(bootstrap_servers=letters.it.kafka.bootstrap_servers)
    await client.start()
    partition = TopicPartition(letters.it.service.topics.turns, stood.partition)
    try:
        await client.delete_records({partition: RecordsToDelete(stood.offset + 1)})
    finally:
        await client.close()
    gone = await letters.run("replay", listed["id"], "--force", code=1)
    assert "its value was left out, and the turn log no longer holds it" in gone.stderr


async def test_what_is_not_there_is_said(letters: Letters) -> None:
    await letters.misroute()
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    partition = listed["id"].split("/")[0]
    for nothing in (f"{partition}/999999", "99/0"):
        assert "there is no dead letter" in (await letters.run("show", nothing, code=65)).stderr
        assert "there is no dead letter" in (await letters.run("replay", nothing, code=1)).stderr
        assert "there is no dead letter" in (await letters.run("drop", nothing, code=1)).stderr
    both = await letters.run("replay", listed["id"], f"{partition}/999999", "--yes", code=1)
    assert "1 dead letter replayed" in both.stdout, "one that can't be keeps none from it"


@pytest.mark.parametrize(
    "arguments",
    [("show", "x"), ("replay", "1-2"), ("drop", "1/2/3"), ("drop",), ("replay",), ("replay", "1/2", "--all"),
     ("replay", "1/2", "--reason", "invalid"), ("list", "--since", "soon"),
     ("list", "--reason", "misroutd")],
)  # fmt: skip
async def test_bad_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    done = CommandLine(clean_environment()).run("dead-letters", *arguments)
    assert done.returncode == 65, done.stderr
    assert done.stderr.startswith("error: ")


async def test_a_broker_that_is_away_is_named(letters: Letters) -> None:
    away = CommandLine(dict(letters.cli.environment) | {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9"})
    for command in (("list",), ("show", "0/1"), ("replay", "0/1"), ("drop", "0/1")):
        done = await asyncio.to_thread(away.run, "dead-letters", *command, "--timeout", "1")
        assert done.returncode == 69
        assert "Kafka at 127.0.0.1:9 was not there within 1 s" in done.stderr


async def test_doctor_counts_letters_and_not_what_became_of_them(letters: Letters) -> None:
    def counted() -> int:
        findings = json.loads(letters.cli.run("doctor", "--json").stdout)["findings"]
        lines = next(f["lines"] for f in findings if f["name"] == "dead letters")
        return sum(int(line.rpartition(" ")[2]) for line in lines)

    before = await asyncio.to_thread(counted)
    await letters.misroute()
    await letters.it.consumed(1)
    (listed,) = await letters.listed()
    await letters.run("drop", listed["id"])
    assert await asyncio.to_thread(counted) == before + 1
