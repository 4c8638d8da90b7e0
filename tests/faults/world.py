"""One service under load, with everything that can be taken from it: the world a fault happens in."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from faults.keeping import LogKeeper
from faults.probes import Probes
from faults.recorder import Recorder
from faults.store_proxy import StoreProxy
from support.kafka import KafkaBroker
from support.load import Entry, Load, LoadPublisher
from support.log import until
from support.observing import Log, Observed, observe
from support.promises import Promises
from support.recall_service import served
from support.recorders import service_environment, service_settings
from support.store import StoreProcess, start_store

from afterturn.consumers.preparing import prepare
from afterturn.consumers.store.settings import StoreSettings
from afterturn.streams import KafkaSettings
from afterturn.streams.errors import Retry
from afterturn.streams.kafka import Admin


@dataclass(frozen=True)
class Form:
    """How long a scenario is: turns of its load, how many a second, seconds for which something is away."""

    turns: int = 300
    rate: float = 30.0
    away: float = 8.0
    patience: float = 90.0


_LOG = logging.getLogger("faults")
SHORT, LONG = Form(), Form(away=60.0, patience=240.0)
SESSION, ZOMBIE = 6.0, 5.0
"""Brokers take no session below six seconds unless they are told to."""
_SETTINGS = {"AFTERTURN_RECORDER_SESSION_TIMEOUT": str(SESSION), "AFTERTURN_RECORDER_ZOMBIE_BOUND": str(ZOMBIE)}
PROBES = 5


class World:
    """Broker, store, a proxy in front of the store, recorders, a load that is published meanwhile, and probes."""

    def __init__(
        self, kafka: KafkaBroker, store: StoreProcess, folder: Path, prefix: str, form: Form, rng: random.Random
    ) -> None:
        self.kafka, self.store, self.folder, self.form, self.rng = kafka, store, folder, form, rng
        self.proxy = StoreProxy(store.url)
        self._proxies = [self.proxy]
        partitions, bound = rng.choice((3, 4)), rng.randint(8, 25)
        self.environment = _SETTINGS | service_environment(
            kafka.bootstrap, self.proxy.url, prefix, partitions=str(partitions), max_memories=str(bound)
        )
        self.service = service_settings(self.environment)
        self.client = KafkaSettings(bootstrap_servers=kafka.bootstrap)
        self.load = Load(self.service.topics.turns, form.turns, tenants=20, seed=rng.randint(0, 10**9), erase=43)
        self.recorders: list[Recorder] = []
        self.keeper = LogKeeper(self.client, self.service.topics.turns)
        self.published = 0
        self._publishing: asyncio.Task[None] | None = None
        self._services = AsyncExitStack()
        self.probes = Probes()

    async def prepare(self) -> None:
        """Make topics and collection, start recall and the proxy."""
        assert (await prepare(self.service, self.client, StoreSettings(url=self.store.url))).fine
        await self.proxy.start()
        recall = await self._services.enter_async_context(served(self.environment | {"QDRANT_URL": self.store.url}))
        self.probes.url = str(recall.client.base_url)

    async def recorder(self, own: Mapping[str, str] | None = None, *, stays: bool = True) -> Recorder:
        """One more recorder, started; `own` are variables of its own. Unless it `stays`, it leaves the group."""
        made = Recorder(self.folder, {**self.environment, **(own or {})}, stays=stays)
        self.recorders.append(made)
        await asyncio.to_thread(made.start)
        _LOG.info("recorder %d of this world runs", len(self.recorders))
        return made

    async def another_proxy(self) -> StoreProxy:
        """A proxy for one recorder's calls alone."""
        proxy = StoreProxy(self.store.url)
        self._proxies.append(proxy)
        await proxy.start()
        return proxy

    async def again(self, recorder: Recorder) -> None:
        """Kill it and start it again."""
        recorder.kill()
        _LOG.info("killed a recorder")
        await asyncio.to_thread(recorder.start)
        _LOG.info("it runs again")

    def begin(self, entries: Iterable[Entry] | None = None) -> None:
        """Begin to publish the load."""
        told = list(self.load.entries() if entries is None else entries)
        self._publishing = asyncio.create_task(self._publish(told))

    async def at(self, share: float) -> None:
        """Wait until this share of the load has been published."""

        async def so() -> bool:
            assert self._publishing is not None
            if self._publishing.done():
                self._publishing.result()
            return self._publishing.done() or self.published >= share * self.form.turns

        await until(so, self.form.patience, tick=0.01)
        _LOG.info("%d turns are published", self.published)

    async def told(self) -> None:
        """Wait until the load has been published."""
        assert self._publishing is not None
        await asyncio.wait_for(self._publishing, self.form.patience)

    async def more(self, turns: int) -> None:
        """Publish so many turns more, and what comes with them."""
        self.load = replace(self.load, first=self.load.first + self.load.turns, turns=turns, seed=self.load.seed + 1)
        async with LoadPublisher(self.client, self.service.topics) as publisher:
            for entry in self.load.entries():
                await publisher.publish(entry)

    async def working(self, until_so: Callable[[], bool]) -> None:
        """Wait for what happens only while turns come: more are published where the load is over."""
        async with asyncio.timeout(self.form.patience):
            while not until_so():
                if self._publishing is not None and self._publishing.done():
                    await self.more(4)
                await asyncio.sleep(0.02)  # the loop's other tasks make it so

    async def advanced(self, since: Mapping[int, int]) -> None:
        """Wait until more than this is committed of every partition."""

        async def so() -> bool:
            if self._publishing is not None and self._publishing.done():
                await self.more(4)
            now = await self.committed()
            return all(now[partition] > offset for partition, offset in since.items())

        await until(so, self.form.patience, tick=0.2)

    async def drained(self) -> None:
        """Wait until every record of the log is committed; a recorder that ended meanwhile is an error."""

        async def so() -> bool:
            for recorder in self.recorders:
                assert recorder.exit_code in (None, 0, -9), f"it ended by itself:\n{recorder.tail()}"
            with suppress(Retry):
                return await self.behind() == 0
            return False

        await until(so, self.form.patience, tick=0.1)

    async def behind(self) -> int:
        """How many offsets lie between what is committed and the last record that can be read."""
        log = await self.keeper.catch_up()
        committed = await self.committed()
        return sum(max(0, records[-1].offset + 1 - committed[p]) for p, records in log.items())

    async def committed(self) -> dict[int, int]:
        """The group's next offsets by partition, 0 where there is none."""
        topic, partitions = self.service.topics.turns, range(self.service.partitions)
        async with Admin(self.client) as admin:
            found = await admin.committed(self.service.group, topic, partitions)
        return {partition: offset or 0 for partition, offset in found.items()}

    async def ended(self, recorder: Recorder) -> str:
        """Wait until a recorder has ended by itself, with an error; what it said."""

        await self.working(lambda: recorder.exit_code is not None)
        assert recorder.exit_code not in (0, None), "a stop is an error of the process"
        assert recorder.exit_code > 0, f"it ended by signal {recorder.exit_code}"
        recorder.child.stop()
        return recorder.child.last_words() or recorder.tail()

    async def cut(self, before: Mapping[int, int]) -> None:
        """Delete what is before these offsets, as retention does; it is kept for the checks."""
        await self.keeper.catch_up()
        topic = self.service.topics.turns
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)
        await admin.start()
        try:
            await admin.delete_records({TopicPartition(topic, p): RecordsToDelete(at) for p, at in before.items()})
        finally:
            await admin.close()

    async def settle(self) -> None:
        """Let everything be published, applied and read, then end the recorders in order."""
        await self.told()
        _LOG.info("everything is published")
        await self.drained()
        _LOG.info("everything is committed")
        await asyncio.wait_for(self.probes.answered(), self.form.patience)
        for recorder in self.recorders:
            await asyncio.to_thread(recorder.finish)
        _LOG.info("the recorders have ended")

    async def observe(self, log: Log | None = None) -> Observed:
        """What is there now."""
        return await observe(self.client, self.service, self.store.url, log)

    async def finish(self) -> Promises:
        """Settle, then hold every promise."""
        await self.settle()
        promises = await self.hold()
        assert self.probes.answers == PROBES
        return promises

    async def hold(self) -> Promises:
        """Check everything over the whole log, also over what was cut off it."""
        promises = Promises(await self.observe(await self.keeper.catch_up()))
        _LOG.info("everything there is has been read")
        await asyncio.to_thread(promises.hold)
        _LOG.info("every promise is held")
        return promises

    async def close(self) -> None:
        """End whatever still runs."""
        await self.probes.close()
        if self._publishing is not None:
            self._publishing.cancel()
            await asyncio.wait({self._publishing})
        for recorder in self.recorders:
            recorder.kill()
        await self._services.aclose()
        await self.keeper.close()
        for proxy in self._proxies:
            await proxy.close()

    async def _publish(self, entries: list[Entry]) -> None:
        loop = asyncio.get_running_loop()
        begun, each = loop.time(), self.form.turns / max(len(entries), 1)
        every = max(1, len(entries) // PROBES)
        async with LoadPublisher(self.client, self.service.topics) as publisher:
            for number, entry in enumerate(entries):
                if number % every == 0 and number // every < PROBES:
                    await self.probes.write(publisher, number // every)
                await publisher.publish(entry)
                self.published = int((number + 1) * each)
                # The load's own pace: faults happen while it goes on.
                await asyncio.sleep(max(0.0, begun + self.published / self.form.rate - loop.time()))


@asynccontextmanager
async def world_on(
    kafka: KafkaBroker, folder: Path, prefix: str, form: Form, rng: random.Random
) -> AsyncIterator[World]:
    """A world on this broker, with a store of its own; everything of it ends with the block."""
    with start_store(folder / "store") as store:
        world = World(kafka, store, folder, prefix, form, rng)
        try:
            await world.prepare()
            yield world
        finally:
            await world.close()
