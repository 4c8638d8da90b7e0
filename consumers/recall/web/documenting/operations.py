"""What each route takes and answers, as values; ``document`` makes OpenAPI of it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from afterturn.consumers.recall.access.principals import Right
from afterturn.consumers.recall.web.documenting import examples
from afterturn.consumers.recall.web.documenting.examples import Table
from afterturn.consumers.recall.web.documenting.parameters import (
    BROWSE,
    CURSOR,
    IDEMPOTENCY,
    SCOPE,
    TENANT,
    TENANTS,
    THREAD,
    WAIT,
    in_path,
    query,
)
from afterturn.consumers.recall.web.removing import ForgetOverHttp
from afterturn.consumers.recall.web.writing import ConfigureOverHttp, EraseOverHttp, RememberOverHttp, TurnOverHttp
from afterturn.schemas.browsing import Me, MemoryPage, MemoryView, Stats, TenantPage, ThreadPage
from afterturn.schemas.query import Answer, Query
from afterturn.schemas.writes import WouldForget, WriteStatus

Says = tuple[str, type[BaseModel], Table]
"""What an answer means, its model and an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A method of a route. ``also`` are error statuses beside those every operation has."""

    method: str
    path: str
    right: Right | None
    summary: str
    description: str
    answers: dict[str, Says]
    body: tuple[type[BaseModel], Table] | None = None
    parameters: tuple[Table, ...] = (TENANT,)
    also: tuple[str, ...] = ()


_ACCEPTED: dict[str, Says] = {
    "202": ("It is on the turn log; `status` says what is known beyond that", WriteStatus, examples.ACCEPTED)
}
_UNSURE = "With `wait` the answer comes once that is settled, or after so many seconds."
_WRITE = (TENANT, WAIT, IDEMPOTENCY)
_ID = in_path("id", "A memory's id", examples.ID)


def _on_one(verb: str, right: Right, summary: str, does: str = "") -> Operation:
    """A write that concerns one memory; a review also refuses what is no candidate."""
    return Operation(
        method="post",
        path=f"/v1/memories/{{id}}/{verb}",
        right=right,
        summary=summary,
        description=f"{does} {_UNSURE}".strip(),
        answers=_ACCEPTED,
        parameters=(*_WRITE, _ID, *SCOPE),
        also=("404", "409") if right == "review" else ("404",),
    )


OPERATIONS = (
    Operation(
        method="post",
        path="/v1/recall",
        right="read",
        summary="Ask what is known",
        description=(
            "Answers with what could be had: `degraded` names what could not (after, healing, vector, keyword, "
            "neighbour, search), `limits` what bounded it. Without `text` memories are listed by `order`, page by page."
        ),
        body=(Query, examples.ASK),
        answers={"200": ("The answer", Answer, examples.ANSWER)},
    ),
    Operation(
        method="post",
        path="/v1/turns",
        right="write",
        summary="Publish a turn",
        description=f"Posting the same turn again is safe: it is recorded once. {_UNSURE}",
        body=(TurnOverHttp, examples.TURN),
        answers=_ACCEPTED,
        parameters=_WRITE,
    ),
    Operation(
        method="post",
        path="/v1/memories",
        right="write",
        summary="Remember a fact",
        description=f"`id` of the answer is the id that the memory will have. {_UNSURE}",
        body=(RememberOverHttp, examples.FACT),
        answers=_ACCEPTED,
        parameters=_WRITE,
    ),
    Operation(
        method="get",
        path="/v1/memories",
        right="read",
        summary="Browse memories",
        description=(
            "Page by page, each memory once: a full page has a `cursor`, which belongs to the same filters and the "
            "same order. A list is given by naming its parameter several times."
        ),
        answers={"200": ("A page", MemoryPage, examples.PAGE)},
        parameters=(TENANT, *BROWSE, CURSOR),
    ),
    Operation(
        method="get",
        path="/v1/memories/{id}",
        right="read",
        summary="Read a memory",
        description="What is another tenant's, or outside the scope, is answered as if it were not there.",
        answers={"200": ("The memory", MemoryView, examples.MEMORY)},
        parameters=(TENANT, _ID, *SCOPE),
        also=("404",),
    ),
    Operation(
        method="delete",
        path="/v1/memories/{id}",
        right="write",
        summary="Forget a memory",
        description=f"What was made from it alone goes too. {_UNSURE}",
        answers=_ACCEPTED,
        parameters=(*_WRITE, _ID, query("reason", "Why, for the log", {"type": "string", "maxLength": 256}), *SCOPE),
        also=("404",),
    ),
    _on_one("pin", "write", "Pin a memory", "It stays whatever the bound says."),
    _on_one("unpin", "write", "Release a pinned memory"),
    _on_one(
        "approve",
        "review",
        "Approve a candidate",
        "It comes into use; under a key it takes the last one's place, unless that says the same. Candidates are "
        "listed by `GET /v1/memories?status=candidate`.",
    ),
    _on_one("reject", "review", "Reject a candidate", "It goes, and what was made from it alone."),
    Operation(
        method="post",
        path="/v1/forget",
        right="write",
        summary="Forget memories by id or by a filter",
        description=(
            "More than half of what the tenant has goes only with `confirm`. With `dry_run` nothing is published: "
            f"the answer says how many would go. {_UNSURE}"
        ),
        body=(ForgetOverHttp, examples.FORGET),
        answers={**_ACCEPTED, "200": ("What would go (`dry_run`)", WouldForget, examples.WOULD_FORGET)},
        parameters=_WRITE,
        also=("404",),
    ),
    Operation(
        method="get",
        path="/v1/writes/{token}",
        right="read",
        summary="What became of a write",
        description=f"Nothing that is only on the log is called visible. {_UNSURE}",
        answers={"200": ("Where it stands", WriteStatus, examples.WRITTEN)},
        parameters=(TENANT, in_path("token", "What a write was answered with", examples.TOKEN), WAIT),
        also=("404",),
    ),
    Operation(
        method="get",
        path="/v1/threads/{id}",
        right="read",
        summary="Read a thread in order",
        description=(
            "The thread of exactly the scope that is named. Long messages are whole again; removed ones are gaps."
        ),
        answers={"200": ("Messages", ThreadPage, examples.THREAD)},
        parameters=(TENANT, in_path("id", "The thread", "trips"), *THREAD),
        also=("404",),
    ),
    Operation(
        method="get",
        path="/v1/stats",
        right="read",
        summary="Count memories",
        description="Within the scope of who asks.",
        answers={"200": ("The counts", Stats, examples.STATS)},
        parameters=(TENANT, *SCOPE),
    ),
    Operation(
        method="get",
        path="/v1/me",
        right=None,
        summary="Ask what one may",
        description="The credential's rights, its tenants (absent where it may name any), the scope it is bound to.",
        answers={"200": ("What the caller may", Me, examples.ME)},
        parameters=(),
    ),
    Operation(
        method="get",
        path="/v1/tenants",
        right="admin",
        summary="List tenants",
        description="Those of the credential. Tenants without memories are left out, unless `all` is true.",
        answers={"200": ("A page", TenantPage, examples.TENANTS)},
        parameters=TENANTS,
    ),
    Operation(
        method="post",
        path="/v1/settings",
        right="admin",
        summary="Change a tenant's settings",
        description=f"Only the fields that are given change. {_UNSURE}",
        body=(ConfigureOverHttp, examples.SETTINGS),
        answers=_ACCEPTED,
        parameters=_WRITE,
    ),
    Operation(
        method="post",
        path="/v1/erase",
        right="erase",
        summary="Erase a tenant",
        description=f"Everything it has goes, for good. `confirm` repeats its name. {_UNSURE}",
        body=(EraseOverHttp, examples.ERASE),
        answers=_ACCEPTED,
        parameters=_WRITE,
    ),
)
