"""``afterturn ask``: one question to the recall service."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from typing import Annotated, Any

import httpx
import orjson
import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.options import AsJson, RecallUrl, api_key
from afterturn.consumers.cli.running import out
from afterturn.consumers.cli.wording import counted, printable
from afterturn.schemas.errors import ContractError
from afterturn.schemas.guarding import NOTE
from afterturn.schemas.query import TENANT_HEADER, Answer, Format, Profile, RecalledMemory
from afterturn.streams.agent.recalling import problem_of
from afterturn.streams.errors import Retry

MARK = "✓"
SHOWN_CHARS = 105
LONGEST_WORD = 20
WIDE = 100
_UNKNOWN = 401
_HEADER = re.compile(r"\[\d{1,2} [A-Z][a-z]+ \d{1,4}, \d\d:\d\d\]")
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]{4,}")

After = Annotated[
    str | None, typer.Option(metavar="TOKEN", help="Wait until this turn can be recalled; publish returns tokens.")
]
InFormat = Annotated[Format | None, typer.Option("--format", help="Print the prompt text only, in this format.")]
Where = Annotated[str | None, typer.Option("--filter", metavar="JSON", help="Only memories for which this holds.")]


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
    threads: Annotated[list[str] | None, typer.Option("--thread", help="Of this thread; repeat for several.")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on (RFC 3339, or -7d, -3h, -20m).")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    after: After = None,
    profile: Annotated[Profile, typer.Option(help="The ranking.")] = "recipe",
    format_: InFormat = None,
    filter_: Where = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the prompt text only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the recall service, and show what it found, by what, and in how many milliseconds.

    Examples:

    ```sh
    afterturn ask ada "When is Tobias's birthday?"
    afterturn ask ada "What changed?" --since -7d --thread planning --text
    afterturn ask ada "Who plays the cello?" --profile dice --format tagged
    afterturn ask ada "What did we decide?" --filter '{"field": "importance", "op": "gte", "value": 0.5}'
    ```
    """
    body: dict[str, Any] = {"text": question, "limit": limit, "max_tokens": max_tokens, "explain": explain}
    chosen: dict[str, Any] = {"threads": threads, "since": since, "until": until, "after": after}
    chosen |= {"profile": profile, "format": format_, "filter": None if filter_ is None else _condition(filter_)}
    body |= {name: value for name, value in chosen.items() if value is not None and value != []}
    if user is not None:
        body["scope"] = {"user": user}
    with httpx.Client(timeout=30) as client:
        answer = post_recall(client, url, tenant, body)
    _tell(question, answer, as_json=as_json, text=text or format_ is not None)


def _tell(question: str, answer: Answer, *, as_json: bool, text: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps(answer.model_dump(mode="json", exclude_none=True)).decode())
    elif text:
        typer.echo(printable(answer.text) if sys.stdout.isatty() else answer.text)
    else:
        show(question, answer)


def _condition(text: str) -> object:
    """A filter as it is given on the command line.

    Raises:
        ContractError: it is no JSON; what it says is for the service to judge.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ContractError("invalid", "--filter", "must be JSON") from None


def post_recall(client: httpx.Client, url: str, tenant: str, body: dict[str, Any]) -> Answer:
    """What the recall service answers.

    Raises:
        Retry: it is away.
        ContractError: it refuses the question.
    """
    try:
        headers = {TENANT_HEADER.encode(): tenant.encode(), **_credential()}
        response = client.post(f"{url}/v1/recall", headers=headers, content=orjson.dumps(body))
    except (UnicodeEncodeError, orjson.JSONEncodeError):
        raise ContractError("invalid", "", "what was asked must be UTF-8") from None
    except httpx.LocalProtocolError:
        raise ContractError("invalid", "TENANT", "must not hold control characters, or begin or end blank") from None
    except httpx.RequestError as error:
        raise Retry(
            f"The recall service at {url} does not answer ({type(error).__name__}): is it running, and ready?",
            dependency="recall",
        ) from None
    if response.is_success:
        try:
            return Answer.model_validate_json(response.content, extra="ignore")
        except ValidationError:
            raise Retry(f"What {url} answered is no answer: is it another service?", dependency="recall") from None
    place, problem = problem_of(response)
    if response.status_code >= 500:
        raise Retry(f"The recall service at {url} can't answer: {problem}", dependency="recall")
    if response.status_code == _UNKNOWN:
        place = "AFTERTURN_API_KEY"
    raise ContractError("invalid", place, problem)


def _credential() -> dict[bytes, bytes]:
    """The caller's API key or token, where the environment holds one: on a command line others could read it."""
    key = api_key()
    return {} if key is None else {b"Authorization": f"Bearer {key}".encode()}


def show(question: str, answer: Answer, rows: int | None = None, evidence: Collection[str] = ()) -> None:
    """Print a question, its best memories and what found them; those whose ids are ``evidence`` are marked."""
    table = Table(title=Text(printable(question), style="bold"), title_justify="left", box=None, pad_edge=False)
    if evidence:
        table.add_column("", style="green")
    table.add_column("when", no_wrap=True, style="dim")
    table.add_column("who", max_width=12, overflow="fold", style="dim")
    table.add_column("memory", overflow="fold", ratio=1)
    for name in ("found by", "score"):
        table.add_column(name, no_wrap=True, style="dim")
    explained = any(memory.parts for memory in answer.memories)
    if explained:
        table.add_column("of", overflow="fold", style="dim")
    joint = "+" if out.width >= WIDE else "+\n"
    for memory in answer.memories[:rows]:
        when = memory.occurred_at.strftime("%Y-%m-%d") if memory.occurred_at else ""
        who, said = Text(memory.author or memory.role or ""), Text(printable(snippet(memory.text, question)))
        marks = [MARK if memory.id in evidence else ""] if evidence else []
        parts = [parts_of(memory)] if explained else []
        table.add_row(*marks, when, who, said, joint.join(memory.found_by), f"{memory.score:.2f}", *parts)
    out.print(table)
    out.print(Text(footer(answer, rows), style="dim"), highlight=False)


def parts_of(memory: RecalledMemory) -> str:
    """What a score is made of, the parts that are there."""
    parts = memory.parts.model_dump() if memory.parts else {}
    return " ".join(f"{name} {value:.2f}" for name, value in parts.items() if value)


def footer(answer: Answer, rows: int | None = None) -> str:
    """How much is shown, and how much the prompt's text holds: that is bounded by its tokens, not by the list."""
    shown = len(answer.memories[:rows])
    held = sum(line != NOTE and not _HEADER.fullmatch(line) for line in answer.text.splitlines())
    text = f"the prompt text holds {counted(held, 'memory')}, {counted(answer.tokens, 'token')}"
    degraded = f"; degraded: {', '.join(answer.degraded)}" if answer.degraded else ""
    return f"showing {shown:,}; {text}; {answer.took_ms:.1f} ms{degraded}"


def snippet(text: str, question: str, size: int = SHOWN_CHARS) -> str:
    """A text in one line, cut to ``size`` characters around the place where most of the question's words stand.

    Words are compared by how they begin, since that is what inflected forms share; longer ones weigh more.
    """
    text = " ".join(text.split())
    if len(text) <= size:
        return text
    asked = _beginnings(question).values()
    hits = {at: word for at, word in _beginnings(text).items() if word in asked}

    def covered(begin: int) -> int:
        return sum(map(len, {word for at, word in hits.items() if begin <= at < begin + size}))

    latest = len(text) - size
    begin = max((max(0, min(at - size // 4, latest)) for at in hits), key=covered, default=0)
    end = begin + size
    if begin:
        begin = max(begin, text.find(" ", begin, begin + LONGEST_WORD) + 1)
    if end < len(text):
        end = max(text.rfind(" ", end - LONGEST_WORD, end + 1), 0) or end
    return f"{'…' if begin else ''}{text[begin:end].strip()}{'…' if end < len(text) else ''}"


def _beginnings(text: str) -> dict[int, str]:
    """Where the words of a text are, and how each begins; a Chinese character is a word."""
    return {found.start(): found[0][:5].lower() for found in _WORD.finditer(text)}
