"""A whole stack on the embedded defaults, started once, and the command line on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from support.commandline import CommandLine, clean_environment

from afterturn.consumers.dev.stack import Addresses, Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Broker, store, recorder and recall."""
    own = Stack(tmp_path_factory.mktemp("stack"), lambda _: None, environment=clean_environment())
    yield asyncio.run(own.start())
    asyncio.run(own.stop())


@pytest.fixture(scope="session")
def cli(stack: Addresses) -> CommandLine:
    """The command line on the stack."""
    return CommandLine(clean_environment() | stack.environment())
