"""What a training run promises: one noisy sum of clipped gradients for each step, on samples drawn as stated."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.prefix import read_factorization
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.methods.learning.deep.clipping import Automatic, read_clipping
from discreet.privacy import FixedSize, NeighborRelation, Poisson, curves
from discreet.privacy.composition.compare import compare
from discreet.privacy.costs import amount_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from discreet.mechanisms.prefix.factorization import Factorization
    from discreet.methods.learning.deep.clipping import Clipping
    from discreet.privacy import Approximate, Curve
    from discreet.privacy.composition.compare import Comparison

__all__ = ["SAMPLING", "DeepTraining"]

SAMPLING = ("poisson", "fixed_size", "cyclic")
"""Each unit by itself with probability `rate`; so many units, for change-one; every unit once in each epoch."""


@register
@dataclass(frozen=True)
class DeepTraining:
    r"""The promise of a run of DP-SGD, or with a factorization of DP-FTRL.

    - *poisson*: each step sees each unit with probability `rate`, by itself, and releases the sum of clipped gradients
      with N(0, (multiplier norm)^2): one step is a Poisson-sampled Gaussian mechanism, and steps compose, however each
      was chosen after those before (Abadi et al. 2016, arXiv:1607.00133, Algorithm 1). For add/remove.
    - *fixed_size*: each step sees a uniformly random `rate` of the units, whose number is public; for change-one, where
      one unit moves the sum by 2 norm.
    - *cyclic*: each unit is put into one batch at random, once, and comes back in each epoch, `separation` steps later;
      noise is that of a factorization of running sums, whose encoding one unit moves by so much with `epochs` visits.
      No amplification is claimed. (Denisov et al. 2022, arXiv:2202.08312, Theorem 2.1; Choquette-Choo et al. 2023,
      arXiv:2211.06530, for several visits.)

    >>> from discreet.privacy import Approximate
    >>> run = DeepTraining(Approximate(3, "1e-5"), Fraction(1), 100, Fraction(1, 100))
    >>> run.promise, DeepTraining.read(run.record()) == run
    ('ε = 3, δ = 1e-05', True)
    """

    kind: ClassVar[str] = "deep_training"
    accuracy: ClassVar[str] = "that of predictions is measured on rows that were not trained on"
    no_error_because: ClassVar[str] = (
        "how far noise moves a network depends on the rows; score it on rows that it was not trained on."
    )

    claim: Approximate
    multiplier: Fraction
    steps: int
    rate: Fraction
    sampling: str = "poisson"
    clipping: Clipping = field(default_factory=Automatic)
    rows_per_unit: int = 1
    factorization: Factorization | None = None

    def __post_init__(self) -> None:
        """Refuse a record whose steps cost more than its claim."""
        if self.sampling not in SAMPLING:
            msg = f"sampling is {shown(self.sampling)}; it must be one of {', '.join(SAMPLING)}."
            raise ParameterError(msg)
        if not self.privacy.epsilon(self.claim.delta) <= self.claim.epsilon:
            msg = f"the steps cost more than {shown(self.claim)}; the record was changed."
            raise ParameterError(msg)

    @property
    def neighbors(self) -> NeighborRelation:
        """How neighbors differ."""
        return NeighborRelation.CHANGE_ONE if self.sampling == "fixed_size" else NeighborRelation.ADD_REMOVE

    def after(self, steps: int) -> Curve:
        """What so many of the steps cost.

        >>> from discreet.privacy import Approximate
        >>> run = DeepTraining(Approximate(3, "1e-5"), Fraction(1), 100, Fraction(1, 100))
        >>> run.after(1).epsilon("1e-5") < run.after(100).epsilon("1e-5") <= 3
        True
        """
        step = curves.gaussian(self.multiplier, neighbors=self.neighbors)
        if self.sampling == "cyclic":
            return step
        scheme = Poisson if self.sampling == "poisson" else FixedSize
        return (step.subsample(self.rate, scheme) if self.rate < 1 else step) * steps

    @cached_property
    def privacy(self) -> Curve:
        """The curve of all steps."""
        return self.after(self.steps)

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """The chain of theorems."""
        clipped = "One unit's gradient is clipped, so it moves a sum by at most the norm in L2."
        if self.sampling == "cyclic":
            return (
                clipped,
                "All visits of a unit move the encoding by so much in L2. (Denisov et al. 2022, arXiv:2202.08312)",
            )
        source = {
            "poisson": "Abadi et al. 2016, arXiv:1607.00133; Zhu, Dong & Wang 2022, arXiv:2106.08567",
            "fixed_size": "Balle, Barthe & Gaboardi 2018, arXiv:1807.01647",
        }[self.sampling]
        return (clipped, f"Each step is a Gaussian mechanism on a random sample; the steps compose. ({source})")

    @property
    def assumed(self) -> tuple[str, ...]:
        """What nobody checks: that examples do not touch each other inside the model, and roundings."""
        return (
            "each example's loss depends on that example and the model alone.",
            "roundings of torch's sums differ between neighbors by at most 1/256 of the norm in L2.",
        )

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """A model has no ±: its predictions are scored on other rows."""

    def compared(self) -> Comparison:
        """What the theorems of the literature give for this run, side by side.

        >>> from discreet.privacy import Approximate
        >>> run = DeepTraining(Approximate(3, "1e-5"), Fraction(1), 100, Fraction(1, 100))
        >>> [row.name for row in run.compared().rows][:2]
        ['basic', 'advanced']
        """
        return compare(self.after(1), 1 if self.sampling == "cyclic" else self.steps, self.claim.delta)

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        return {
            "kind": self.kind,
            "claim": json.loads(self.claim.to_json()),
            "multiplier": str(self.multiplier),
            "steps": self.steps,
            "rate": str(self.rate),
            "sampling": self.sampling,
            "clipping": self.clipping.record(),
            "rows_per_unit": self.rows_per_unit,
            "factorization": None if self.factorization is None else self.factorization.record(),
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        factorization = record["factorization"]
        return cls(
            cast("Approximate", amount_from_json(json.dumps(record["claim"]))),
            Fraction(record["multiplier"]),
            int(record["steps"]),
            Fraction(record["rate"]),
            str(record["sampling"]),
            read_clipping(dict(record["clipping"])),
            int(record["rows_per_unit"]),
            None if factorization is None else read_factorization(factorization),
        )
