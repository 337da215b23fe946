"""The layers of the architecture page, as pyproject.toml states them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docs.pictures.svg import BLUE, GRAY, INK, Drawing

ROOMS = {
    "apps": "command line, server, web",
    "checks": "audits, attacks, anonymity, reports",
    "database": "policy + engine + ledger",
    "methods": "workloads, synthesis, learning, streams, …",
    "ledgers": "durable spending",
    "releases": "the one door out",
    "engines": "exact bounded aggregates",
    "plans": "a question and its stability",
    "mechanisms": "private statistics",
    "inference": "post-processing",
    "tables": "what is public",
    "noise": "bits and exact samplers",
    "privacy": "promises, curves, filters",
    "exact": "fractions, intervals, directed rounding",
    "files": "private files and folders",
    "errors": "one tree of exceptions",
}
EXISTS = f'stroke="{BLUE}" stroke-width="1.5" fill-opacity="0.12" rx="6"'
PLANNED = f'stroke="{GRAY}" stroke-dasharray="4 3" fill-opacity="0" rx="6"'


def layers() -> list[list[str]]:
    """Read the layers, from the top, out of the contract that the linter checks; a private module is no room."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    lines = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name for name in line.split(" | ") if not name.startswith("_")] for line in lines]


def stack() -> str:
    """Draw the layers; those that do not exist yet are dashed."""
    rows = layers()
    drawing = Drawing(760, 44 * len(rows) + 40, "The layers of the package; imports point down only")
    for number, row in enumerate(rows):
        width = (680 - 10 * (len(row) - 1)) / len(row)
        for place, layer in enumerate(row):
            name = layer.strip("()")
            box = (60 + place * (width + 10), 10 + 44 * number, width, 36)
            drawing.rectangle(box, BLUE, style=EXISTS if layer == name else PLANNED)
            drawing.text((box[0] + 12, box[1] + 23), name, size=14)
            drawing.text((box[0] + width - 10, box[1] + 23), ROOMS[name], color=GRAY, anchor="end", size=11)
    drawing.arrow((30, 20), (30, 44 * len(rows)))
    legend = "solid: exists · dashed: planned · the arrow: who may import whom"
    drawing.text((60, 44 * len(rows) + 30), legend, color=INK, size=12)
    return drawing.render()


def pictures() -> dict[str, str]:
    """Draw the layers."""
    return {"layers.svg": stack()}
