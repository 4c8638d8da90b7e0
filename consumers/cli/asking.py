"""``afterturn ask``: one question to the recall service."""

from __future__ import annotations

from typing import Annotated, Any

import httpx
import orjson
import typer
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.running import AsJson, RecallUrl, out
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Answer
from afterturn.streams.errors import Retry

SHOWN_CHARS = 110


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(ask)


def ask(
    tenant: Annotated[str, typer.Argument(help="Whose memories.")],
    question: Annotated[str, typer.Argument(help="What to recall.")],
    url: RecallUrl = "http://127.0.0.1:8080",
    limit: Annotated[int, typer.Option(help="Memories to list.", min=1, max=1000)] = 10,
    max_tokens: Annotated[int, typer.Option(help="Budget of the prompt text.", min=0, max=100_000)] = 2_000,
    user: Annotated[str | None, typer.Option(help="Only this user's memories (scope.user).")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the prompt text only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the recall service, and show what it found, by what, and in how many milliseconds.

    Examples: `afterturn ask ada "When is Tobias's birthday?"`, `afterturn ask ada "…" --text`
    """
    body: dict[str, Any] = {"text": question, "limit": limit, "max_tokens": max_tokens}
    if user is not None:
        body["scope"] = {"user": user}
    answer = post_recall(httpx.Client(timeout=30), url, tenant, body)
    if as_json:
        typer.echo(orjson.dumps(answer.model_dump(mode="json", exclude_none=True)).decode())
    elif text:
        typer.echo(answer.text)
    else:
        show(question, answer)


def post_recall(client: httpx.Client, url: str, tenant: str, body: dict[str, Any]) -> Answer:
    """What the recall service answers.

    Raises:
        Retry: it is away.
        ContractError: it refuses the question.
    """
    try:
        response = client.post(f"{url}/v1/recall", headers={"Afterturn-Tenant": tenant}, content=orjson.dumps(body))
    except httpx.TransportError as error:
        raise Retry(
            f"The recall service at {url} does not answer ({type(error).__name__}): is it running, and ready?",
            dependency="recall",
        ) from None
    if response.is_success:
        return Answer.model_validate_json(response.content, extra="ignore")
    try:
        fault = orjson.loads(response.content)["error"]
        place, problem = str(fault.get("field", "")), str(fault.get("problem", response.reason_phrase))
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        place, problem = "", f"{response.status_code} {response.reason_phrase}"
    if response.status_code >= 500:
        raise Retry(f"The recall service at {url} can't answer: {problem}", dependency="recall")
    raise ContractError("invalid", place, problem)


def show(question: str, answer: Answer, rows: int | None = None) -> None:
    """Print a question, its best memories and what found them."""
    table = Table(title=Text(question, style="bold"), title_justify="left", box=None, pad_edge=False)
    for name in ("when", "who", "memory", "found by", "score"):
        table.add_column(name, overflow="fold", no_wrap=name != "memory", style="dim" if name != "memory" else None)
    for memory in answer.memories[:rows]:
        when = memory.occurred_at.strftime("%Y-%m-%d") if memory.occurred_at else ""
        said = memory.text if len(memory.text) <= SHOWN_CHARS else memory.text[: SHOWN_CHARS - 1] + "…"
        found = "+".join(memory.found_by)
        table.add_row(when, Text(memory.author or memory.role or ""), Text(said), found, f"{memory.score:.2f}")
    out.print(table)
    degraded = f", degraded: {', '.join(answer.degraded)}" if answer.degraded else ""
    shown = sum(memory.in_text for memory in answer.memories)
    out.print(
        f"[dim]{len(answer.memories)} memories, {shown} of them in a text of {answer.tokens} tokens, "
        f"{answer.took_ms:.1f} ms{degraded}[/dim]",
        highlight=False,
    )
