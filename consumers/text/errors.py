"""What can go wrong with an embedder or a language model, by what to do about it."""

from __future__ import annotations

from afterturn.streams.errors import Retry, Stop


class EmbedderAway(Retry):
    """The embedder cannot be reached, is busy, or answers with something else. Nothing is wrong with the texts."""

    def __init__(self, embedder: str, problem: str) -> None:
        super().__init__(f"The embedder {embedder} {problem}.", dependency="embedder")
        self.embedder = embedder
        self.problem = problem


class EmbedderUnusable(Stop):
    """The embedder as it is set up can never serve: its name, files, key, model or dimension are wrong."""

    def __init__(self, embedder: str, problem: str, *, command_that_helps: str | None = None) -> None:
        super().__init__(f"The embedder {embedder} {problem}.", command_that_helps=command_that_helps)
        self.embedder = embedder
        self.problem = problem


class ModelAway(Retry):
    """The language model cannot be reached, is busy, or answers with something else. Nothing is wrong with the request.

    ``retry_after_s``: seconds the endpoint asks to wait, None where it doesn't say.
    """

    def __init__(self, model: str, problem: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(f"The model {model} {problem}.", dependency="model")
        self.model = model
        self.problem = problem
        self.retry_after_s = retry_after_s


class ModelUnusable(Stop):
    """The language model as it is set up can never serve: its name, its key or the package is wrong or missing."""

    def __init__(self, model: str, problem: str, *, command_that_helps: str | None = None) -> None:
        super().__init__(f"The model {model} {problem}.", command_that_helps=command_that_helps)
        self.model = model
        self.problem = problem
