"""What a trained model promises: the sum of the mechanisms that saw rows, fixed before the first of them ran."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, cast

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.mechanisms.inputs.parameters import exactly_one, miss, read_optional_delta, read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.privacy import ZCDP, Approximate, NeighborRelation, gaussian_sigma
from discreet.privacy.convert import convert
from discreet.privacy.costs import amount_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from discreet.exact import Number
    from discreet.mechanisms.promise import Claim
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Goal", "Step", "Training", "composed", "kept", "movers"]

_DIGITS = 60
_SLACK = Fraction(1, 1 << 20)


def movers(neighbors: Relation) -> int:
    """How many units two neighbors differ in: one that is there or not, or one that leaves and one that enters.

    >>> movers(NeighborRelation.ADD_REMOVE), movers(NeighborRelation.CHANGE_ONE)
    (1, 2)
    """
    return 1 if neighbors is NeighborRelation.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class Goal:
    """The price of a whole training: epsilon with a delta, or rho; divided among Gaussian mechanisms.

    Gaussian mechanisms whose sensitivities are r_i sigma_i cost together what one with r = sqrt(sum r_i^2) costs, also
    where each is chosen after the answers before it (Dong, Roth & Su 2022, arXiv:1905.02383, Corollary 3.3; for rho,
    which is r^2 / 2: Bun & Steinke 2016, arXiv:1605.02065, Lemma 2.3). So each of k equal steps that have the share s
    of the price together costs s r^2 / k.

    >>> goal = Goal.of(rho="0.5")
    >>> goal.claim, goal.gaussian(2, share=Fraction(1, 4), times=1, dimensions=1).promise
    (ZCDP(rho=0.5), 'ρ = 0.125')
    """

    claim: Approximate | ZCDP
    rho: Fraction
    """Half of r squared, rounded down."""

    @staticmethod
    def of(
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Goal:
        """Read a price."""
        if exactly_one(epsilon=epsilon, rho=rho) == "rho":
            price = read_positive(rho, "rho", zero="no finite noise reaches it")
            return Goal(ZCDP(price, neighbors=neighbors), price)
        rate, chance = read_positive(epsilon, "epsilon", zero="no finite noise reaches it"), _delta(delta)
        sigma = rational(gaussian_sigma(epsilon=rate, delta=chance))
        # a millionth less: the certified epsilon of the steps together is rounded up, and no more than the price
        return Goal(Approximate(rate, chance, neighbors=neighbors), (1 - _SLACK) / (2 * sigma**2))

    def gaussian(self, sensitivity: Fraction | int, *, share: Fraction, times: int, dimensions: int) -> Gaussian:
        """Return one of `times` equal steps that have a share of the price together."""
        part = self.rho * share / times
        short = Fraction(math.floor(part * 2**_DIGITS / _leading(part)), 2**_DIGITS) * _leading(part)
        return Gaussian(sensitivity, rho=short, dimensions=dimensions, neighbors=self.claim.neighbors)


def _leading(number: Fraction) -> Fraction:
    """Return a power of two near a number."""
    return Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length())


def _delta(delta: Number | None) -> Fraction:
    chance = read_optional_delta(delta, needed=True)
    assert chance is not None  # noqa: S101 - as it was needed
    return chance


@dataclass(frozen=True, slots=True)
class Step:
    """A mechanism that saw the rows so many times, each time those of a Poisson sample of units; and what for.

    >>> Step("gradients", Gaussian(1, sigma=2), 60).times
    60
    """

    name: str
    mechanism: Mechanism[Any, Any]
    times: int = 1
    rate: Fraction = Fraction(1)

    @property
    def privacy(self) -> Curve:
        """What all of its turns cost."""
        curve = self.mechanism.privacy
        return (curve if self.rate == 1 else curve.subsample(self.rate)) * self.times


def _how_often(step: Step) -> str:
    often = f", {step.times} of them" if step.times > 1 else ""
    return often if step.rate == 1 else f"{often}, each on units drawn with chance {shown(step.rate)}"


def composed(steps: Iterable[Step]) -> Curve:
    """Return what steps cost together.

    >>> composed([Step("gradients", Gaussian(1, sigma=2), 4)]) == Gaussian(1, sigma=2).privacy * 4
    True
    """
    return reduce(add, (step.privacy for step in steps))


def kept(claim: Claim, steps: Sequence[Step]) -> bool:
    """Tell whether steps cost no more than is claimed.

    >>> kept(ZCDP("0.5"), [Step("gradients", Gaussian(1, sigma=2, grid=1, inputs="snapped"), 4)])
    True
    """
    if isinstance(claim, ZCDP):
        return sum(convert(step.mechanism.claim, to=ZCDP).rho * step.times for step in steps) <= claim.rho
    return rational(composed(steps).epsilon(getattr(claim, "delta", 0))) <= claim.epsilon


@register
@dataclass(frozen=True, slots=True, init=False)
class Training:
    """The promise of a trained model: what it was to cost, and the steps that saw rows.

    All mechanisms, with their sensitivities and scales, are fixed before the first of them runs; only what they are
    asked depends on the answers before. Their curves therefore compose. Whatever is computed from their answers, the
    model and its predictions among it, is post-processing.

    >>> noise = Gaussian(1, rho="0.01", grid=1, inputs="snapped")
    >>> training = Training("logistic", ZCDP("0.5"), [Step("gradients", noise, 50)])
    >>> training.promise, Training.read(training.record()) == training
    ('ρ = 0.5', True)
    """

    kind: ClassVar[str] = "training"
    accuracy: ClassVar[str] = "that of predictions is measured on rows that were not trained on"
    no_error_because: ClassVar[str] = (
        "how far noise moves a model depends on the rows; score it on rows that it was not trained on."
    )

    model: str
    claim: Claim
    steps: tuple[Step, ...]
    assumptions: tuple[str, ...]

    def __init__(
        self, model: str, claim: Claim, steps: tuple[Step, ...] | list[Step], assumptions: tuple[str, ...] = ()
    ) -> None:
        named = {"model": model, "claim": claim, "steps": tuple(steps), "assumptions": tuple(assumptions)}
        for name, part in named.items():
            object.__setattr__(self, name, part)
        if not self.steps or not kept(claim, self.steps):
            msg = f"steps cost more than {shown(claim)}, or there are none; the record was changed."
            raise ParameterError(msg)

    @property
    def neighbors(self) -> Relation:
        """Those of all steps."""
        return self.steps[0].mechanism.neighbors

    @property
    def privacy(self) -> Curve:
        """The curves of all steps, composed."""
        return composed(self.steps)

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What each step stands on, and that they compose."""
        parts = [
            f"{step.name}{_how_often(step)}: {sentence}" for step in self.steps for sentence in step.mechanism.argument
        ]
        return (*parts, "What the steps cost composes. (Dong, Roth & Su 2022, arXiv:1905.02383, Corollary 3.3)")

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the caller states and nobody checks: nothing, where bounds are enforced."""
        return self.assumptions

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float | None:
        """A model has no ±: its predictions are scored on other rows. A score has one, from its noisy sums."""
        from scipy.special import ndtri

        del value
        deviation = details.get("deviation")
        if not isinstance(deviation, float):
            return None
        return float(ndtri(1 - float(miss(confidence)) / 2)) * deviation

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        steps = [
            {"name": step.name, "mechanism": step.mechanism.record(), "times": step.times, "rate": str(step.rate)}
            for step in self.steps
        ]
        return {
            "kind": self.kind,
            "model": self.model,
            "claim": json.loads(self.claim.to_json()),
            "steps": steps,
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        steps = []
        for step in record["steps"]:
            rate = Fraction(step.get("rate", 1))
            steps.append(Step(str(step["name"]), Mechanism.from_record(step["mechanism"]), int(step["times"]), rate))
        claim = cast("Claim", amount_from_json(json.dumps(record["claim"])))
        return cls(str(record["model"]), claim, steps, tuple(map(str, record["assumptions"])))
