"""What answers to a workload stand on: noise on a strategy's numbers, and how wide the ± of an answer is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.mechanisms.adding.sums import Noise, require_kind
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.privacy.relations import Relation, read_relation, require_relation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from discreet.mechanisms.promise import Claim, Error
    from discreet.privacy import Curve

__all__ = ["Answered"]

_SURE = 0.9


@register
@dataclass(frozen=True, kw_only=True)
class Answered:
    """Answers to many queries, derived from noisy numbers that a strategy measured.

    Privacy. The strategy's numbers are whole numbers; one unit moves them by at most the sensitivity of the noise,
    which was computed from the strategy's own whole numbers. The answers are computed from the noisy numbers alone.

    The ± of an answer is a multiple of its standard deviation. Gaussian noise: the normal quantile. Laplace noise: an
    answer's error is a sum of independent Laplace variables, whose density is symmetric and logarithmically concave. A
    density of that kind crosses the Laplace density of the same variance at most twice on each side, and the two tails
    cross once, at a probability of more than 0.08 (it is 0.135 for a nearly single Laplace variable, 0.09 for a
    normal one): so for a confidence of 90 % or more the quantile of one Laplace variable is enough for any sum. Below
    that Gauss' inequality for a single peak is used. Answers that are `whole` numbers get a whole ±, rounded up.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> promise = Answered(strategy="identity", queries=2, noise=DiscreteLaplace(1, epsilon=1), rows=1)
    >>> promise.promise, round(promise.width(0.95), 3)
    ('ε = 1', 2.119)
    """

    kind: ClassVar[str] = "workload"
    accuracy: ClassVar[str] = "a quantile of the noise's shape times the standard deviation of each answer"

    strategy: str
    queries: int
    noise: Noise
    rows: int
    whole: bool = False
    neighbors: Relation = None  # type: ignore[assignment]  # that of the noise

    def __post_init__(self) -> None:
        """Refuse what no plan has."""
        require_kind(self.noise)
        object.__setattr__(self, "queries", integer(self.queries, name="queries", least=1))
        object.__setattr__(self, "rows", integer(self.rows, name="rows", least=1))
        relation = self.noise.neighbors if self.neighbors is None else require_relation(self.neighbors)
        if relation != self.noise.neighbors:
            msg = "neighbors are others than those of the noise; leave them out."
            raise ParameterError(msg)
        object.__setattr__(self, "neighbors", relation)

    @property
    def privacy(self) -> Curve:
        """The curve of the noise."""
        return self.noise.privacy

    @property
    def claim(self) -> Claim:
        """What the noise promises."""
        return self.noise.claim

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """The noise's, and why the rest is free."""
        return (
            *self.noise.argument,
            f"{self.queries} answers are computed from numbers with this noise alone (the strategy: {self.strategy}).",
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """How many rows a unit has."""
        return (f"a unit owns at most {self.rows} row{'s' if self.rows > 1 else ''}, each in at most one cell.",)

    @property
    def no_error_because(self) -> str:
        """Why there is no ±, where there is none."""
        return "the cells are estimates that errors are not listed for; `WorkloadPlan.rmse` is that of the queries."

    def width(self, confidence: float = 0.95) -> float:
        """Return how many standard deviations the ± of an answer has."""
        from scipy.special import ndtri

        chance = float(miss(confidence))
        if not isinstance(self.noise, DiscreteLaplace):
            return float(-ndtri(chance / 2)) * (1 + 1e-6)
        if confidence >= _SURE:
            return -math.log(chance) / math.sqrt(2) * (1 + 1e-4)
        return math.sqrt(3) * (1 - chance) if chance > 1 / 3 else 2 / (3 * math.sqrt(chance))

    def reach(self, deviations: NDArray[np.float64], confidence: float = 0.95) -> NDArray[np.float64]:
        """Return the ± of answers with these standard deviations."""
        reach: NDArray[np.float64] = self.width(confidence) * np.asarray(deviations, dtype=np.float64)
        return np.ceil(reach) if self.whole else reach

    def error_of(self, value: NDArray[np.float64], details: Mapping[str, object], confidence: float = 0.95) -> Error:
        """Return the ± of each answer."""
        del value
        deviations = details.get("deviations")
        return None if deviations is None else self.reach(np.asarray(deviations), confidence)

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "kind": self.kind,
            "strategy": self.strategy,
            "queries": self.queries,
            "noise": self.noise.record(),
            "rows": self.rows,
            "whole": self.whole,
            "neighbors": self.neighbors.value,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        return cls(
            strategy=str(record["strategy"]),
            queries=record["queries"],
            noise=Mechanism.from_record(record["noise"]),  # type: ignore[arg-type]  # refused if it is another kind
            rows=record["rows"],
            whole=bool(record["whole"]),
            neighbors=read_relation(str(record["neighbors"])),
        )
