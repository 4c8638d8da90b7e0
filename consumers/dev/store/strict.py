"""Strict mode: the limits a collection sets itself, refused in the words of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from afterturn.consumers.dev.store.errors import Refused, bad_request
from afterturn.consumers.dev.store.fields import flag, table, whole
from afterturn.consumers.dev.store.filters import Filter, HasId, MatchAny
from afterturn.consumers.dev.store.indexes import Index, missing_index

_FLAGS = ("enabled", "unindexed_filtering_retrieve", "unindexed_filtering_update", "search_allow_exact")
_LIMITS = (
    "max_query_limit",
    "max_timeout",
    "upsert_max_batchsize",
    "search_max_batchsize",
    "filter_max_conditions",
    "condition_max_size",
    "max_points_count",
    "max_payload_index_count",
)


@dataclass(frozen=True, slots=True)
class StrictMode:
    """The settings of a collection; nothing is checked unless it is enabled."""

    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As given at creation."""
        return dict(self.settings)

    def _on(self, name: str) -> Any:  # noqa: ANN401  # a limit or a switch
        return self.settings.get(name) if self.settings.get("enabled") else None

    def check_limit(self, limit: int) -> None:
        """The `limit` of a read."""
        self._within("max_query_limit", limit, "limit")

    def check_timeout(self, seconds: int) -> None:
        """The `timeout` parameter of a call."""
        self._within("max_timeout", seconds, "timeout")

    def check_upsert(self, points: int) -> None:
        """The number of points of one upsert."""
        self._within("upsert_max_batchsize", points, "upsert limit")

    def check_batch(self, searches: int) -> None:
        """The number of searches of one batch."""
        self._within("search_max_batchsize", searches, "search batch size")

    def check_exact(self, *, exact: bool) -> None:
        """Whether a search may ask to be exact."""
        if exact and self._on("search_allow_exact") is False:
            raise _with_help("Exact search disabled!", "Set exact=false.")

    def check_unindexed_search(self, vector: str, *, filtered_by_tenant: bool) -> None:
        """A dense search without a graph is a full scan (our collections have `m=0, payload_m=0`)."""
        if self._on("search_allow_exact") is not False:
            return
        why = "vector indexing is disabled (hnsw_config.m = 0 and hnsw_config.payload_m = 0)"
        if not filtered_by_tenant:
            why = "global vector indexing is disabled (hnsw_config.m = 0)"
        raise _with_help(f"Request is forbidden on '{vector}' because {why}", "Enable `search_allow_exact`.")

    def check_read(self, condition: Filter | None, indexes: Mapping[str, Index]) -> None:
        """The filter of a read, or of an IDF corpus."""
        self._check_filter(condition, indexes, "unindexed_filtering_retrieve")

    def check_update(self, condition: Filter | None, indexes: Mapping[str, Index]) -> None:
        """The filter that selects what an update changes. An `update_filter` is exempt: do not pass it here."""
        self._check_filter(condition, indexes, "unindexed_filtering_update")

    def check_points(self, count: Callable[[], int]) -> None:
        """The number of points of the collection, counted if there is a limit, before more are written."""
        most = self._on("max_points_count")
        if most is not None and count() >= most:
            raise bad_request(f"Max points count limit of {most} reached!")

    def check_indexes(self, indexes: int) -> None:
        """The number of payload indexes, before another is made."""
        most = self._on("max_payload_index_count")
        if most is not None and indexes >= most:
            raise _with_help(f"Collection already has the maximum number of payload indices ({most})", "Delete one.")

    def _within(self, setting: str, value: int, name: str) -> None:
        most = self._on(setting)
        if most is not None and value > most:
            raise _with_help(
                f'Limit exceeded {value} > {most} for "{name}"', f'Reduce the "{name}" parameter to or below {most}.'
            )

    def _check_filter(self, condition: Filter | None, indexes: Mapping[str, Index], unindexed: str) -> None:
        if condition is None or not self._on("enabled"):
            return
        leaves = list(condition.leaves())
        most = self._on("filter_max_conditions")
        if most is not None and len(leaves) > most:
            raise _with_help(
                f"Filter condition limit reached ({len(leaves)} > {most})",
                "Reduce the amount of conditions of your filter.",
            )
        most = self._on("condition_max_size")
        size = max((_size(leaf) for leaf in leaves), default=0)
        if most is not None and size > most:
            raise _with_help(f"Condition size limit reached ({size} > {most})", "Reduce the size of your condition.")
        if self._on(unindexed) is not False:
            return
        for leaf in leaves:
            missing = missing_index(leaf, indexes)
            if missing:
                key, kinds = missing
                raise _with_help(
                    f'Index required but not found for "{key}" of one of the following types: [{", ".join(kinds)}]',
                    "Create an index for this key or use a different filter.",
                )


def parse_strict_mode(value: object) -> StrictMode:
    """Read a `strict_mode_config`; a setting that is not emulated is answered 501."""
    source = table(value, (*_FLAGS, *_LIMITS), "strict_mode_config")
    given = {name: flag(source, name, default=False) for name in _FLAGS if source.get(name) is not None}
    limits = {name: whole(source, name, 0, 1) for name in _LIMITS if source.get(name) is not None}
    return StrictMode({**given, **limits})


def _size(leaf: object) -> int:
    if isinstance(leaf, HasId):
        return len(leaf.ids)
    return len(leaf.values) if isinstance(leaf, MatchAny) else 0


def _with_help(what: str, help_text: str) -> Refused:
    return bad_request(f"{what}. Help: {help_text}")
