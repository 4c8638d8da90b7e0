"""The calls: each takes the catalog and what was asked, and gives the `result` of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from afterturn.consumers.dev.store.catalog import Catalog
from afterturn.consumers.dev.store.collection import Collection
from afterturn.consumers.dev.store.errors import malformed, no_collection, unsupported
from afterturn.consumers.dev.store.fields import Table, flag, needed, rows, table, text, whole
from afterturn.consumers.dev.store.filters import optional_filter
from afterturn.consumers.dev.store.indexes import parse_index
from afterturn.consumers.dev.store.requests import parse_retrieve, parse_scroll, parse_search
from afterturn.consumers.dev.store.schema import parse_schema
from afterturn.consumers.dev.store.writes import Write, parse_batch, parse_delete, parse_set_payload, parse_upsert

_ORDERINGS = ("weak", "medium", "strong")


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked: the collection's name (if the path has one), query parameters and the JSON body."""

    name: str
    params: Mapping[str, str]
    body: object


def list_collections(catalog: Catalog, call: Call) -> object:  # noqa: ARG001
    """Every collection."""
    return {"collections": [{"name": name} for name in catalog.collections]}


def list_aliases(catalog: Catalog, call: Call) -> object:  # noqa: ARG001
    """Every alias."""
    return {"aliases": [_alias(alias, target) for alias, target in catalog.aliases.items()]}


def collection_aliases(catalog: Catalog, call: Call) -> object:
    """The aliases of a collection."""
    catalog.find(call.name)
    found = (_alias(alias, target) for alias, target in catalog.aliases.items() if target == call.name)
    return {"aliases": list(found)}


def _alias(alias: str, target: str) -> Table:
    return {"alias_name": alias, "collection_name": target}


def change_aliases(catalog: Catalog, call: Call) -> object:
    """Make, move and drop aliases, all or none."""
    catalog.change_aliases(call.body)
    return True


def collection_exists(catalog: Catalog, call: Call) -> object:
    """Whether there is such a collection or alias."""
    return {"exists": catalog.exists(call.name)}


def collection_info(catalog: Catalog, call: Call) -> object:
    """All about a collection."""
    return catalog.find(call.name).info()


def create_collection(catalog: Catalog, call: Call) -> object:
    """Make a collection."""
    catalog.create(call.name, parse_schema(call.body))
    return True


def update_collection(catalog: Catalog, call: Call) -> object:
    """Change a collection's metadata, by its own name."""
    source = table(call.body, ("metadata",), "collection")
    metadata = source.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise malformed("metadata must be an object")
    if call.name not in catalog.collections:
        raise no_collection(call.name)
    if metadata:
        catalog.collections[call.name].merge_metadata(metadata)
    return True


def delete_collection(catalog: Catalog, call: Call) -> object:
    """Remove a collection."""
    return catalog.delete(call.name)


def create_index(catalog: Catalog, call: Call) -> object:
    """Index a payload field."""
    collection = _collection(catalog, call)
    source = table(call.body, ("field_name", "field_schema"), "request")
    index = parse_index(needed(source, "field_schema", "request"))
    return collection.create_index(text(needed(source, "field_name", "request"), "field_name"), index)


def upsert(catalog: Catalog, call: Call) -> object:
    """Write points."""
    collection = _collection(catalog, call)
    return _write(collection, call, [parse_upsert(call.body, collection.schema)])[0]


def set_payload(catalog: Catalog, call: Call) -> object:
    """Set fields of points."""
    collection = _collection(catalog, call)
    return _write(collection, call, [parse_set_payload(call.body, collection.schema)])[0]


def delete(catalog: Catalog, call: Call) -> object:
    """Remove points."""
    collection = _collection(catalog, call)
    return _write(collection, call, [parse_delete(call.body, collection.schema)])[0]


def batch(catalog: Catalog, call: Call) -> object:
    """Several writes, in order."""
    collection = _collection(catalog, call)
    return _write(collection, call, parse_batch(call.body, collection.schema))


def _write(collection: Collection, call: Call, writes: list[Write]) -> list[Table]:
    if call.params.get("ordering", "weak") not in _ORDERINGS:
        raise malformed("the query parameter ordering must be weak, medium or strong")
    if call.params.get("wait", "false") not in ("true", "false"):
        raise malformed("the query parameter wait must be true or false")
    answers = collection.apply(writes)
    if call.params.get("wait") == "true":
        return answers
    return [{**answer, "status": "acknowledged"} for answer in answers]


def retrieve(catalog: Catalog, call: Call) -> object:
    """Points by id."""
    collection = _collection(catalog, call)
    request = parse_retrieve(call.body, collection.schema)
    return collection.engine.retrieve(request.ids, request.payload, request.vectors)


def scroll(catalog: Catalog, call: Call) -> object:
    """A page of points."""
    collection = _collection(catalog, call)
    return collection.scroll(parse_scroll(call.body, collection.schema))


def count(catalog: Catalog, call: Call) -> object:
    """The number of points; always exact."""
    source = table(call.body, ("filter", "exact"), "request")
    flag(source, "exact", default=True)
    return {"count": _collection(catalog, call).count(optional_filter(source))}


def facet(catalog: Catalog, call: Call) -> object:
    """The number of points for each value of a field."""
    source = table(call.body, ("key", "limit", "filter", "exact"), "request")
    key = text(needed(source, "key", "request"), "key")
    limit, exact = whole(source, "limit", 10, 1), flag(source, "exact", default=False)
    return {"hits": _collection(catalog, call).facet(key, limit, optional_filter(source), exact=exact)}


def query(catalog: Catalog, call: Call) -> object:
    """One ranked read."""
    collection = _collection(catalog, call)
    return {"points": collection.search([parse_search(call.body, collection.schema)])[0]}


def query_batch(catalog: Catalog, call: Call) -> object:
    """Several ranked reads."""
    collection = _collection(catalog, call)
    source = table(call.body, ("searches",), "request")
    bodies = rows(needed(source, "searches", "request"), "searches")
    collection.schema.strict.check_batch(len(bodies))
    searches = [parse_search(body, collection.schema) for body in bodies]
    return [{"points": points} for points in collection.search(searches)] if searches else []


def _collection(catalog: Catalog, call: Call) -> Collection:
    """The collection of a call, once its common parameters are read: one process gives every consistency asked."""
    collection = catalog.find(call.name)
    timeout = call.params.get("timeout")
    if timeout is not None:
        if not timeout.isdecimal() or not int(timeout):
            raise malformed("the query parameter timeout must be a whole number of seconds of at least 1")
        collection.schema.strict.check_timeout(int(timeout))
    if not _known_consistency(call.params.get("consistency", "all")):
        raise unsupported("this value of the query parameter consistency")
    return collection


def _known_consistency(value: str) -> bool:
    return value in ("majority", "quorum", "all") or value.isdecimal()
