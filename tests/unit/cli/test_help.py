"""What `--help` shows, command by command."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from afterturn.consumers.cli.app import app

COMMANDS = (
    "dev", "demo", "recorder", "recall", "init", "publish", "ask", "events", "tenants", "forget", "erase", "doctor",
    "evaluate locomo", "dead-letters list", "dead-letters show", "dead-letters replay", "dead-letters drop",
    "topics repartition",
)  # fmt: skip
WIDE = {"COLUMNS": "160", "TERM": "dumb", "NO_COLOR": "1"}


def shown(*arguments: str, code: int = 0) -> str:
    done = CliRunner(env=WIDE).invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_a_line_each_and_says_what_its_options_do(command: str) -> None:
    lines = [line.strip() for line in shown(*command.split(), "--help").splitlines()]
    begin = next(at for at, line in enumerate(lines) if line.startswith("Example"))
    end = next(at for at, line in enumerate(lines) if line.startswith("╭"))
    examples = [line for line in lines[begin + 1 : end] if line]
    assert examples
    assert all(line.count(f"afterturn {command}") == 1 for line in examples), examples
    assert "bool" not in "".join(lines), "a flag takes no value"


def test_the_group_and_the_whole_show_flags_without_a_type() -> None:
    assert "bool" not in shown("--help")
    assert "bool" not in shown("evaluate", "--help")
    assert "recall in milliseconds" in shown("--help")


@pytest.mark.parametrize("part", ["kafka", "qdrant", "recall", "recorder"])
def test_ports_are_explained(part: str) -> None:
    line = next(line for line in shown("dev", "--help").splitlines() if line.startswith(f"│ --{part}-port"))
    assert "0 chooses a free one" in line


def test_the_version_is_told() -> None:
    assert shown("--version").startswith("afterturn 0.")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("recorder", "--log-level", "silly"), "'debug', 'info', 'warning', 'error'"),
        (("ask", "ada", "Where?", "--url", "localhost:8080"), "write http://"),
        (("ask", "ada", "Where?", "--url", "127.0.0.1:8080"), "write http://"),
        (("ask", "ada", "Where?", "--url", "http://a:b"), "write http://"),
        (("events", "--topic-prefix", "a b"), "write letters"),
    ],
)
def test_a_wrong_option_says_what_to_write(arguments: tuple[str, ...], advice: str) -> None:
    assert advice in shown(*arguments, code=2)
