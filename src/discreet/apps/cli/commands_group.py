"""The group of all commands, found by walking the folder `commands` and imported one at a time."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.apps.cli import commands

if TYPE_CHECKING:
    from typing import TypeAlias

    Command: TypeAlias = TyperCommand | TyperGroup

__all__ = ["Commands", "build", "names"]


def names() -> list[str]:
    """List the commands without importing any.

    >>> {"account", "calibrate"} <= set(names())
    True
    """
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))


class Commands(TyperGroup):
    """A group whose members are the files of `commands`; each holds a Typer application named `app`.

    >>> Commands(name="discreet").list_commands(None) == names()
    True
    """

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002  the framework's signature
        """Name the commands."""
        return names()

    def get_command(self, ctx: object, cmd_name: str) -> Command | None:  # noqa: ARG002  the framework's signature
        """Import one command."""
        if cmd_name not in names():
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        if not isinstance(command, TyperCommand | TyperGroup):
            message = f"commands/{cmd_name}.py holds no Typer application named app"
            raise TypeError(message)
        return command


def build() -> TyperGroup:
    """Make the program.

    >>> build().name
    'discreet'
    """
    return Commands(
        name="discreet",
        help="Private statistics: exact noise, certified promises, one ledger.",
        no_args_is_help=True,
    )
