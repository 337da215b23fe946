"""What mechanisms with noise in proportion to a smooth bound share: the promise, the choice of noise, one rounding."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.values import private_number
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.sensitivity.smooth_noise import LOOSEST, Law, SmoothNoise, calibrated, chosen, loosest
from discreet.mechanisms.sensitivity.spreads import FINEST_SMOOTHING
from discreet.noise import SYSTEM, BitSource, rounded
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Grid, Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Smooth", "changes_one", "read_claim", "read_private", "require_smoothing"]

_SHARE = 8  # the part of epsilon that the smoothing is, unless stated


def read_claim(
    epsilon: Number | None, delta: Number | None, rho: Number | None, neighbors: Relation
) -> Pure | Approximate | ZCDP:
    """Read a promise: epsilon, epsilon with delta, or rho.

    >>> read_claim(1, None, None, NeighborRelation.ADD_REMOVE)
    Pure(epsilon=1)
    """
    relation = require_relation(neighbors)
    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        msg = "give epsilon, or epsilon and delta, or rho, and nothing else."
        raise ParameterError(msg)
    if rho is not None:
        return ZCDP(read_positive(rho, "rho", zero="no finite noise reaches it"), neighbors=relation)
    size = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
    if delta is None:
        return Pure(size, neighbors=relation)
    chance = rational(delta, name="delta")
    if not 0 < chance < 1:
        msg = f"delta is {shown(delta)}; it must be above 0 and below 1, or left out for a pure promise."
        raise ParameterError(msg)
    return Approximate(size, chance, neighbors=relation)


def require_smoothing(smoothing: Fraction) -> None:
    """Refuse smoothings below what rounding can tell apart, and above what any noise is made for.

    >>> from fractions import Fraction
    >>> require_smoothing(Fraction(1, 8))
    """
    if not FINEST_SMOOTHING <= smoothing <= LOOSEST / 4:
        msg = (
            f"smoothing is {shown(smoothing)}; it must lie between 2**-20, which a tiny epsilon does not allow, and "
            f"{LOOSEST / 4}."
        )
        raise ParameterError(msg)


def changes_one(neighbors: Relation) -> bool:
    """Tell whether neighbors exchange a row, so that their number is public; refuse groups.

    >>> changes_one(NeighborRelation.ADD_REMOVE), changes_one(NeighborRelation.CHANGE_ONE_ORDERED)
    (False, True)
    """
    if neighbors.size > 1:
        msg = (
            f"neighbors is {neighbors.value}; bounds are derived for single units. Make the mechanism for one unit, "
            "and ask its .privacy.group(size)."
        )
        raise ParameterError(msg)
    return neighbors.relation is not NeighborRelation.ADD_REMOVE


@dataclass(frozen=True, slots=True, init=False)
class Smooth(Mechanism[Any, float]):
    """A number with noise in proportion to a smooth bound on its local sensitivity at the data.

    The family of noise and its shape are chosen from the promise and the smoothing, which are public, unless stated.
    The sum value + bound * noise is a real number and rounded once onto a public grid, so that the grid cannot tell the
    bound.
    """

    no_error_because: ClassVar[str] = (
        "the noise is in proportion to a bound that depends on the rows, and telling it would cost privacy."
    )
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the bounds were not read from the rows.")

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    law: Law
    shape: Fraction
    smoothing: Fraction
    neighbors: Relation

    def promise_to(  # noqa: PLR0913
        self,
        *,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
        law: Law | str | None,
        shape: Number | None,
        smoothing: Number | None,
        neighbors: Relation,
    ) -> None:
        """Set the fields of the promise and of the noise; for constructors alone."""
        claim = read_claim(epsilon, delta, rho, neighbors)
        t = loosest(claim) / _SHARE if smoothing is None else rational(smoothing, name="smoothing")
        require_smoothing(t)
        noise = _noise(claim, t, law, shape)
        changes_one(claim.neighbors)
        assign(
            self,
            epsilon=None if isinstance(claim, ZCDP) else claim.epsilon,
            delta=claim.delta if isinstance(claim, Approximate) else None,
            rho=claim.rho if isinstance(claim, ZCDP) else None,
        )
        assign(self, law=noise.law, shape=noise.shape, smoothing=t, neighbors=claim.neighbors)

    @property
    def claim(self) -> Pure | Approximate | ZCDP:
        """The promise that was asked for."""
        return read_claim(self.epsilon, self.delta, self.rho, self.neighbors)

    @property
    def noise(self) -> SmoothNoise:
        """The noise, for a bound of 1."""
        return calibrated(self.law, self.shape, self.smoothing, self.claim)

    @property
    def privacy(self) -> Curve:
        """The claim as a curve."""
        return self.noise.privacy

    @property
    def argument(self) -> tuple[str, ...]:
        """The theorem and the noise that was chosen."""
        noise = self.noise
        return (
            f"{self.guarantee} ({self.source})",
            (
                f"The noise is {self.law.value} of shape {float(self.shape):.6g}, {float(noise.stretch):.6g} times the "
                f"bound, which may change by a factor exp({float(self.smoothing):.6g}) between neighbors."
            ),
        )

    @abstractmethod
    def value_and_bound(self, value: Any) -> tuple[Fraction, Fraction]:  # noqa: ANN401  rows of any kind
        """Return the exact statistic and its smooth bound; both are private."""

    def noisy(self, value: Any, grid: Grid, bits: BitSource = SYSTEM) -> Fraction:  # noqa: ANN401
        """Return statistic + stretch * bound * noise, rounded once to a public grid."""
        exact, bound = self.value_and_bound(value)
        noise = self.noise
        return rounded(noise.family, exact, noise.stretch * bound, grid, bits) * grid.step


def _noise(
    claim: Pure | Approximate | ZCDP, smoothing: Fraction, law: Law | str | None, shape: Number | None
) -> SmoothNoise:
    """Take the stated family and shape, or the one with the least noise."""
    if (law is None) != (shape is None):
        msg = "law and shape are stated together or left out together."
        raise ParameterError(msg)
    if law is None or shape is None:
        return chosen(claim, smoothing)
    return calibrated(read_choice(Law, law, "law"), rational(shape, name="shape"), smoothing, claim)


def read_private(value: Number, lower: Fraction, upper: Fraction, *, missing: Fraction) -> Fraction:
    """Read a private number without an error: NaN and what is no number as `missing`, the rest clamped.

    >>> from fractions import Fraction
    >>> read_private(7, Fraction(0), Fraction(5), missing=Fraction(0))
    Fraction(5, 1)
    """
    number = _from_text(value) if isinstance(value, str) else private_number(value)
    if isinstance(number, float):
        return missing if math.isnan(number) else upper if number > 0 else lower
    return max(lower, min(number, upper))


def _from_text(value: str) -> Fraction | float:
    try:
        return rational(value)
    except ParameterError:  # no number
        return math.nan
