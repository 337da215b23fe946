"""What a synthetic table promises: the whole budget as one Gaussian, however its parts were chosen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown, sqrt_upper
from discreet.mechanisms import Exponential, Gaussian
from discreet.mechanisms.adding.sums import Moved
from discreet.mechanisms.inputs.parameters import assign, exactly_one, read_optional_delta, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import promise_in_words
from discreet.methods.synthesis.domain import Domain
from discreet.methods.synthesis.running import METHODS, Run, require_memory, synthesized
from discreet.methods.workloads import Records
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import ZCDP, Approximate, NeighborRelation, curves, gaussian_sigma
from discreet.privacy.costs import amount_from_json
from discreet.privacy.currencies import GDP
from discreet.privacy.relations import read_relation, require_relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self, SupportsIndex

    from discreet.exact import Number
    from discreet.methods.synthesis.model import SyntheticModel
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["MEMORY", "Synthesis"]

MEMORY = 256 << 20
_LEAST_MEMORY = 1 << 16
_SLACK = Fraction(1, 1 << 20)


@register
@dataclass(frozen=True, slots=True, init=False)
class Synthesis:
    r"""A model of a table, fitted to noisy marginals; rows are drawn from it without limit, for nothing.

    Privacy. All that sees data are measurements, counts of the combinations of some columns with Gaussian noise, and
    choices of what to measure next. A row is in one cell of a marginal, so a unit with at most k rows moves it by at
    most k in L2 (under change-one, where k rows leave and k enter, by sqrt(2) k), and its L1 distance to a public table
    by at most k (2 k). Each costs a mu; the squares add up, also where everything about the next part is chosen after
    seeing the parts before, up to a limit that is fixed beforehand (a filter: Smith & Thakurta 2022, arXiv:2210.17520).
    So the whole is worth one Gaussian with that limit. The number of rows is not released beside it: every marginal
    adds up to it, with noise.

    - `aim`: all columns by themselves, then round after round the pair that the model is most wrong about, by more than
      its noise would be. McKenna, Mullins, Sheldon & Miklau 2022 (arXiv:2201.12677).
    - `mst`: a tree of pairs. McKenna, Miklau & Sheldon 2021 (arXiv:2108.04978).
    - `mwem`: as many rounds as there are columns, half for the choice, and multiplicative weights instead of a fit.
      Hardt, Ligett & McSherry 2012 (arXiv:1012.4763).
    - `independent`: all columns by themselves, and nothing of how they hang together.

    >>> from discreet.tables import Column
    >>> domain = Domain.declared([Column("ward", keys=["a", "b"]), Column("age", lower=0, upper=99)])
    >>> Synthesis(domain, epsilon=1, delta=1e-9)
    Synthesis(aim of ward, age: ε = 1, δ = 1e-09)
    """

    kind: ClassVar[str] = "synthesis"
    accuracy: ClassVar[str] = "that of marginals is asked of the model"
    no_error_because: ClassVar[str] = (
        "a model answers many questions; each of its marginals has a ±, where noise alone says one: `marginal(…)`."
    )

    domain: Domain
    method: str
    claim: Approximate | ZCDP
    sigma: Fraction
    """The noise of one Gaussian, on what moves by 1, that the whole is worth."""
    rows_per_unit: int
    memory: int
    forbidden: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Combinations that cannot be: columns and their cells."""
    neighbors: Relation

    def __init__(  # noqa: PLR0913 - each is a public fact of the release
        self,
        domain: Domain,
        *,
        method: str = "aim",
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        rows_per_unit: SupportsIndex = 1,
        memory: SupportsIndex = MEMORY,
        forbidden: Iterable[Mapping[str, object]] = (),
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        if method not in METHODS:
            msg = f"method is {shown(method)}; it must be one of {', '.join(METHODS)}."
            raise ParameterError(msg)
        relation = require_relation(neighbors)
        claim, sigma = _price(epsilon, delta, rho, relation)
        most = integer(rows_per_unit, name="rows_per_unit", least=1, most=1 << 20)
        limit = integer(memory, name="memory", least=_LEAST_MEMORY, most=1 << 45)
        cells = tuple(_combination(domain, each) for each in forbidden)
        if cells and method == "mwem":
            msg = "forbidden is given, and mwem knows no combinations that cannot be; use aim, mst or independent."
            raise ParameterError(msg)
        assign(self, domain=domain, method=method, claim=claim, sigma=sigma, rows_per_unit=most, memory=limit)
        assign(self, forbidden=cells, neighbors=relation)
        require_memory(self)

    @property
    def limit(self) -> GDP:
        """What all parts together may cost."""
        return GDP(mu_squared=1 / self.sigma**2, neighbors=self.neighbors)

    @property
    def moved(self) -> Moved:
        """How far a unit moves a marginal: each of its rows is in one cell."""
        return Moved.by_row(self.rows_per_unit, 1, self.neighbors)

    def measurement(self, cells: int, sigma: Fraction) -> Gaussian:
        """Counts of so many cells, with this noise."""
        named: dict[str, Any] = {"grid": 1, "inputs": "snapped", "neighbors": self.neighbors}
        return Gaussian(self.moved.l2, sigma=sigma, dimensions=cells, **named)

    def choice(self, epsilon: Fraction) -> Exponential:
        """A choice of what to measure, by how far marginals are from the model's in L1."""
        return Exponential(self.moved.l1, epsilon=epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of one Gaussian."""
        return curves.gaussian(self.sigma, 1, neighbors=self.neighbors)

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What it stands on."""
        return (
            (
                "A measurement with noise sigma of counts that a unit moves by d in L2 is (d / sigma)-GDP. "
                "(Dong, Roth & Su 2022, arXiv:1905.02383, Theorem 2.7)"
            ),
            "A choice by the exponential mechanism, whose losses lie within epsilon, is (epsilon sqrt(2 pi) / 4)-GDP.",
            (
                "Squares add up to at most a limit that was fixed before the first part, whatever is chosen after "
                "seeing earlier ones. (Smith & Thakurta 2022, arXiv:2210.17520)"
            ),
            "The model, its rows and its answers are computed from these alone.",
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """How many rows a unit has."""
        return (f"a unit owns at most {self.rows_per_unit} row{'s' if self.rows_per_unit > 1 else ''}.",)

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """A model has no single ±; its marginals do."""

    def release(self, value: Any, *, bits: BitSource = SYSTEM) -> Release[SyntheticModel]:  # noqa: ANN401
        """Synthesize from cells that the caller holds, one row of codes for each record; or from marginals."""
        counts = value if hasattr(value, "marginal") else Records(self.domain.sizes, value)
        return Release(synthesized(Run(self, counts, lambda: bits)), self)

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "kind": self.kind,
            "method": self.method,
            "claim": json.loads(self.claim.to_json()),
            "rows_per_unit": self.rows_per_unit,
            "memory": self.memory,
            "forbidden": [[list(columns), list(cells)] for columns, cells in self.forbidden],
            "domain": self.domain.record(),
            "neighbors": self.neighbors.value,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote; the noise follows from the claim again."""
        claim = cast("Approximate | ZCDP", amount_from_json(json.dumps(record["claim"])))
        given: dict[str, Any] = {name: record[name] for name in ("method", "rows_per_unit", "memory")}
        price: dict[str, Any] = (
            {"rho": claim.rho} if isinstance(claim, ZCDP) else {"epsilon": claim.epsilon, "delta": claim.delta}
        )
        made = cls(Domain.read(record["domain"]), **given, **price, neighbors=read_relation(str(record["neighbors"])))
        forbidden = tuple((tuple(map(int, columns)), tuple(map(int, cells))) for columns, cells in record["forbidden"])
        assign(made, forbidden=forbidden)
        return made

    def __str__(self) -> str:
        return f"Synthesis({self.method} of {', '.join(self.domain.names)}: {self.promise})"

    __repr__ = __str__


def _price(
    epsilon: Number | None, delta: Number | None, rho: Number | None, neighbors: Relation
) -> tuple[Approximate | ZCDP, Fraction]:
    """Read a price, and the one Gaussian that it is worth; a millionth more noise, as certified bounds round up.

    N(0, sigma^2) on what moves by 1 is 1 / (2 sigma^2)-zCDP (Bun & Steinke 2016, arXiv:1605.02065, Proposition 1.6),
    and (epsilon, delta)-private by the formula of Balle & Wang 2018 (arXiv:1805.06530, Theorem 8).
    """
    if exactly_one(epsilon=epsilon, rho=rho) == "rho":
        price = read_positive(rho, "rho", zero="no finite noise reaches it")
        return ZCDP(price, neighbors=neighbors), sqrt_upper(1 / (2 * price))
    rate = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
    chance = read_optional_delta(delta, needed=True)
    assert chance is not None  # noqa: S101 - as it was needed
    sigma = rational(gaussian_sigma(epsilon=rate, delta=chance)) * (1 + _SLACK)
    return Approximate(rate, chance, neighbors=neighbors), sigma


def _combination(domain: Domain, given: Mapping[str, object]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Read a combination of values that cannot be, such as {"sex": "m", "pregnant": "yes"}."""
    if not hasattr(given, "items") or not given:
        msg = f"forbidden holds {shown(given)}; it must hold combinations, such as {{'sex': 'm', 'pregnant': 'yes'}}."
        raise ParameterError(msg)
    columns = domain.places(given)
    cells = []
    for column in columns:
        attribute = domain.attributes[column]
        label = "NULL" if given[attribute.name] is None else str(given[attribute.name])
        if label not in attribute.labels:
            msg = (
                f"forbidden names {shown(label)} of {attribute.name}; its cells are {', '.join(attribute.labels[:9])}."
            )
            raise ParameterError(msg)
        cells.append(attribute.labels.index(label))
    return columns, tuple(cells)
