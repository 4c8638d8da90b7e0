"""What must hold after any fault: each promise a check over all that a run has left behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

from afterturn.consumers.recorder.announcing import ending_of
from afterturn.consumers.recorder.decoding import Arrival, decode
from afterturn.consumers.recorder.fold.plan import AT_RUN_TIME, Decision
from afterturn.schemas.commands import Erase
from afterturn.schemas.events import Skipped
from afterturn.schemas.ids import rev_of, tenant_id
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import Memory, Receipt, StoredPoint, TenantState
from afterturn.streams.records import Record
from support.fold_checks import assert_same_endings, assert_same_points
from support.naive_model import naive_fold
from support.observing import Observed
from support.whole_log import WholeLog

_PIECES = 1_000
_SAID = AT_RUN_TIME.reason
"""What the fold says of all that was given up at run time; the dead letter says why it was."""
ENDINGS = {"applied", "duplicate", "skipped", "dead_lettered"}


@dataclass(frozen=True)
class Promises:
    """The checks; ``hold`` makes them all."""

    seen: Observed

    def hold(self) -> None:
        """Check everything.

        Raises:
            AssertionError: a promise is broken.
        """
        self.store_is_the_fold()
        self.naive_model_agrees()
        self.removed_stays_removed()
        self.bounds_are_held()
        self.erased_stays_erased()
        self.one_event_a_command()
        self.endings_add_up()
        self.checkpoints_are_committed()

    @cached_property
    def folds(self) -> dict[int, Folded]:
        """The fold of each partition's log, with the recorder's own pure parts."""
        return {
            p: Folded.of(records, self.seen, frozenset(self.seen.given_up(p))) for p, records in self.seen.log.items()
        }

    def store_is_the_fold(self) -> None:
        """Point by point the store is the fold of the log up to the checkpoint, which is the log's end."""
        assert self.seen.stored.points.keys() <= self.seen.log.keys()
        for partition, records in self.seen.log.items():
            stored, expected = self.seen.stored.points[partition], self.folds[partition].whole.points
            assert expected.keys() - stored.keys() == set(), f"partition {partition} lacks points"
            assert stored.keys() - expected.keys() == set(), f"partition {partition} has points of nothing"
            different = {i: (stored[i], expected[i]) for i in expected if stored[i] != expected[i]}
            assert not different, f"points of partition {partition} differ: {_first(different)}"
            checkpoint = self.seen.stored.checkpoints[partition]
            assert checkpoint.next == rev_of(self.seen.fold.epoch, records[-1].offset + 1)
            assert not checkpoint.spoilt

    def naive_model_agrees(self) -> None:
        """The plainest model, written from the contract alone, expects the same points and endings."""
        for partition, records in self.seen.log.items():
            expected = naive_fold(records, self.seen.fold, dead=dict.fromkeys(self.seen.given_up(partition), _SAID))
            assert_same_points(self.seen.stored.points[partition], expected.points)
            assert_same_endings(self.folds[partition].whole.decisions, expected.ended)

    def removed_stays_removed(self) -> None:
        """What left at any moment of the log is not live at its end, and has no content."""
        for partition, folded in self.folds.items():
            stored = self.seen.stored.points[partition]
            back = [i for i in folded.removed if i in stored and not _is_tombstone(stored[i])]
            assert not back, f"removed memories of partition {partition} came back: {back[:3]}"

    def bounds_are_held(self) -> None:
        """No tenant has more live memories than its bound, and as many as its state says."""
        for points in self.seen.stored.points.values():
            live: Counter[str] = Counter()
            episodes: Counter[str] = Counter()
            for point in points.values():
                if isinstance(point, Memory) and point.status in LIVE:
                    live[point.tenant] += 1
                    episodes[point.tenant] += point.kind == "episodic"
            for tenant, count in live.items():
                state = points[tenant_id(tenant)]
                assert isinstance(state, TenantState)
                bounds = state.settings.bounds or self.seen.fold.bounds
                assert count == state.live
                assert count <= bounds.max_memories, f"{tenant} has {count} of {bounds.max_memories}"
                assert bounds.max_episodes is None or episodes[tenant] <= bounds.max_episodes

    def erased_stays_erased(self) -> None:
        """Nothing that was published of a tenant before its erasure has content, a name or a digest left."""
        for partition, folded in self.folds.items():
            erased = folded.erased(self.seen.fold.epoch)
            for id_, point in self.seen.stored.points[partition].items():
                before = point.born < erased.get(point.tenant, 0)
                if before and isinstance(point, Memory):
                    assert point.content is None, f"{id_} of an erased tenant has content"
                    assert point.thread is None
                    assert not point.data
                if before and isinstance(point, Memory | Receipt):
                    assert point.digest is None, f"{id_} of an erased tenant has a digest"

    def one_event_a_command(self) -> None:
        """Every command that can be read has one outcome event, which says how it ended; so have dead letters."""
        expected: Counter[object] = Counter()
        buried: Counter[tuple[str, str]] = Counter()
        for partition, folded in self.folds.items():
            for decision in folded.whole.decisions:
                offset = decision.item.record.offset
                # A collection that two recorders asked for is a duplicate, and no tenant's: nobody is told of it.
                if decision.outcome is not None and decision.arrival is not None and decision.arrival.tenant:
                    expected[partition, offset, decision.outcome.event, decision.outcome.reason] += 1
                if decision.fault is not None:
                    buried[str(partition), str(offset)] += 1
        found: Counter[object] = Counter()
        for event in self.seen.events:
            assert event.command is not None
            reason = event.reason if isinstance(event, Skipped) else None
            found[event.command.partition, event.command.offset, event.TYPE, reason] += 1
        assert not (more := found - expected), f"an event too many, or one that says something else: {_some(more)}"
        assert not (less := expected - found), f"events are missing: {_some(less)}"
        letters = (dict(letter.headers) for each in self.seen.letters.values() for letter in each)
        where = Counter((h["afterturn_partition"].decode(), h["afterturn_offset"].decode()) for h in letters)
        assert where == buried, "one dead letter a record that can't succeed"

    def endings_add_up(self) -> None:
        """consumed = applied + duplicate + skipped + dead-lettered."""
        for partition, records in self.seen.log.items():
            endings = Counter(map(ending_of, self.folds[partition].whole.decisions))
            assert endings.keys() <= ENDINGS
            assert endings.total() == len(records)

    def checkpoints_are_committed(self) -> None:
        """After the drain the group's offsets are the store's checkpoints."""
        for partition, checkpoint in self.seen.stored.checkpoints.items():
            committed = self.seen.committed[partition]
            if committed is None:  # a partition without a record may never have been committed
                assert partition not in self.seen.log
            else:
                assert rev_of(self.seen.fold.epoch, committed) == checkpoint.next


@dataclass(frozen=True)
class Folded:
    """A partition's whole log folded record by record, and what was ever removed on the way."""

    whole: WholeLog
    removed: frozenset[str]

    @classmethod
    def of(cls, records: list[Record], seen: Observed, dead: frozenset[int]) -> Folded:
        """Fold the log; results don't depend on where batches are cut, so long logs are folded in larger pieces."""
        whole = WholeLog(seen.fold)
        removed: set[str] = set()
        size = 1 + len(records) // _PIECES
        for at in range(0, len(records), size):
            before = dict(whole.points)
            whole.take([decode(record, seen.fold) for record in records[at : at + size]], dead)
            removed |= {i for i, point in whole.points.items() if before.get(i) is not point and _is_tombstone(point)}
        return cls(whole, frozenset(removed))

    def erased(self, epoch: int) -> dict[str, int]:
        """The rev of each erased tenant's last erasure that was carried out."""
        found: dict[str, int] = defaultdict(int)
        for decision in self.whole.decisions:
            command = decision.item.command if isinstance(decision.item, Arrival) else None
            if isinstance(command, Erase) and _was_applied(decision):
                found[command.tenant] = rev_of(epoch, decision.item.record.offset)
        return found


def _was_applied(decision: Decision) -> bool:
    return ending_of(decision) == "applied"


def _is_tombstone(point: StoredPoint) -> bool:
    return isinstance(point, Memory) and point.status not in LIVE and point.content is None


def _some(counted: Counter[object]) -> str:
    return ", ".join(map(str, sorted(counted, key=str)[:8]))


def _first(different: dict[str, tuple[StoredPoint, StoredPoint]]) -> str:
    """Which point, and which fields of it, without what they hold."""
    id_, (ours, theirs) = next(iter(different.items()))
    fields = [n for n in type(ours).model_fields if getattr(ours, n) != getattr(theirs, n, None)]
    return f"{len(different)} points, the first {id_}: {', '.join(fields)}"
