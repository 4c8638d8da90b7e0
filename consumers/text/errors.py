"""What can go wrong with an embedder, by what to do about it."""

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
