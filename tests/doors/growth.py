"""Random expressions that try to make texts long, and rows whose texts are as long as they can be, or longer."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from discreet.engines.sql.words import alias, column, select
from discreet.errors import QueryRefused
from discreet.plans import expressions as e
from discreet.plans.nodes import Project, Scan
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import LONGEST_TEXT, Kind
from tests.plans.interpreter import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from discreet.engines.sql.relations import Emitter
    from discreet.engines.sql.running import SQLEngine
    from tests.plans.interpreter import Database

NOTES = Table(
    "notes",
    unit="id",
    rows_per_unit=2,
    columns=[
        Column("id", type="text", max_length=8),
        Column("short", type="text", max_length=7),
        Column("long", type="text", max_length=500),
        Column("ward", keys=["a", "surgery"], other="elsewhere"),
        Column("n", type="integer"),
        Column("small", lower=-20, upper=900),
        Column("day", type="date"),
        Column("urgent", type="boolean"),
    ],
)
POLICY = Policy([NOTES], epsilon=1)
ATTACKED = "p1"
BATCH = 10

_TEXTS = [e.Column(name) for name in ("id", "short", "long", "ward")]
_OTHERS = [e.Column(name) for name in ("n", "small", "day", "urgent")]


def rows() -> Database:
    """Texts at their limit and far above it, in letters of one to four bytes; the attacked unit's are the longest."""
    long = ["x" * 600, "ä" * 500, "😀" * 501, " " * 5000, "AZ" * 400, None, ""]
    return {
        "notes": [
            {
                "id": f"p{place % 5}" if place != 3 else "p" * 9,
                "short": (long[place % 7] or "")[: 7 + place] if place % 4 else long[place % 7],
                "long": "ß" * 20_000 if place % 5 == 1 else long[(place + 3) % 7],
                "ward": ["a", "surgery", "x" * 300, None][place % 4],
                "n": [2**63 - 1, -(2**63), 0, None][place % 4],
                "small": [-20, 900, 5000, None][place % 4],
                "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None][place % 3],
                "urgent": [True, False, None][place % 3],
            }
            for place in range(28)
        ]
    }


def without_attacked(given: Database) -> Database:
    """The neighbor that lacks the attacked unit."""
    return {"notes": [row for row in given["notes"] if row["id"] != ATTACKED]}


def text(random: Random, depth: int) -> e.Expression:
    """An expression of texts, most of which make texts longer."""
    if depth == 0:
        constant = e.Literal("ab" * random.randrange(40), Kind.TEXT)
        return random.choice([*_TEXTS, constant, e.Cast((random.choice(_OTHERS),), Kind.TEXT)])
    one, two = text(random, depth - 1), text(random, random.randrange(depth))
    return random.choice(
        [
            e.Concat((one, two)),
            e.Concat((one, one)),
            e.Concat((two, one)),
            e.Case((e.Equal((e.Column("id"), e.Literal(ATTACKED, Kind.TEXT))), one, two)),
            e.Case((e.Like((two,), "%a_%b%"), two, one)),
            e.Coalesce((two, one)),
            e.NullIf((one, two)),
            e.Lower((one,)),
            e.Upper((one,)),
            e.Trim((one,)),
            e.Substring((one,), random.randrange(1, 9), random.randrange(400)),
        ]
    )


def grown(random: Random, count: int) -> Iterator[e.Expression]:
    """Give so many expressions that are not refused; of those that are, the reason is their length."""
    schema = Scan(NOTES).schema
    while count:
        found = text(random, random.randrange(1, 7))
        try:
            found.facts(schema)
        except QueryRefused as refused:
            assert "characters" in refused.why  # noqa: PT017 - it is drawn again
            continue
        count -= 1
        yield found


def wrong(engine: SQLEngine, some: Sequence[e.Expression], given: Database) -> list[str]:
    """Tell which texts are longer in an engine than is derived for them, or than in the reference."""
    node = Project(Scan(NOTES), tuple((f"v{place}", each) for place, each in enumerate(some)))
    emitter: Emitter = engine._emitter
    dialect = emitter.dialect
    lengths = [
        alias(dialect.largest(dialect.length(column(f"c{place}")), Kind.INTEGER), f"n{place}")
        for place in range(len(some))
    ]
    results = engine._results([dialect.written(select(lengths, emitter.relation(node).query))])
    if results is None:
        return [f"failed: {[each.canonical() for each in some]}"]
    cells = [row for _, row in rows_of(node, given)]
    found = []
    for place, (each, (cell,)) in enumerate(zip(some, results[0], strict=True)):
        length = None if cell is None else int(str(cell))
        bound = node.schema[f"v{place}"].length
        wanted = max((len(row[f"v{place}"]) for row in cells if row[f"v{place}"] is not None), default=None)
        if not (length or 0) <= bound <= LONGEST_TEXT or length != wanted:
            found.append(f"{each.canonical()}: {length} characters, {wanted} expected, {bound} derived")
    return found
