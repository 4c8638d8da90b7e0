"""Another partition count: refused until the log is drained, safe to interrupt, and the same tenants go on."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from qdrant_client import models as m
from support.commandline import CommandLine
from support.kafka import KafkaBroker
from support.log import until
from support.recorders import RecorderProcess, service_environment
from support.recording import Recording, recording
from support.store import connect

from afterturn.consumers.repartitioning import NotDrained, Repartitioning, opened_repartitioning
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.moving import MovingStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.schemas.commands import Remember
from afterturn.schemas.ids import rev_of
from afterturn.schemas.parts import Source
from afterturn.streams import TurnPublisher
from afterturn.streams.errors import Stop
from afterturn.streams.kafka import Admin
from afterturn.streams.partitioner import partition_for
from afterturn.streams.topics import TopicNames, TopicShape

BEFORE, AFTER, BOUND = 3, 5, 4
TENANTS = tuple(f"tenant-{n}" for n in range(12))
AT = "2026-01-01T00:00:00Z"
pytestmark = pytest.mark.timeout(400)


def turn(tenant: str, number: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"{tenant} says {number}"}]
    return {"tenant": tenant, "thread": "t", "turn_id": str(number), "occurred_at": AT, "messages": messages}


@dataclass
class Moving:
    """A recorder of three partitions with some memories, and the command that moves them."""

    it: Recording
    folder: Path

    @property
    def prefix(self) -> str:
        """The prefix of the new topics."""
        return f"{self.it.service.topic_prefix}-new"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the new recorder."""
        old = self.it.service
        changed = {"partitions": str(AFTER), "epoch": "1", "group": old.group, "max_memories": str(BOUND)}
        return service_environment(self.it.kafka.bootstrap_servers, self.it.store.url, self.prefix, **changed)

    @property
    def cli(self) -> CommandLine:
        """The command line, with the old settings."""
        show = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
        return CommandLine(dict(self.it.recorder.environment) | show)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command."""
        return ("topics", "repartition", "--partitions", str(AFTER), "--prefix", self.prefix)

    async def run(self, *options: str, code: int = 0) -> CompletedProcess[str]:
        """Run it; it must end with this code."""
        done = await asyncio.to_thread(self.cli.run, *self.arguments, *options)
        assert done.returncode == code, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done

    @asynccontextmanager
    async def in_process(self) -> AsyncIterator[Repartitioning]:
        """The same, to be interrupted at a step."""
        shape, store = TopicShape(AFTER, 1), StoreSettings(url=self.it.store.url)
        async with opened_repartitioning(self.it.kafka, store, shape, self.prefix) as made:
            yield made

    async def end_recorder(self) -> None:
        """End the recorder, and wait until the group knows."""
        await asyncio.to_thread(self.it.recorder.child.stop)
        async with Admin(self.it.kafka) as admin:

            async def nobody() -> bool:
                return await admin.members(self.it.service.group) == 0

            await until(nobody, seconds=60, tick=0.2)

    async def refuses(self, environment: Mapping[str, str]) -> str:
        """What a recorder says that must not start."""
        child = RecorderProcess(self.folder, environment)
        done = await asyncio.to_thread(CommandLine(child.environment).run, "recorder")
        assert done.returncode == 1, done.stderr
        return done.stderr

    async def points(self) -> list[dict[str, Any]]:
        """Every point's payload."""
        async with connect(self.it.store.url) as client:
            found, _ = await client.scroll("memories", scroll_filter=m.Filter(), limit=5_000)
        return [dict(each.payload or {}) for each in found]


@pytest.fixture
async def moving(kafka: KafkaBroker, topic_prefix: str, tmp_path: Path) -> AsyncIterator[Moving]:
    """Twelve tenants with three turns each, and one that has nothing but a dead command."""
    settings = {"partitions": str(BEFORE), "max_memories": str(BOUND)}
    async with recording(kafka, topic_prefix, tmp_path, **settings) as it:
        await it.publish(*(turn(tenant, number) for number in range(3) for tenant in TENANTS))
        source = Source(type="user", id="1")
        await it.publisher.publish_command(Remember(tenant="dead", content="c", mode="ask", source=source))
        await it.consumed(3 * len(TENANTS) + 1)
        yield Moving(it, tmp_path)


async def goes_on(moving: Moving) -> None:
    """The same tenants, recorded by a recorder of the new log."""
    for point in await moving.points():
        if point["point"] == "checkpoint":
            assert point["next"] == rev_of(1, 0)
        else:
            assert point["partition"] == partition_for(point["tenant"].encode(), AFTER), point["point"]
    assert "settings.epoch is 1, not 0" in await moving.refuses(moving.it.recorder.environment)
    recorder = RecorderProcess(moving.folder, moving.environment)
    await asyncio.to_thread(recorder.start)
    try:
        names = TopicNames(moving.prefix)
        async with TurnPublisher(moving.it.kafka, source="test", topics=names, epoch=1) as publisher:
            for tenant in TENANTS:
                for number in (2, 3, 4):  # the first of them was recorded from the old log
                    await publisher.publish(turn(tenant, number))

            async def consumed() -> bool:
                return sum((await asyncio.to_thread(recorder.endings)).values()) >= 3 * len(TENANTS)

            await until(consumed, seconds=60, tick=0.05)
        assert recorder.endings() == {"duplicate": len(TENANTS), "applied": 2 * len(TENANTS)}
        for tenant in TENANTS:
            live = [each for each in await moving.it.memories(tenant) if each["status"] == "active"]
            assert [each["content"] for each in live] == [f"{tenant} says {n}" for n in (1, 2, 3, 4)], "the bound holds"
            assert [each["position"] for each in live] == [1, 2, 3, 4], "positions go on"
            assert [each["rev"] >= rev_of(1, 0) for each in live] == [False, False, True, True]
    finally:
        await asyncio.to_thread(recorder.child.stop)


async def test_it_refuses_until_all_is_recorded_and_nobody_records(moving: Moving) -> None:
    running = await moving.run("--yes", code=1)
    assert "has 1 member at work: end it" in running.stderr
    await moving.end_recorder()
    (token,) = await moving.it.publish(turn(TENANTS[0], 3))
    late = await moving.run("--dry-run", code=1)
    assert f"missing: partition {token.partition}: 1 not recorded" in late.stderr
    assert late.stderr.count("missing: ") == 1
    async with opened(StoreSettings(url=moving.it.store.url)) as client:
        assert (await MovingStore(client).underway()).to is None
    await asyncio.to_thread(moving.it.recorder.start)
    await moving.it.consumed(1)
    await moving.end_recorder()
    assert "it can be done" in (await moving.run("--dry-run")).stdout
    async with Admin(moving.it.kafka) as admin:
        assert await admin.topics([TopicNames(moving.prefix).turns]) == {}, "a dry run makes nothing"


async def test_the_same_tenants_go_on(moving: Moving) -> None:
    await moving.end_recorder()
    done = await asyncio.to_thread(moving.cli.run, *moving.arguments, stdin="n\n")
    assert done.returncode == 1
    assert f"({BEFORE} partitions) to {moving.prefix}.turns ({AFTER})?" in done.stderr
    said = (await moving.run("--yes")).stdout
    assert f"moved: {len(TENANTS)} tenants to {AFTER} partitions" in said
    settings = {"AFTERTURN_TOPIC_PREFIX": moving.prefix, "AFTERTURN_PARTITIONS": str(AFTER), "AFTERTURN_EPOCH": "1"}
    for name, value in settings.items():
        assert f"  {name}={value}" in said.splitlines()
    body = json.loads((await moving.run("--json")).stdout)
    assert (body["already"], body["settings"], body["late"]) == (True, settings, {})
    await goes_on(moving)


@pytest.mark.parametrize("step", ["checkpoints", "tenants", "receipts"])
async def test_interrupted_at_any_step_no_recorder_starts_and_a_second_run_ends_it(moving: Moving, step: str) -> None:
    await moving.end_recorder()

    def interrupt(at: str, _done: int, _total: int | None) -> None:
        if at == step:
            raise KeyboardInterrupt

    async with moving.in_process() as it:
        with pytest.raises(KeyboardInterrupt):
            await it.carry_out(interrupt)
    for environment in (moving.it.recorder.environment, moving.environment):
        assert f"topics repartition --partitions {AFTER} --prefix {moving.prefix}" in await moving.refuses(environment)
    other = await asyncio.to_thread(moving.cli.run, *moving.arguments[:-1], "third", "--yes")
    assert other.returncode == 1
    assert f"under {moving.prefix} was begun, and not finished" in other.stderr
    assert "an earlier run is to be finished" in (await moving.run("--dry-run")).stdout
    await moving.run("--yes")
    await goes_on(moving)


async def test_killed_at_any_moment_it_can_be_run_again(moving: Moving) -> None:
    await moving.end_recorder()
    async with opened(StoreSettings(url=moving.it.store.url)) as client:
        store = MovingStore(client)
        process = moving.cli.start(*moving.arguments, "--yes")

        async def marked() -> bool:
            assert process.poll() is None, "it was to be killed before its end"
            return (await store.underway()).to is not None

        await until(marked, seconds=60)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.communicate)
        assert (await store.underway()).to is not None
    await moving.run("--yes")
    await goes_on(moving)


async def test_a_mark_without_a_drained_log_is_taken_back(moving: Moving) -> None:
    """A run that was cut off before any point was changed keeps no recorder from draining the log."""
    await moving.end_recorder()
    async with opened(StoreSettings(url=moving.it.store.url)) as client:
        store = MovingStore(client)
        before = (await store.underway()).settings
        changed = {"topic": TopicNames(moving.prefix).turns, "partitions": AFTER, "epoch": 1}
        await store.mark(before.model_copy(update=changed), begun=False)
        await moving.it.publish(turn(TENANTS[0], 3))
        async with moving.in_process() as it:
            with pytest.raises(NotDrained):
                await it.carry_out(lambda *_: None)
        assert (await store.underway()).to is None
    await asyncio.to_thread(moving.it.recorder.start)
    await moving.it.consumed(1)


async def test_a_late_recorder_of_the_old_log_stops_at_the_new_epoch(moving: Moving) -> None:
    """One that had read the metadata before they said that a move is under way."""
    await moving.end_recorder()
    before = await moving.points()
    async with opened(StoreSettings(url=moving.it.store.url)) as client:
        await MovingStore(client).begin_epoch(AFTER, 1)
    assert "is of epoch 1 of the log" in await moving.refuses(moving.it.recorder.environment)
    kept = [each for each in await moving.points() if each["point"] != "checkpoint"]
    assert kept == [each for each in before if each["point"] != "checkpoint"], "and has changed nothing"


async def test_what_comes_onto_the_old_log_meanwhile_is_counted(moving: Moving) -> None:
    await moving.end_recorder()
    tenant = TENANTS[0]

    def late(at: str, _done: int, _total: int | None) -> None:
        if at == "receipts":
            assert moving.cli.run("publish", "-", stdin=json.dumps(turn(tenant, 3))).returncode == 0

    async with moving.in_process() as it:
        move = await it.carry_out(late)
    assert move.late == {partition_for(tenant.encode(), BEFORE): 1}


async def test_topics_in_use_are_not_taken(moving: Moving) -> None:
    await moving.end_recorder()
    old = ("topics", "repartition", "--partitions", "5", "--prefix", moving.it.service.topic_prefix, "--yes")
    same = await asyncio.to_thread(moving.cli.run, *old)
    assert same.returncode == 65
    assert "--prefix" in same.stderr
    new = {**moving.environment, "QDRANT_ALIAS": "other"}
    made = CommandLine(dict(RecorderProcess(moving.folder, new).environment))
    assert (await asyncio.to_thread(made.run, "init")).returncode == 0
    async with TurnPublisher(moving.it.kafka, topics=TopicNames(moving.prefix)) as publisher:
        await publisher.publish(turn("somebody", 1))
    async with moving.in_process() as it:
        with pytest.raises(Stop, match="holds records already"):
            await it.carry_out(lambda *_: None)
