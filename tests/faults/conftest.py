"""Which faults a run makes: all, a rotation, or named ones; the seed is printed, and gives the same run again."""

from __future__ import annotations

import os
import random

import pytest
from faults.registry import rotation
from faults.scenarios import SCENARIOS

_SEED = pytest.StashKey[int]()
_CHOSEN = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faults")
    group.addoption("--faults", default=None, help="all, rotation [the default], or names with commas between")
    group.addoption("--fault-seed", default=None, help="an earlier run's, to make it again")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fault" in metafunc.fixturenames:
        config = metafunc.config
        config.stash[_SEED] = seed = _seed(config)
        wanted = _option(config, "faults", "AFTERTURN_FAULTS") or "rotation"
        config.stash[_CHOSEN] = names = _names(wanted, seed)
        metafunc.parametrize("fault", names)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Said before anything can hang, too."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, pytest.TerminalReporter):
        pytest_terminal_summary(reporter, session.config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _SEED in config.stash:
        seed, names = config.stash[_SEED], config.stash[_CHOSEN]
        text = f"faults: {len(names)} of {len(SCENARIOS)}, seed {seed} (again: --fault-seed={seed}, or"
        terminalreporter.write_line(f"{text} AFTERTURN_FAULT_SEED={seed})")


@pytest.fixture
def fault_rng(fault: str, request: pytest.FixtureRequest) -> random.Random:
    """What a scenario chooses with: by the run's seed and the scenario's name."""
    return random.Random(f"{request.config.stash[_SEED]} {fault}")


@pytest.fixture
def long_form(request: pytest.FixtureRequest) -> bool:
    """Whether what goes away is away for a minute: so in a run of all."""
    return _option(request.config, "faults", "AFTERTURN_FAULTS") == "all"


def _names(wanted: str, seed: int) -> list[str]:
    if wanted == "all":
        return sorted(SCENARIOS)
    if wanted == "rotation":
        return rotation(seed)
    names = wanted.split(",")
    for name in names:
        if name not in SCENARIOS:
            raise pytest.UsageError(f"There is no fault {name}. There are: {', '.join(sorted(SCENARIOS))}")
    return names


def _seed(config: pytest.Config) -> int:
    given = _option(config, "fault_seed", "AFTERTURN_FAULT_SEED")
    return config.stash.get(_SEED, None) or (int(given) if given else random.SystemRandom().randrange(1, 10**6))


def _option(config: pytest.Config, name: str, variable: str) -> str | None:
    """From the command line, else the environment: where all tests run, this file is read after the command line."""
    given: str | None = config.getoption(name, None)
    return given or os.environ.get(variable) or None
