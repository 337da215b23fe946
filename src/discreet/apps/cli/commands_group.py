"""The group of all commands, found by walking the folder `commands` and imported one at a time."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.apps.cli import commands
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from typing import TypeAlias

    Command: TypeAlias = TyperCommand | TyperGroup

__all__ = ["SECTIONS", "Commands", "Interrupted", "build", "names", "summary"]

SECTIONS = ("Start", "Ask", "Own", "Calculate")
"""The headings of the help, in order; each command names its own."""

_ABOUT = "Private statistics: exact noise, certified promises, one ledger."
_SECTION = re.compile(r'^SECTION = "(\w+)"$', re.MULTILINE)
_SUMMARY = re.compile(r'^"""`[^`]+`: (.+?)\.?(?:"""|\n)')


def names() -> list[str]:
    """List the commands without importing any.

    >>> {"account", "calibrate"} <= set(names())
    True
    """
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))


def summary(name: str) -> tuple[str, str]:
    """Read a command's section and the first line of its file without importing it: help must be quick.

    >>> summary("calibrate")
    ('Calculate', 'how much noise a promise needs')
    """
    text = Path(commands.__path__[0], f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")
    section, first = _SECTION.search(text), _SUMMARY.search(text)
    if section is None or first is None or section[1] not in SECTIONS:
        message = f"commands/{name}.py must begin with a line '`discreet {name}`: …' and name its SECTION."
        raise TypeError(message)
    return section[1], first[1]


class Interrupted(Exception):  # noqa: N818 - the user's wish, not a mistake of the program
    """A command was interrupted; it says what stays spent, if anything does.

    >>> str(Interrupted("nothing was spent."))
    'nothing was spent.'
    """


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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  the framework's types are private
        """Find the command that was named, or name the nearest one."""
        if args and args[0] not in names():
            close = difflib.get_close_matches(args[0], names(), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            message = f"{args[0][:40]!r} is no command; the commands are {', '.join(names())}.{hint}"
            raise ParameterError(message)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  likewise
        """Run a command; of an interrupt the framework keeps a number alone, so what it says is kept here."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted(str(stop)) from None

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401  likewise
        """Complete names of commands without importing them; help texts of the options come from the framework."""
        item = typer.core.CompletionItem  # type: ignore[attr-defined]  # the framework does not export it
        commands = [item(name, help=summary(name)[1]) for name in names() if name.startswith(incomplete)]
        return [*commands, *TyperCommand.shell_complete(self, ctx, incomplete)]

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  likewise
        """Write the overview without importing a command or a library of colors: it must be quick."""
        width = max(map(len, names()))
        room = max(30, min(shutil.get_terminal_size().columns, 100) - width - 4)
        rows = {name: summary(name) for name in names()}
        formatter.write(f"{ctx.get_usage()}\n\n{_ABOUT}\n")
        for section in SECTIONS:
            formatter.write(f"\n{_styled(section, bold=True)}\n")
            for name, (own, text) in rows.items():
                if own == section:
                    short = text if len(text) <= room else f"{text[: room - 1]}…"
                    formatter.write(f"  {_styled(name.ljust(width), fg='cyan')}  {short}\n")
        formatter.write(f"\n{_styled('Options', bold=True)}\n")
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                formatter.write(f"  {record[0].split()[0].ljust(22)}  {record[1]}\n")
        formatter.write("\ndiscreet COMMAND --help explains a command and shows an example.\n")


def _styled(text: str, **style: Any) -> str:  # noqa: ANN401  the framework's words for styles
    """Style a text for a terminal, unless its owner wants none; where there is no terminal, echo takes it off."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, **style)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - the framework calls it
    """Say which version this is, and nothing else."""
    if wanted:
        from discreet import __version__

        typer.echo(__version__)
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]


def build() -> TyperGroup:
    """Make the program.

    >>> build().name
    'discreet'
    """
    app = typer.Typer(cls=Commands, name="discreet", help=_ABOUT, no_args_is_help=True)

    @app.callback()
    def discreet(*, version: _Version = False) -> None:
        """Hold the options that come before a command."""

    group = typer.main.get_command(app)
    if not isinstance(group, TyperGroup):
        message = "the program must be a group of commands"
        raise TypeError(message)
    return group
