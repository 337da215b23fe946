"""Which of unknown keys may be shown at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Interval, counted, integer, rational, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import added
from discreet.mechanisms.adding.reach import discrete_gaussian_above, discrete_laplace_above
from discreet.mechanisms.choosing.optimal_chances import optimal_chances
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive, require_single
from discreet.mechanisms.inputs.values import whole_number
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource, discrete_gaussian, discrete_laplace
from discreet.noise.bits import checked_scale
from discreet.privacy import Approximate, NeighborRelation, calibrate, curves

if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["PartitionSelection", "SelectionMethod"]

_BITS = 128  # parts of delta are multiples of 2**-128, rounded down


class SelectionMethod(Enum):
    """How keys are selected.

    >>> SelectionMethod("optimal")
    <SelectionMethod.OPTIMAL: 'optimal'>
    """

    OPTIMAL = "optimal"
    """Each key by a coin whose bias is the largest that the promise allows; shows keys alone."""
    LAPLACE = "laplace"
    """Keys whose count with Laplace noise reaches a threshold; shows these noisy counts too."""
    GAUSSIAN = "gaussian"
    """Keys whose count with Gaussian noise reaches a threshold; shows these noisy counts too."""


@dataclass(frozen=True, slots=True, init=False)
class PartitionSelection(Mechanism["Mapping[Any, int]", "dict[Any, int] | tuple[Any, ...]"]):
    r"""Show keys that enough units hold, where the list of keys is itself private.

    Given are the keys that occur with the number of units that hold each; a unit holds at most `keys` of them and
    counts once for each. Under add/remove that many counts change by 1; under change-one twice as many, as one unit
    leaves and another enters. Call that number g.

    Optimal. A key held by n units is shown with probability $\pi_n$, $\pi_0 = 0$ and
    $\pi_{n+1} = \min(e^{\varepsilon'}\pi_n + \delta',\ 1 - e^{-\varepsilon'}(1 - \pi_n - \delta'),\ 1)$: for each n the
    largest that is $(\varepsilon', \delta')$-private between n and n + 1 (Desfontaines, Voss, Gipson & Mandayam 2022,
    arXiv:2006.03684). Of the g coins of a unit each gets $\varepsilon' = \varepsilon/g$ and
    $1 - (1 - \delta')^g = \delta$, which compose to $(\varepsilon, \delta)$. The chances are not rounded:
    `OptimalChances` has their closed form, and a coin is tossed with bits enough to settle it.

    Laplace, Gaussian. Counts get noise, and those that reach the threshold T are shown. A key that others hold too
    costs the noise's promise: a move by 1 in g coordinates. A key that nobody else holds gives the unit away if
    1 + Z >= T. For all g of them together this has a chance of at most $1 - (1 - \Pr[Z \ge T - 1])^g$, at most
    $\delta$ (Laplace) or $\delta/2$ (Gaussian, whose noise needs the rest); it is charged once (Korolova, Kenthapadi,
    Mishra & Ntoulas 2009, doi:10.1145/1526709.1526733).

    The result is in the order of the keys.

    >>> mechanism = PartitionSelection(epsilon=1, delta=1e-5)
    >>> mechanism.release({"flu": 100_000, "rare": 0}).value
    ('flu',)
    >>> mechanism.keep(1)
    Fraction(1, 100000)
    """

    kind: ClassVar[str] = "partition_selection"
    guarantee: ClassVar[str] = (
        "Keys shown with the largest probabilities that change by at most a factor e^(epsilon/g) and delta' with one "
        "unit, or with noisy counts above a threshold that a unit's own keys pass with probability at most delta, are "
        "(epsilon, delta)-differentially private for units that touch at most g keys."
    )
    accuracy: ClassVar[str] = "keep(n): the probability that a key held by n units is shown"
    source: ClassVar[str] = (
        "Desfontaines, Voss, Gipson & Mandayam 2022, arXiv:2006.03684; "
        "Korolova, Kenthapadi, Mishra & Ntoulas 2009, doi:10.1145/1526709.1526733"
    )
    no_error_because: ClassVar[str] = (
        "a key is shown or not, and its count only above the threshold, so that the error depends on the count; "
        "keep(n) is the probability that a key held by n units is shown."
    )

    epsilon: Fraction
    delta: Fraction
    keys: int
    method: SelectionMethod
    scale: Fraction | None
    threshold: int | None
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        *,
        epsilon: Number,
        delta: Number,
        keys: SupportsIndex = 1,
        method: SelectionMethod | str = SelectionMethod.OPTIMAL,
        scale: Number | None = None,
        threshold: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        rate = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        chance = rational(delta, name="delta")
        if not 0 < chance < 1:
            msg = (
                f"delta is {shown(delta)}; a key that one unit alone holds must have some chance to be shown, above 0 "
                "and below 1. With delta = 0 give the list of keys: it is public then."
            )
            raise ParameterError(msg)
        count, way = integer(keys, name="keys", least=1, most=1 << 20), read_choice(SelectionMethod, method, "method")
        assign(self, epsilon=rate, delta=chance, keys=count, method=way, neighbors=require_single(neighbors))
        if way is SelectionMethod.OPTIMAL:
            if scale is not None or threshold is not None:
                msg = "the optimal selection has neither scale nor threshold; leave them out or name another method."
                raise ParameterError(msg)
            assign(self, scale=None, threshold=None)
            optimal_chances(*self._rates)
            return
        spread = self._calibrated() if scale is None else checked_scale(scale)
        assign(self, scale=spread)
        bar = self._lowest_bar() if threshold is None else integer(threshold, name="threshold", least=1)
        assign(self, threshold=bar)
        if (scale is not None or threshold is not None) and not self._kept():
            msg = f"scale {shown(spread)} and threshold {shown(bar)} do not keep the promise; leave them out."
            raise ParameterError(msg)

    @property
    def touched(self) -> int:
        """How many counts one unit can change: `keys`, or twice that where a unit is exchanged for another."""
        return self.keys if self.neighbors.relation is NeighborRelation.ADD_REMOVE else 2 * self.keys

    @property
    def claim(self) -> Approximate:
        """Epsilon and delta, exactly."""
        return Approximate(self.epsilon, self.delta, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The worst curve of g coins; or that of the noise and of being seen."""
        if self.method is SelectionMethod.OPTIMAL:
            return curves.approximate(*self._rates, neighbors=self.neighbors) * self.touched
        return self._noise(self.scale or Fraction(1)) + curves.approximate(
            0, self._seen(self.threshold or 1), neighbors=self.neighbors
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """How many keys a unit holds."""
        return (f"one unit is counted under at most {counted(self.keys, 'key')}, once under each.",)

    def error(self, confidence: float = 0.95) -> None:
        """No ± exists."""
        miss(confidence)

    def keep(self, count: SupportsIndex) -> Fraction:
        """Return the probability that a key held by so many units is shown, rounded up (optimal: by less than 2**-127).

        >>> PartitionSelection(epsilon=1, delta=1e-5).keep(30)
        Fraction(1, 1)
        """
        held = integer(count, name="count", least=0)
        if self.method is SelectionMethod.OPTIMAL:
            return optimal_chances(*self._rates).rounded_up(held)
        if held == 0:
            return Fraction(0)
        return self._passed((self.threshold or 1) - held)

    def release(
        self, value: Mapping[Any, int], *, bits: BitSource = SYSTEM
    ) -> Release[dict[Any, int] | tuple[Any, ...]]:
        """Return the selected keys in their order, with noisy counts where the method has them.

        Counts are whole numbers, others are rounded down, and what is no number counts as 0; below 1 they mean that no
        unit holds the key, and it is never shown. Keys get their noise one by one, and only those that are shown are
        ordered: a key that is not shown changes neither.
        """
        if not isinstance(value, Mapping):
            msg = f"value is of type {type(value).__name__}; it must map each key to the number of units that hold it."
            raise ParameterError(msg)
        present = list(value)
        counts = np.array([whole_number(value[key]) for key in present], dtype=np.int64)
        if self.method is SelectionMethod.OPTIMAL:
            chosen = self.select(counts, bits=bits).tolist()
            return Release(tuple(sorted((present[place] for place in chosen), key=_place)), self)
        places, noisy = self._above(counts, bits)
        shown = [(present[place], count) for place, count in zip(places.tolist(), noisy.tolist(), strict=True)]
        return Release(dict(sorted(shown, key=lambda count: (_place(count[0]), count[1]))), self)

    def select(self, counts: NDArray[np.int64], *, bits: BitSource = SYSTEM) -> NDArray[np.int64]:
        """Return the places of the selected keys, by the number of units that hold each: whole numbers, in an array.

        The law is that of `release`, for a million keys at once; who shows the keys puts them into their own order, as
        that of all keys is private.

        >>> PartitionSelection(epsilon=1, delta=1e-5).select(np.array([100_000, 0, 90_000])).tolist()
        [0, 2]
        """
        if self.method is SelectionMethod.OPTIMAL:
            return np.flatnonzero(_coins(counts, *self._rates, bits))
        return self._above(counts, bits)[0]

    def _above(self, counts: NDArray[np.int64], bits: BitSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of the keys whose noisy count reaches the threshold, and these noisy counts."""
        draw = discrete_laplace if self.method is SelectionMethod.LAPLACE else discrete_gaussian
        noisy = added(counts, draw(self.scale or Fraction(1), size=counts.shape, bits=bits))
        places = np.flatnonzero((counts >= 1) & (noisy >= (self.threshold or 1)))
        return places, noisy[places]

    @property
    def _rates(self) -> tuple[Fraction, Fraction]:
        """Each coin's part of epsilon and delta."""
        return self.epsilon / self.touched, _one_of(self.delta, self.touched)

    def _noise(self, scale: Number) -> Curve:
        """The curve of noise on g counts that move by 1 each: the composition of their actual moves."""
        if self.method is SelectionMethod.LAPLACE:
            return curves.discrete_laplace(scale, 1, neighbors=self.neighbors) * self.touched
        return curves.discrete_gaussian(scale, 1, neighbors=self.neighbors) * self.touched

    def _calibrated(self) -> Fraction:
        """Return the least noise: all of epsilon, and for Gaussian noise what half of delta leaves of it."""
        if self.method is SelectionMethod.LAPLACE:
            return checked_scale(self.touched / self.epsilon)

        def build(sigma: float) -> Curve:
            return self._noise(sigma) + curves.approximate(0, self.delta / 2, neighbors=self.neighbors)

        return checked_scale(calibrate(build, epsilon=self.epsilon, delta=self.delta, start=float(self.touched)))

    def _passed(self, distance: int) -> Fraction:
        """Bound Pr[Z >= distance], rounded up."""
        above = discrete_laplace_above if self.method is SelectionMethod.LAPLACE else discrete_gaussian_above
        return above(self.scale or Fraction(1), distance)

    def _seen(self, threshold: int) -> Fraction:
        """Bound the chance that any of a unit's own keys is shown: 1 - (1 - d)**g, rounded up."""
        alone = self._passed(threshold - 1)
        some = 1 - Interval.of(1 - alone, _BITS).power(Fraction(self.touched)).lower if alone < 1 else Fraction(1)
        return min(self.touched * alone, some, Fraction(1))

    def _lowest_bar(self) -> int:
        """Return the lowest threshold at which a unit's own keys are hidden well enough."""
        allowed = self.delta if self.method is SelectionMethod.LAPLACE else self.delta / 2
        low, high = 1, 2
        while self._seen(high) > allowed:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._seen(middle) > allowed else (low, middle)
        return high

    def _kept(self) -> bool:
        """Tell whether scale and threshold keep the promise, as they do unless they were given."""
        if self.method is SelectionMethod.LAPLACE:
            return self.touched / (self.scale or 1) <= self.epsilon and self._seen(self.threshold or 1) <= self.delta
        return self._seen(self.threshold or 1) < self.delta and self.privacy.epsilon(self.delta) <= self.epsilon


def _one_of(delta: Fraction, count: int) -> Fraction:
    """Return d with 1 - (1 - d)**count <= delta, rounded down to a multiple of 2**-128.

    >>> _one_of(Fraction(19, 100), 2) <= Fraction(1, 10)
    True
    """
    if count == 1:
        return delta
    kept = Interval.of(1 - delta, 2 * _BITS).power(Fraction(1, count)).upper
    return Fraction(int((1 - kept) * (1 << _BITS)), 1 << _BITS)


def _place(key: object) -> tuple[str, int, int | float | str]:
    """Order keys of any types: by type, numbers and texts by themselves, NaN behind numbers, others as they print.

    Every two of these compare: NaN, which is neither below nor above a number, is none of them.
    """
    plain = key.item() if isinstance(key, np.generic) else key
    name = type(key).__name__
    if isinstance(plain, float) and math.isnan(plain):
        return name, 1, 0
    if isinstance(plain, int | float):
        return name, 0, plain
    return (name, 2, plain) if isinstance(plain, str) else (name, 3, repr(plain))


def _coins(counts: NDArray[np.int64], epsilon: Fraction, delta: Fraction, bits: BitSource) -> NDArray[np.bool_]:
    """Toss one coin per key, with the largest chance that is (epsilon, delta)-private."""
    return optimal_chances(epsilon, delta).toss(counts, bits)
