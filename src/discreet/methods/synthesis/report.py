"""What a synthetic table is worth, from what was released alone: for a page or for a program."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.mechanisms.release import Release
    from discreet.methods.synthesis.model import Marginal, SyntheticModel

__all__ = ["SyntheticReport", "report"]

_BAR, _HEIGHT, _WIDE = 14, 90, 640
_BLUE, _ORANGE, _GRAY = "#2457a7", "#d9822b", "#8a8f98"


@dataclass(frozen=True)
class SyntheticReport:
    """A report as values: `to_json()` for a program, `to_html()` for a page.

    >>> SyntheticReport({"rows": 3.0}).to_json()
    '{"rows": 3.0}'
    """

    facts: dict[str, Any]

    def to_json(self) -> str:
        """Write it as JSON."""
        return json.dumps(self.facts)

    def to_html(self) -> str:
        """Write it as one page that loads nothing: each column with its ±, and each pair that was measured."""
        facts = self.facts
        head = (
            f"<h1>A synthetic table</h1><p>{escape(facts['promise'])}; by {escape(facts['method'])}; about "
            f"{facts['rows']:.0f} rows. All of this follows from what was released.</p>"
        )
        columns = "".join(f"<h2>{escape(one['columns'][0])}</h2>{_bars(one)}" for one in facts["columns"])
        rows = "".join(
            f"<tr><td>{escape(' and '.join(one['columns']))}</td><td>{one['cells']}</td>"
            f"<td>{one['noise']:.1%}</td><td>{one['from measured']:.1%}</td></tr>"
            for one in facts["measured"]
        )
        table = (
            "<h2>What was measured</h2><table><tr><th>columns</th><th>cells</th><th>distance by noise alone</th>"
            f"<th>model from measured</th></tr>{rows}</table>"
        )
        return (
            '<!doctype html><meta charset="utf-8"><title>A synthetic table</title>'
            f'<body style="font-family:sans-serif;max-width:46em">{head}{columns}{table}</body>'
        )


def report(released: Release[SyntheticModel]) -> SyntheticReport:
    """Say what a synthetic table is worth, from what was released alone: free.

    For every marginal that was measured there is the distance (total variation) that noise alone puts between what was
    measured and the truth, in expectation: sigma sqrt(2 / pi) a cell, over two and the number of rows; and how far the
    model is from what was measured. What the model says of columns that were not measured together depends on the data,
    and stands nowhere in it.

    >>> from discreet.methods.synthesis import synthesize_rows
    >>> from discreet.tables import Column
    >>> told = report(synthesize_rows({"ward": ["a"] * 500}, [Column("ward", keys=["a", "b"])], rho=1))
    >>> sorted(told.facts), told.facts["measured"][0]["columns"]
    (['columns', 'measured', 'method', 'promise', 'rows'], ['ward'])
    """
    model: SyntheticModel = released.value
    promise: Any = released.mechanism
    names = model.domain.names
    measured = []
    for one in model.measured:
        here = model.rows * model.graph.marginal(one.columns)
        measured.append(
            {
                "columns": [names[place] for place in one.columns],
                "cells": int(one.counts.size),
                "sigma": one.sigma,
                "noise": one.sigma * math.sqrt(2 / math.pi) * one.counts.size / (2 * model.rows),
                "from measured": float(abs(here - one.counts).sum() / (2 * model.rows)),
            }
        )
    columns = [_column(model.marginal(name)) for name in names]
    told = {"promise": promise.promise, "method": promise.method, "rows": model.rows}
    return SyntheticReport({**told, "columns": columns, "measured": measured})


def _column(one: Marginal) -> dict[str, Any]:
    errors = None if one.errors is None else one.errors.tolist()
    return {"columns": [*one.columns], "labels": [*one.labels[0]], "counts": one.values.tolist(), "errors": errors}


def _bars(column: dict[str, Any]) -> str:
    """Draw the counts of a column as bars with their ±."""
    counts, errors = column["counts"], column["errors"] or [0.0] * len(column["counts"])
    most = max(1.0, *(count + error for count, error in zip(counts, errors, strict=True)))
    wide = min(_BAR, _WIDE / len(counts))
    shapes = []
    for place, (label, count, error) in enumerate(zip(column["labels"], counts, errors, strict=True)):
        left, height = place * wide, _HEIGHT * max(count, 0.0) / most
        low, high = (_HEIGHT * (1 - max(0.0, end) / most) for end in (count - error, count + error))
        title = f"<title>{escape(label)}: {count:.0f} ± {error:.0f}</title>"
        bar = f'x="{left:.1f}" y="{_HEIGHT - height:.1f}" width="{wide * 0.8:.1f}" height="{height:.1f}"'
        shapes.append(f'<g>{title}<rect {bar} fill="{_BLUE}"/>')
        middle = left + wide * 0.4
        shapes.append(
            f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{_ORANGE}"/></g>'
        )
    ends = f"{escape(column['labels'][0])} … {escape(column['labels'][-1])}"
    size = f'width="{_WIDE}" height="{_HEIGHT + 16}"'
    return f'<svg {size}>{"".join(shapes)}<text y="{_HEIGHT + 13}" fill="{_GRAY}" font-size="11">{ends}</text></svg>'
