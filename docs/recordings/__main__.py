"""Record the demo as a picture of a terminal: python -m docs.recordings.

The picture shows one run. Noise is drawn anew each time, so no two recordings are equal; the words are those of the
program, and a test holds them against it.
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

from rich.console import Console

from discreet.apps.cli.demonstration import story

WIDTH = 100
TARGET = Path(__file__).resolve().parent / "demo.svg"

# The library's own frame, without its fonts from elsewhere.
FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="A run of discreet demo">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def record() -> str:
    """Run the demo in a new folder and draw what it prints."""
    console = Console(
        record=True,
        width=WIDTH,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        emoji=False,
        file=io.StringIO(),
        legacy_windows=False,
    )
    console.print("[green]$[/] [bold]discreet demo --folder hospital[/]")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("hospital").mkdir()
            for step in story(Path("hospital")):
                step.show(console)
        finally:
            os.chdir(before)
    return console.export_svg(title="discreet demo", code_format=FRAME, unique_id="demo")


if __name__ == "__main__":
    TARGET.write_text("\n".join(line.rstrip() for line in record().splitlines()) + "\n", encoding="utf-8")
    print(TARGET.name)
