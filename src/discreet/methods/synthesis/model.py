"""A fitted model of a table: what is released, saved and loaded, asked for marginals and drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.mechanisms.carried import carry, decode, encode
from discreet.mechanisms.inputs.parameters import miss
from discreet.methods.synthesis.domain import Domain
from discreet.methods.synthesis.fitting import Measured, combined
from discreet.methods.synthesis.graphical import GraphicalModel, calibrated, potentials_of
from discreet.methods.synthesis.sampling import sampled
from discreet.methods.synthesis.trees import junction_tree
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.methods.synthesis.fitting import Fitted
    from discreet.methods.synthesis.trees import Clique

    Floats = NDArray[np.float64]

__all__ = ["Marginal", "SyntheticModel"]

_MOST_ROWS = 1 << 31


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts of the combinations of some columns, as a model says them.

    `errors` has the ± of each: the true count, of rows with at most k of a unit, lies that near with the stated
    confidence. It is None where no measurement had these columns together: how far a model is off there depends on the
    data.

    >>> Marginal.__annotations__["errors"]
    'Floats | None'
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    values: Floats
    errors: Floats | None
    confidence: float

    def to_dicts(self) -> list[dict[str, object]]:
        """Give one dictionary for each combination."""
        told: list[dict[str, object]] = []
        for place in np.ndindex(*self.values.shape):
            row: dict[str, object] = {
                name: labels[at] for name, labels, at in zip(self.columns, self.labels, place, strict=True)
            }
            error = {} if self.errors is None else {"±": float(self.errors[place])}
            told.append({**row, "count": float(self.values[place]), **error})
        return told


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticModel:
    """A distribution over the cells of a table, with the noisy marginals that it was fitted to; all of it is public.

    >>> import numpy as np
    >>> from discreet.methods.synthesis import Domain, Synthesis
    >>> from discreet.tables import Column
    >>> domain = Domain.declared([Column("ward", keys=["a", "b"], nullable=False)])
    >>> rows = np.repeat([[0], [1]], [900, 100], axis=0)
    >>> model = Synthesis(domain, epsilon=60, delta=1e-6).release(rows).value
    >>> round(model.marginal("ward").values[0], -2), sorted(set(model.sample(9)["ward"]) - {"other"})
    (np.float64(900.0), ['a', 'b'])
    """

    domain: Domain
    measured: tuple[Measured, ...]
    rows: float
    """How many rows the table has, with noise."""
    factors: Mapping[Clique, Floats]
    forbidden: Mapping[Clique, Floats]

    @staticmethod
    def of(domain: Domain, measured: Sequence[Measured], fitted: Fitted, forbidden: Mapping[Clique, Floats]) -> Any:  # noqa: ANN401 - a model
        """Keep what was fitted."""
        return SyntheticModel(domain, tuple(combined(measured)), fitted.rows, dict(fitted.factors), dict(forbidden))

    @cached_property
    def graph(self) -> GraphicalModel:
        """The distribution: its factors, multiplied."""
        tree = junction_tree(self.domain.sizes, [*self.factors, *self.forbidden])
        potentials = potentials_of(tree, self.factors)
        for place, extra in enumerate(potentials_of(tree, self.forbidden)):
            potentials[place] += extra
        return GraphicalModel(tree, [np.exp(one) for one in calibrated(tree, potentials)[0]])

    def marginal(self, *columns: str, confidence: float = 0.95) -> Marginal:
        """Count the combinations of some columns; free, as often as wanted.

        Where columns were measured together with noise, the true count lies within a quantile of it of what was
        measured, and this is how far the model is from that, and the quantile.
        """
        places = self.domain.places(columns)
        if not places:
            msg = "no columns are named; write marginal('age', 'ward')."
            raise ParameterError(msg)
        chance = float(miss(confidence))
        values = self.rows * self.graph.marginal(places)
        attributes = [self.domain.attributes[place] for place in places]
        names, labels = tuple(one.name for one in attributes), tuple(one.labels for one in attributes)
        return Marginal(names, labels, values, self._errors(places, values, chance), confidence)

    def _errors(self, places: Clique, values: Floats, chance: float) -> Floats | None:
        from scipy.special import ndtri

        best: Floats | None = None
        for one in self.measured:
            if set(places) <= set(one.columns):
                others = tuple(axis for axis, column in enumerate(one.columns) if column not in places)
                counts = one.counts.sum(axis=others)
                summed = one.counts.size / counts.size
                reach = np.abs(values - counts) - float(ndtri(chance / 2)) * one.sigma * math.sqrt(summed)
                if best is None or reach.mean() < best.mean():
                    best = reach
        return best

    def cells(self, rows: SupportsIndex | None = None, *, bits: BitSource = SYSTEM) -> NDArray[np.int32]:
        """Draw rows as the places of cells; without a number as many as the table has, with noise."""
        count = round(self.rows) if rows is None else integer(rows, name="rows", least=0, most=_MOST_ROWS)
        return sampled(self.graph, count, bits)

    def sample(self, rows: SupportsIndex | None = None, *, bits: BitSource = SYSTEM) -> dict[str, NDArray[Any]]:
        """Draw rows: an array for each column, for `pandas.DataFrame(…)` and the like. No row is that of a person.

        Numbers and dates are drawn evenly within their bins; a missing value is None.
        """
        cells = self.cells(rows, bits=bits)
        return {
            one.name: one.sampled(cells[:, place].astype(np.int64), bits)
            for place, one in enumerate(self.domain.attributes)
        }

    def sql(self, text: str, *, rows: SupportsIndex | None = None) -> list[dict[str, Any]]:
        """Answer a question in SQL about the table `model` from drawn rows; free, and no better than the model is.

        Counts are of `rows` rows, without it of as many as the table has, with noise. A question about counts of few
        columns is answered more closely by `marginal`, which draws nothing.
        """
        from discreet.engines.duckdb.shell import SEALED, ShellTable

        drawn = self.sample(rows)
        kinds = {one.name: (one.kind, False) for one in self.domain.attributes}
        columns = {name: values.tolist() for name, values in drawn.items()}
        result = SEALED.run(text, [ShellTable("model", kinds, columns)])
        return [dict(zip(result.names, row, strict=True)) for row in result.rows]

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "domain": self.domain.record(),
            "measured": [[list(one.columns), encode(one.counts), one.sigma] for one in self.measured],
            "rows": self.rows,
            "factors": _written(self.factors),
            "forbidden": _written({columns: np.isneginf(table) * 1 for columns, table in self.forbidden.items()}),
        }

    @staticmethod
    def read(record: Mapping[str, Any]) -> SyntheticModel:
        """Read what `record` wrote."""
        measured = tuple(
            Measured(tuple(columns), decode(counts), float(sigma)) for columns, counts, sigma in record["measured"]
        )
        forbidden = {columns: np.where(table == 1, -np.inf, 0.0) for columns, table in _read(record["forbidden"])}
        domain = Domain.read(record["domain"])
        return SyntheticModel(domain, measured, float(record["rows"]), dict(_read(record["factors"])), forbidden)

    def __repr__(self) -> str:
        return f"SyntheticModel({', '.join(self.domain.names)}; about {self.rows:.0f} rows)"


def _written(factors: Mapping[Clique, NDArray[Any]]) -> list[list[object]]:
    return [[list(columns), encode(table)] for columns, table in factors.items()]


def _read(record: Iterable[Sequence[Any]]) -> Iterable[tuple[Clique, Floats]]:
    return [(tuple(columns), decode(table)) for columns, table in record]


carry("synthetic_model", SyntheticModel, SyntheticModel.record, SyntheticModel.read)
