"""The promise of a stream of sums: what it costs, how far an event moves it, how wrong each sum is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, float_up, integer, shown, sqrt_upper
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import Norm, converted
from discreet.mechanisms.inputs.parameters import assign, exactly_one, miss, read_dimensions, read_grid, read_positive
from discreet.mechanisms.prefix import BinaryTree, EveryElement, EveryOutput, Factorization, KaryTree
from discreet.mechanisms.prefix.choosing import read_factorization, recommended
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import movers, promise_in_words
from discreet.methods.streaming.reach import gaussian_sum_reach, laplace_count_reach, laplace_sum_reach
from discreet.noise import discrete_gaussian, discrete_laplace
from discreet.noise.bits import checked_scale
from discreet.privacy import ZCDP, NeighborRelation, Pure, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self, SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.mechanisms.promise import Error
    from discreet.noise import BitSource
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["ContinualSum", "Elements", "Outside"]

_FINE = 10
_WIDEST_LAPLACE = 1 << 50
_FIRST, _GROWTH, _EPOCHS = 64, 16, 6
_REACH = 1 << 30
_LISTED = 1 << 22
_UNIT_WEIGHTS = (BinaryTree, EveryElement, EveryOutput, KaryTree)


class Elements(Enum):
    """What one element of a stream is.

    >>> Elements("totals")
    <Elements.TOTALS: 'totals'>
    """

    EVENTS = "events"
    """One event, whose norm is at most the sensitivity: enforced."""
    TOTALS = "totals"
    """A sum of events that the caller formed, which one event moves by at most the sensitivity: assumed."""


class Outside(Enum):
    """What becomes of an element outside its bound.

    >>> Outside("clip")
    <Outside.CLIP: 'clip'>
    """

    CLIP = "clip"
    """It is scaled down to the bound; what is no number counts as 0."""
    REFUSE = "refuse"
    """It raises an error, and the stream stays as it was: for who sees the data anyway, as an error tells of it."""


@register
@dataclass(frozen=True, slots=True, init=False)
class ContinualSum:
    r"""All running sums of a stream, for one price: noise on an encoding of the stream, by a `Factorization`.

    Privacy. An event moves one element by at most the sensitivity, so it moves the encoding by at most `moved`, in L1
    (epsilon) or L2 (rho). Discrete Laplace noise of scale moved / epsilon is epsilon-differentially private (Ghosh,
    Roughgarden & Sundararajan 2009), discrete Gaussian noise of sigma^2 = moved^2 / (2 rho) is rho-zCDP (Canonne,
    Kamath & Steinke 2020, Theorem 4, coordinate by coordinate). All sums are computed from the noisy encoding.

    Whom it protects. Without `events` each event: the relation is `.of(Unit.EVENT)`. With `events=k` each person with
    at most k events, wherever they fall; `separation` says that two of them are at least so many steps apart. Under
    change-one, one event (or person) leaves and another enters, which counts twice.

    Without a horizon the stream is cut into epochs of 64, 1024, 16384, ... steps, each with a factorization of its
    own and the whole price, as an event falls into one of them (of a person's k events, the shares add up to at most
    1); a sum adds the last sums of the epochs before. That costs accuracy alone: about twice the deviation.

    >>> promise = ContinualSum(365, 1, epsilon=1, grid=1, elements="totals")
    >>> promise.promise, promise.neighbors.value, promise.factorization.kind
    ('ε = 1', 'add_remove/event', 'kary_tree')
    """

    kind: ClassVar[str] = "continual_sum"
    accuracy: ClassVar[str] = "the noises in this sum: normal or Laplace tails of their weighted sum"
    no_error_because: ClassVar[str] = ""

    horizon: int | None
    sensitivity: Fraction
    epsilon: Fraction | None
    rho: Fraction | None
    dimension: int
    norm: Norm
    elements: Elements
    outside: Outside
    grid: Grid
    events: int | None
    separation: int
    relation: NeighborRelation
    factorization: Factorization | None

    def __init__(  # noqa: PLR0913  each is a public fact of the stream
        self,
        horizon: SupportsIndex | None,
        sensitivity: Number = 1,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        dimension: SupportsIndex = 1,
        norm: Norm | str | None = None,
        elements: Elements | str = Elements.EVENTS,
        outside: Outside | str = Outside.CLIP,
        grid: Grid | Number | None = None,
        events: SupportsIndex | None = None,
        separation: SupportsIndex = 0,
        neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE,
        factorization: Factorization | Mapping[str, Any] | None = None,
        durable: bool = False,
    ) -> None:
        exactly_one(epsilon=epsilon, rho=rho)
        move, size = read_positive(sensitivity, "sensitivity", zero="what no event moves needs no noise"), None
        size = read_dimensions(dimension)
        wanted = Norm.L1 if rho is None else Norm.L2
        in_norm = wanted if norm is None else read_choice(Norm, norm, "norm")
        if not isinstance(neighbors, NeighborRelation):
            msg = f"neighbors is {shown(neighbors)}; it must be a NeighborRelation. `events` says whom it protects."
            raise ParameterError(msg)
        price = {
            name: None if given is None else read_positive(given, name, zero="no finite noise reaches it")
            for name, given in (("epsilon", epsilon), ("rho", rho))
        }
        assign(self, horizon=None if horizon is None else integer(horizon, name="horizon", least=1), **price)
        assign(self, sensitivity=move, dimension=size, norm=in_norm, relation=neighbors)
        assign(self, elements=read_choice(Elements, elements, "elements"))
        assign(self, outside=read_choice(Outside, outside, "outside"))
        assign(self, grid=Grid.below(move / size, bits=_FINE) if grid is None else read_grid(grid))
        assign(self, events=None if events is None else integer(events, name="events", least=1, most=1 << 40))
        assign(self, separation=_read_separation(self, separation))
        assign(self, factorization=_read_factorization(self, factorization, durable=durable))
        _ = self.scale if self.factorization is not None else [self.epoch(place).scale for place in (0, _EPOCHS - 1)]

    @property
    def counted(self) -> Norm:
        """The norm in which the noise hides a move: L1 for epsilon, L2 for rho."""
        return Norm.L1 if self.rho is None else Norm.L2

    @property
    def neighbors(self) -> Relation:
        """Events; or persons, where `events` says how many one has."""
        return self.relation.of(Unit.EVENT) if self.events is None else self.relation

    @property
    def steps(self) -> Fraction:
        """How far one event moves its element, in steps of the grid and the norm of the noise.

        Events are snapped one by one and clipped then, and whole numbers are not snapped: nothing is added. Totals on
        a finer grid are snapped by half a step in each coordinate, for either neighbor.
        """
        distance = converted(self.sensitivity, self.norm, self.counted, self.dimension) / self.grid.step
        if self.elements is Elements.TOTALS and self.grid.step != 1:
            unit = Grid(1)
            distance += (unit.rounding_l1 if self.counted is Norm.L1 else unit.rounding_l2)(self.dimension)
        return Fraction(math.floor(distance)) if self.counted is Norm.L1 or self.dimension == 1 else distance

    @property
    def moved(self) -> Fraction:
        """How far two neighbors' encodings are apart, in steps of the lattice."""
        count = (self.events or 1) * (1 if self.relation is NeighborRelation.ADD_REMOVE else 2)
        return self.factorized.moved(
            self.steps, self.counted, events=count, separation=self.separation, dimension=self.dimension
        )

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, or its sigma, in steps of the lattice."""
        return _scale(self)

    @property
    def factorized(self) -> Factorization:
        """The factorization, where there is one for the whole stream."""
        if self.factorization is None:
            msg = "a stream without a horizon has a factorization for each epoch; see epoch(0)."
            raise ParameterError(msg)
        return self.factorization

    def epoch(self, place: int) -> ContinualSum:
        """Return the promise of an epoch of a stream without a horizon.

        >>> [ContinualSum(None, rho=1).epoch(place).horizon for place in range(3)]
        [64, 1024, 16384]
        """
        made = object.__new__(type(self))
        for name in self.__slots__:
            object.__setattr__(made, name, getattr(self, name))
        horizon = _FIRST * _GROWTH**place
        assign(made, horizon=horizon, factorization=recommended(horizon, self.counted, durable=True))
        return made

    @property
    def longest(self) -> int:
        """How many steps it may have: the horizon, or those of six epochs, 71,582,784."""
        return sum(_FIRST * _GROWTH**place for place in range(_EPOCHS)) if self.horizon is None else self.horizon

    @property
    def reach(self) -> int:
        """How large an element may be, in steps of the grid, so that all sums fit; larger ones count as this."""
        return _REACH if self.factorization is None else self.factorization.reach

    @property
    def claim(self) -> Pure | ZCDP:
        """Epsilon or rho, exactly: the price of all sums together."""
        if self.rho is not None:
            return ZCDP(self.rho, neighbors=self.neighbors)
        return Pure(self.epsilon or 0, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of the claim."""
        return self.claim.curve()

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """Why it is private: the encoding's move, the noise on it, and that sums are computed from it."""
        noise = "Laplace" if self.rho is None else "Gaussian"
        each = self.factorization or self.epoch(0).factorized
        laplace = "Ghosh, Roughgarden & Sundararajan 2009, arXiv:0811.2841"
        source = laplace if self.rho is None else "Canonne, Kamath & Steinke 2020, arXiv:2004.00010, Theorem 4"
        cut = () if self.horizon is not None else ("Epochs are disjoint in time, so that each has the whole price.",)
        return (
            f"The encoding has discrete {noise} noise for its move in {self.counted.value}. ({source})",
            f"All sums are computed from the noisy encoding: {each.title}. ({each.source})",
            "The next element may depend on sums that were shown. (Denisov et al. 2022, arXiv:2202.08312, Theorem 2.1)",
            *cut,
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """What nobody checks."""
        said = []
        if self.elements is Elements.TOTALS:
            said.append(f"one event moves its element by at most {self.sensitivity} in the norm {self.norm.value}.")
        if self.events is not None:
            apart = f", at least {self.separation} steps apart" if self.separation else ""
            said.append(f"{movers(self.neighbors)} has at most {self.events} events{apart}; add_events enforces it.")
        return tuple(said)

    def draw(self, bits: BitSource, shape: tuple[int, int]) -> NDArray[np.int64]:
        """Draw noise on the lattice."""
        sampler = discrete_laplace if self.rho is None else discrete_gaussian
        return sampler(self.scale, size=shape, bits=bits)

    def parts(self, step: int) -> list[tuple[ContinualSum, int]]:
        """Return the promises whose noise is in a sum, each with the step of its own: one, or one for each epoch."""
        if self.factorization is not None:
            return [(self, step)]
        found, place, left = [], 0, step
        while left > 0:
            epoch = self.epoch(place)
            found.append((epoch, min(left, epoch.horizon or left)))
            left, place = left - (epoch.horizon or left), place + 1
        return found

    def error(self, confidence: float = 0.95, *, step: int, window: int | None = None) -> float:
        """Bound the error of the sum at a step, or of the last elements of a window, with this probability.

        >>> ContinualSum(365, 1, rho="1/2", grid=1).error(step=365) < 7
        True
        """
        chance = float(miss(confidence))
        parts = self.parts(step)
        squares, scales, counts = 0.0, list[float](), list[float]()
        for promise, at in parts:
            of, scale = promise.factorized, float(promise.scale) / 2.0**promise.factorized.lattice
            inside = None if window is None or len(parts) > 1 else window
            weights, count = of.window(at, inside) if inside is not None else (np.ones(0), np.ones(0, dtype=np.int64))
            variance = of.variance(at) if inside is None else float(np.sum(weights**2 * count))
            squares, scales, counts = squares + scale**2 * variance, [*scales, scale], [*counts, variance]
        if window is not None and len(parts) > 1:  # as if the two sums had nothing in common but finished epochs
            squares *= 2
        return float_up(Fraction(self._reach(squares, scales, counts, chance) + 0.5) * self.grid.step)

    def _reach(self, squares: float, scales: list[float], counts: list[float], chance: float) -> float:
        if self.rho is not None:
            least = min(float(promise.scale) for promise, _ in self.parts(1))
            return gaussian_sum_reach(math.sqrt(squares), least, chance)
        if len(scales) == 1 and isinstance(self.factorization, _UNIT_WEIGHTS):
            return scales[0] * laplace_count_reach(round(counts[0]), chance)
        return laplace_sum_reach(squares, max(scales), chance)

    def error_of(self, value: Any, details: Mapping[str, object], confidence: float = 0.95) -> Error:  # noqa: ANN401
        """Return the error of one sum; of many, one bound for each."""
        step = int(str(details.get("step", self.horizon or 1)))
        window = details.get("window")
        first = int(str(details.get("first", step)))
        if first == step and "first" not in details:
            found = self.error(confidence, step=step, window=None if window is None else int(str(window)))
            return found if np.ndim(value) == 0 else np.full(np.shape(value), found)
        bounds = np.array(self._errors(first, step, confidence))
        return bounds if np.ndim(value) == 1 else np.repeat(bounds[:, None], self.dimension, axis=1)

    def _errors(self, first: int, last: int, confidence: float) -> list[float]:
        """Bounds of many sums: one for each variance that occurs, rounded up in its fourth digit."""
        chance, found = float(miss(confidence)), list[float]()
        for promise, scales, before, steps in self._epochs(first, last):
            own, of = scales[-1] ** 2, promise.factorized
            known: dict[float, float] = {}
            many = (promise.horizon or 0) <= _LISTED
            variances = of.variances()[steps.start - 1 : steps.stop - 1] if many else map(of.variance, steps)
            for variance in variances:
                rounded = math.ceil(variance * 1e4) / 1e4 if variance % 1 else float(variance)
                if rounded not in known:
                    reach = self._reach(before + own * rounded, scales, [rounded], chance)
                    known[rounded] = float_up(Fraction(reach + 0.5) * self.grid.step)
                found.append(known[rounded])
        return found

    def _epochs(self, first: int, last: int) -> Iterator[tuple[ContinualSum, list[float], float, range]]:
        """Give the epochs of steps: each with all scales until then, the squares before, and its own steps."""
        begun, scales, before = 0, list[float](), 0.0
        for promise, ends in self.parts(last):
            scales = [*scales, float(promise.scale) / 2.0**promise.factorized.lattice]
            if first <= begun + ends:
                yield promise, scales, before, range(max(first - begun, 1), ends + 1)
            begun, before = begun + ends, before + scales[-1] ** 2 * promise.factorized.variance(ends)

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        numbers = {name: getattr(self, name) for name in ("sensitivity", "epsilon", "rho")}
        return {
            "kind": self.kind,
            "horizon": self.horizon,
            **{name: None if value is None else str(value) for name, value in numbers.items()},
            "dimension": self.dimension,
            "norm": self.norm.value,
            "elements": self.elements.value,
            "outside": self.outside.value,
            "grid": str(self.grid.step),
            "events": self.events,
            "separation": self.separation,
            "neighbors": self.relation.value,
            "factorization": None if self.factorization is None else self.factorization.record(),
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        given = {name: value for name, value in record.items() if name != "kind"}
        return cls(**{**given, "neighbors": NeighborRelation(given["neighbors"])})


@lru_cache(maxsize=64)
def _scale(promise: ContinualSum) -> Fraction:
    if promise.rho is not None:
        return checked_scale(sqrt_upper(promise.moved**2 / (2 * promise.rho)), name="sigma in steps")
    found = checked_scale(promise.moved / (promise.epsilon or 1), name="the scale in steps")
    if found >= _WIDEST_LAPLACE:  # beyond 2**62 steps 64 bits end; there is a draw with a chance below exp(-4000)
        msg = f"the noise is {shown(found)} steps wide, and 2**50 are allowed; take a coarser grid."
        raise ParameterError(msg)
    return found


def _read_separation(promise: ContinualSum, separation: SupportsIndex) -> int:
    apart = integer(separation, name="separation", least=0, most=1 << 40)
    if apart and (promise.events is None or promise.horizon is None):
        msg = "separation says how far apart the events of one person are; give events and a horizon with it."
        raise ParameterError(msg)
    return apart if promise.relation is NeighborRelation.ADD_REMOVE else 0  # who leaves and who enters may be close


def _read_factorization(
    promise: ContinualSum, given: Factorization | Mapping[str, Any] | None, *, durable: bool
) -> Factorization | None:
    """Take the given one, or the one to take."""
    if promise.steps < 1:
        step = promise.grid.step
        msg = f"sensitivity is {promise.sensitivity}, less than a step of the grid, {step}; take a finer one."
        raise ParameterError(msg)
    if promise.horizon is None:
        if given is not None:
            msg = "a stream without a horizon chooses a factorization for each epoch; leave it out, or give a horizon."
            raise ParameterError(msg)
        return None
    if given is None:
        return recommended(promise.horizon, promise.counted, durable=durable)
    found = given if isinstance(given, Factorization) else read_factorization(given)
    if found.horizon != promise.horizon:
        msg = f"the factorization is for {found.horizon} steps, and horizon is {promise.horizon}; they must agree."
        raise ParameterError(msg)
    return found
