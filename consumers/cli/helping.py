"""How ``--help`` looks, and ``--version``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class Plain(TyperCommand):
    """A command whose flags are shown without a type: they take no value."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - the framework's own types moved between versions
        """The parameters, those of ``--help`` included."""
        return _untyped(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """The parameters, those of ``--help`` included."""
        return _untyped(super().get_params(ctx))


def plain(app: typer.Typer) -> None:
    """Show every command of an application so."""
    for command in app.registered_commands:
        command.cls = Plain
    for group in app.registered_groups:
        if group.typer_instance is not None:
            plain(group.typer_instance)


def say_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        typer.echo(f"afterturn {version('afterturn')}")
        raise typer.Exit


def _untyped(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters
