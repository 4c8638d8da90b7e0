"""Recall's latency over the raw two-arm query on the same store, by how many memories the tenant has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from support.kafka import KafkaBroker
from support.recalls import RecallProcess
from support.recorders import service_environment, service_settings
from support.store import StoreProcess, start_store

from afterturn.consumers.preparing import prepare
from afterturn.consumers.recall.answering.engine import RECIPES
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder
from afterturn.streams import KafkaSettings
from bench.asking import WARM_UP, Ask, Asker, asking, in_turn, p50, p95, questions
from bench.figures import Drawn, Figure
from bench.workload import store_all, turns

ASKED = 200
P50_GOAL, P95_GOAL = 1.2, 1.5
BREADTHS = ("usual", "wide")
Say = Callable[[str], None]


async def against_raw(kafka: KafkaBroker, folder: Path, sizes: tuple[int, ...], say: Say) -> list[Figure]:
    """Recall and the raw query at each of these sizes, each in a store of its own, asked in turn."""
    figures: list[Figure] = []
    for size in sizes:
        with ExitStack() as stack:
            store: StoreProcess = stack.enter_context(start_store(folder / f"store-{size}"))
            say(f"storing {size} memories of one tenant")
            service, embedder = await set_up(kafka, store, f"recall{size}")
            await fill(service, store, embedder, size, 1)
            urls = {
                breadth: start(stack, kafka, folder, store, f"recall{size}", {"AFTERTURN_RECALL_BREADTH": breadth}).url
                for breadth in BREADTHS
            }
            asked = await questions(embedder, WARM_UP + ASKED)
            await embedder.close()
            say(f"asking about {size} memories")
            async with asking() as asker:
                spent = await in_turn(asked, await _sides(asker, urls, store.url))
            figures += _figures(size, spent)
    return figures


async def set_up(kafka: KafkaBroker, store: StoreProcess, prefix: str) -> tuple[ServiceSettings, Embedder]:
    """Topics and collection made, and the embedder opened."""
    service = service_settings(service_environment(kafka.bootstrap, store.url, prefix))
    await prepare(service, KafkaSettings(bootstrap_servers=kafka.bootstrap), StoreSettings(url=store.url))
    return service, await open_embedder(service.embedder)


async def fill(
    service: ServiceSettings, store: StoreProcess, embedder: Embedder, count: int, tenants: int, *, first: int = 0
) -> None:
    """Store ``count`` memories round robin over ``tenants`` tenants, numbered from ``first``."""
    fold = service.fold(embedder)
    async with opened(StoreSettings(url=store.url)) as client:
        memories = WriteStore(client, dimension=fold.dimension, epoch=0)
        await store_all(memories, embedder, list(turns(count, tenants, first=first)), fold)


def start(
    stack: ExitStack,
    kafka: KafkaBroker,
    folder: Path,
    store: StoreProcess,
    prefix: str,
    settings: Mapping[str, str] = {},
) -> RecallProcess:
    """A recall service over a store, until the stack ends."""
    recall = RecallProcess(folder, service_environment(kafka.bootstrap, store.url, prefix) | dict(settings))
    recall.start()
    stack.callback(recall.child.stop)
    return recall


async def _sides(asker: Asker, urls: Mapping[str, str], store: str) -> dict[str, Ask]:
    sides: dict[str, Ask] = {}
    for breadth, url in urls.items():
        hits = RECIPES[breadth].candidates
        sides[breadth] = await asker.recall(url, "tenant-0")
        sides[f"{breadth} bare"] = await asker.bare(store, "tenant-0", hits)
        sides[f"{breadth} client"] = await asker.client(store, "tenant-0", hits)
    return sides


def _figures(size: int, spent: Mapping[str, list[float]]) -> list[Figure]:
    figures: list[Figure] = []
    for breadth in BREADTHS:
        hits = RECIPES[breadth].candidates
        what = f"{size} memories, {breadth} (2 x {hits} hits)"
        ours, bare, client = (spent[name] for name in (breadth, f"{breadth} bare", f"{breadth} client"))
        figures += held_against(what, ours, bare, client, goal=breadth == "usual")
        figures += drawn("recall-memories", size, **{f"recall, {breadth}": ours, f"raw query, {breadth}": bare})
    return figures


def held_against(what: str, ours: list[float], bare: list[float], client: list[float], *, goal: bool) -> list[Figure]:
    """Recall's times over those of the raw query, both ways."""
    p50_goal, p95_goal = (P50_GOAL, P95_GOAL) if goal else (None, None)
    note = f"{p50(ours) * 1_000:.1f} and {p50(bare) * 1_000:.1f} ms"
    late = f"{p95(ours) * 1_000:.1f} and {p95(bare) * 1_000:.1f} ms"
    theirs = f"{p50(client) * 1_000:.1f} ms, p95 {p95(client) * 1_000:.1f} ms"
    return [
        Figure(f"recall / raw query, p50; {what}", p50(ours) / p50(bare), "", note, at_most=p50_goal),
        Figure(f"recall / raw query, p95; {what}", p95(ours) / p95(bare), "", late, at_most=p95_goal),
        Figure(f"recall / raw query through Qdrant's client, p50; {what}", p50(ours) / p50(client), "", theirs),
        Figure(f"recall / raw query through Qdrant's client, p95; {what}", p95(ours) / p95(client), ""),
    ]


def drawn(picture: str, at: int, **lines: list[float]) -> list[Figure]:
    """The p50 of these as figures of a picture, in ms."""
    return [
        Figure(f"{line}, p50 at {at}", p50(spent) * 1_000, "ms", drawn=Drawn(picture, line, at))
        for line, spent in lines.items()
    ]
