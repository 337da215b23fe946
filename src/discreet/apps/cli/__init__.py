"""The command `discreet`: one file per command in `commands/`, imported when the command is named."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 asked for something impossible.

    >>> main(["calibrate", "laplace", "--epsilon", "0.1"])
    scale  10
    0
    """
    from discreet.apps.cli.commands_group import build

    try:
        build().main(args=None if arguments is None else list(arguments), prog_name="discreet")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except ParameterError as error:
        return _complain(error, 2)
    except DiscreetError as error:
        return _complain(error, 1)
    except OSError as error:  # a file that cannot be written
        return _complain(error, 1)
    return 0


def _complain(error: Exception, code: int) -> int:
    """Print an error as a sentence, without a traceback."""
    print(f"discreet: {error}", file=sys.stderr)  # noqa: T201  this is the program's voice
    return code
