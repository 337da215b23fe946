"""The general promise: a curve, kept as the symbolic list of what was composed.

A curve never stores numbers that were computed; it stores which mechanisms were composed how often. Every question is
answered from the dominating pairs of the parts (Zhu, Dong & Wang 2022, arXiv:2106.08567), both directions composed
separately and the maximum taken last.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import ParameterError, PrecisionError
from discreet.exact import Number, exact_text, float_down, float_up, integer, rational, shown
from discreet.exact.rational import as_text, read_delta, read_json, require_kind
from discreet.privacy.enclosures import shortened
from discreet.privacy.leaks import leak_of
from discreet.privacy.part import OPERATIONS, READERS, Part, pair_of, require_probability, rho_of
from discreet.privacy.relations import Relation, Unit, read_relation, require_relation, require_same_relation
from discreet.privacy.sampling_error import delta_with_error, epsilon_with_error

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes

    from discreet.privacy.numerics.losses.loss import Direction
    from discreet.privacy.schemes import Scheme

    Terms = tuple[tuple[Part, int], ...]

__all__ = ["MOST_COMPOSITIONS", "Curve"]

MOST_COMPOSITIONS = 10**18
"""How often one mechanism may be composed: counts beyond it leave the range of floating point."""

_SMALLEST_DELTA = Fraction(1, 10**300)  # below it floats lose their digits, and logarithms are used instead
_SMALLEST_FLOAT = float(_SMALLEST_DELTA)
_TINY_DELTA = Fraction(1, 10**29)
_LARGEST_EPSILON = Fraction(10**150)
_LARGEST_ORDER = 10**60
_FAR_EPSILON = 50.0  # beyond it delta is first shown to be no float, where it is none
_MOST_FAILURES = 32
_FARTHEST_ORDER = 10**6


@dataclass(frozen=True, slots=True)
class Curve:
    """What a sequence of mechanisms promises, for one neighbor relation.

    `terms` holds each part once with its count, in a canonical order, so that the order of composition does not matter
    and equal compositions are equal values.

    >>> from discreet import privacy as p
    >>> p.gaussian(sigma=1) + p.gaussian(sigma=1) == p.gaussian(sigma=1) * 2
    True
    >>> round((p.laplace(scale=10) * 10).epsilon(delta=0), 12)
    1.0
    """

    terms: tuple[tuple[Part, int], ...]
    neighbors: Relation
    sampling_error: Fraction = Fraction(0)
    """The total variation distance between the laws that are drawn from and the ideal ones, summed over all draws."""

    __array_ufunc__ = None  # NumPy leaves + and * to the curve instead of making arrays of curves

    def __post_init__(self) -> None:
        """Refuse what is no relation, and what are no parts with counts."""
        require_relation(self.neighbors)
        require_probability(self.sampling_error, "sampling_error")
        for term in require_kind(self.terms, tuple, "terms"):
            part, count = require_kind(term, tuple, "terms")
            require_kind(part, Part, "terms")  # type: ignore[type-abstract]
            integer(count, name="count", least=1, most=MOST_COMPOSITIONS)
        if len(self.terms) > 1 and not all(one < other for one, other in pairwise(map(_place, self.terms))):
            msg = "terms are not in canonical order, each part once. Compose curves by + and *, which order them."
            raise ParameterError(msg)

    def epsilon(self, delta: Number) -> float:
        """Return a certified upper bound on the smallest epsilon such that (epsilon, delta) holds.

        It is inf exactly where the mass at infinity exceeds delta, where delta = 0 and losses are unbounded,
        and where a sampling error leaves no room: (1 + e^epsilon) times the error must stay below delta.
        Below a delta of 1e-300 it is the bound of the Renyi divergences, a few percent above the truth.

        >>> from discreet import privacy as p
        >>> round((p.gaussian(sigma=1).subsample(0.01) * 1000).epsilon(delta=1e-5), 8)
        1.82823667
        """
        return self.interval(delta)[1]

    def delta(self, epsilon: Number) -> float:
        """Return a certified upper bound on the smallest delta such that (epsilon, delta) holds.

        >>> from discreet import privacy as p
        >>> round(p.gaussian(sigma=1).delta(epsilon=1), 6)
        0.126937
        """
        return self.delta_interval(epsilon)[1]

    def interval(self, delta: Number) -> tuple[float, float]:
        """Return (lower, upper) around the smallest epsilon at this delta; the truth lies between them.

        >>> from discreet import privacy as p
        >>> lower, upper = (p.laplace(scale=10) * 10).interval(delta=1e-6)
        >>> lower <= upper <= lower * (1 + 1e-6)
        True
        """
        from discreet.privacy.numerics.solvers.account import dominated, epsilon_interval
        from discreet.privacy.numerics.solvers.edges import at_leak

        chance = read_delta(delta)
        if self.sampling_error:  # an exact sampler is one of those within the error: its lower end stays
            ideal = replace(self, sampling_error=Fraction(0))
            lower = ideal.interval(chance)[0]
            return lower, max(lower, epsilon_with_error(ideal.epsilon, ideal.delta, chance, self.sampling_error))
        leak, rest = self.unfailing()
        if leak:
            return (math.inf, math.inf) if leak > chance else rest.interval((chance - leak) / (1 - leak))
        lower, upper, target = 0.0, 0.0, float_down(chance)
        if target < 2 * _SMALLEST_FLOAT and 0 < chance < _SMALLEST_DELTA:
            return self._far_interval(chance)
        with _quiet():
            for side, direction in enumerate(self.directions()):
                if upper > 0 and dominated(direction, upper, target):
                    continue
                ends = at_leak(epsilon_interval(direction, target), direction, leak_of(self.terms, side), chance)
                lower, upper = max(lower, ends[0]), max(upper, ends[1])
        return self._settled(chance, lower, self._confirmed(upper, target))

    def _confirmed(self, upper: float, target: float) -> float:
        """Step up from an end of epsilon to where `delta`, which is computed in another way, is at most the target.

        Both are certified; without the step, (epsilon, delta) as one of them tells it could be denied by the other.
        """
        from discreet.privacy.numerics.search import step_up
        from discreet.privacy.numerics.solvers.account import delta_upper, formula_alone

        if upper == math.inf or all(formula_alone(direction) for direction in self.directions()):
            return upper
        if not target:  # the largest loss; what its float prints as may lie below it
            return upper if float_down(upper) >= upper else math.nextafter(upper, math.inf)

        def excess(epsilon: float) -> float:
            most = max(delta_upper(direction, float_down(epsilon)) for direction in self.directions())
            return -math.inf if most <= 0 else most / target - 1

        with _quiet(invalid="ignore"):  # what is no number is no excess: the end, certified without it, stays
            return step_up(excess, upper)

    def _far_interval(self, chance: Fraction) -> tuple[float, float]:
        """Bound epsilon at a delta below all floats: above by Renyi divergences, below by a larger delta."""
        from discreet.privacy.numerics.solvers.edges import at_leak
        from discreet.privacy.numerics.solvers.far import far_epsilon

        lower, upper = self.interval(_SMALLEST_DELTA)[0], 0.0
        for side, direction in enumerate(self.directions()):
            ends = 0.0, far_epsilon(direction, chance)
            upper = max(upper, at_leak(ends, direction, leak_of(self.terms, side), chance)[1])
        return self._settled(chance, min(lower, upper), upper)

    def _settled(self, chance: Fraction, lower: float, upper: float) -> tuple[float, float]:
        """Let an infinite upper end pass only where it is true: no delta, or a mass at infinity above it."""
        if upper == math.inf and chance > 0:
            from discreet.privacy.numerics.solvers.far import listed_epsilon

            upper = max((listed_epsilon(direction, chance) for direction in self.directions()), default=0.0)
            lower = min(lower, upper)
        if not lower <= upper or (upper == math.inf and chance > 0 and not self._leaks()):
            larger = "Ask at a larger delta, such as 1e-30" if chance < _TINY_DELTA else "Add noise or compose less"
            msg = (
                f"delta is {as_text(chance)}; the numbers certify no finite epsilon of this curve there. {larger}, or "
                "convert .zcdp() where there is one."
            )
            raise PrecisionError(msg)
        return float(lower), float(upper)  # NumPy's floats print otherwise

    def _leaks(self) -> bool:
        """Whether some outcome is possible for one neighbor only."""
        return any(loss.leaks for part, _ in self.terms for loss in pair_of(part))

    def delta_interval(self, epsilon: Number) -> tuple[float, float]:
        """Return (lower, upper) around the smallest delta at this epsilon; the truth lies between them.

        >>> from discreet import privacy as p
        >>> p.pure(epsilon=1).delta_interval(epsilon=1)
        (0.0, 0.0)
        """
        if isinstance(epsilon, float) and epsilon == math.inf:
            return self.delta_interval(_LARGEST_EPSILON) if self.sampling_error else self._mass_at_infinity()
        bound = rational(epsilon, name="epsilon")
        if bound < 0:
            msg = f"epsilon is {shown(epsilon)}; it must be at least 0, such as epsilon=1."
            raise ParameterError(msg)
        if self.sampling_error:
            ideal = replace(self, sampling_error=Fraction(0))
            return ideal.delta_interval(bound)[0], delta_with_error(ideal.delta, bound, self.sampling_error)
        leak, rest = self.unfailing()
        if leak:  # delta is leak + (1 - leak) times that of the rest
            low, high = (leak + (1 - leak) * Fraction(end) for end in rest.delta_interval(bound))
            return float_down(low), float_up(high)
        if bound > _LARGEST_EPSILON:  # delta falls with epsilon, to the mass at infinity
            return self._mass_at_infinity()[0], self.delta_interval(_LARGEST_EPSILON)[1]
        small, large = float_down(bound), float_up(bound)
        with _quiet():
            sides = self._delta_ends(small)
            lower, upper = max(ends[0] for ends in sides), max(ends[1] for ends in sides)
            if small != large:  # delta falls with epsilon: the lower end belongs to the larger float
                lower = min(lower, max(ends[0] for ends in self._delta_ends(large)))
        # where the numerics lose every digit, nothing better than the whole range is known
        return (float(lower), float(upper)) if 0 <= lower <= upper <= 1 else (0.0, 1.0)

    def _delta_ends(self, epsilon: float) -> list[tuple[float, float]]:
        """Return the interval of delta in each direction; one for all where it is below every float."""
        from discreet.privacy.numerics.solvers.account import delta_interval
        from discreet.privacy.numerics.solvers.far import vanishes

        directions = self.directions()
        if epsilon > _FAR_EPSILON and all(vanishes(direction, epsilon) for direction in directions):
            return [(0.0, math.ulp(0.0))]
        return [delta_interval(direction, epsilon) for direction in directions]

    def rdp(self, order: Number) -> float:
        """Return an upper bound on the Renyi divergence of this order (> 1), both directions; inf where infinite.

        >>> from discreet import privacy as p
        >>> p.gaussian(sigma=2).rdp(order=8)
        1.0
        """
        alpha = rational(order, name="order")
        if not 1 < alpha <= _LARGEST_ORDER:
            msg = f"order is {shown(order)}; Renyi divergences of promises need an order above 1, such as order=8."
            raise ParameterError(msg)
        if self.sampling_error or any(loss.leaks for way in self.directions() for loss, _ in way.parts):
            return math.inf
        bounds = [self._renyi(alpha)]
        rho = rho_of(self.terms)
        if rho is not None:  # rho-zCDP is exactly this bound at every order, also where moments overflow
            bounds.append(float_up(rho * alpha))
        return min(bounds)

    def _renyi(self, alpha: Fraction) -> float:
        """Return the bound from the moments.

        The divergence rises with the order (van Erven & Harremoes 2014, arXiv:1206.2459, Theorem 3): just above 1,
        where K(s) / s is lost in rounding, the order 1 + 2^-20 stands for all below it, and the largest loss bounds
        them all.
        """
        directions = self.directions()
        top = max((direction.full_top for direction in directions), default=0.0)
        s = max(float_up(alpha - 1), 2.0**-20)
        if s > _FARTHEST_ORDER and (top < math.inf or rho_of(self.terms) is not None):
            return top
        with _quiet():
            divergence = max((max(direction.full_renyi(s), 0.0) / s for direction in directions), default=0.0)
        return float(min(divergence, max(top, 0.0)))

    def zcdp(self) -> float:
        """Return a rho such that rho-zCDP holds; refuse where none exists.

        >>> from discreet import privacy as p
        >>> p.gaussian(sigma=1).zcdp()
        0.5
        """
        if self.sampling_error:
            msg = (
                "a sampling error keeps no zCDP promise: an outcome may be possible for one neighbor only. Ask for "
                ".epsilon(delta), or convert(curve, to=ZCDP, delta=...), which gives approximate zCDP."
            )
            raise ParameterError(msg)
        for part, _ in self.terms:
            if part.rho() is None:
                msg = (
                    f"{part.kind} satisfies no zCDP promise: with some probability its loss is unbounded. "
                    "Ask for .epsilon(delta), or state it as ZCDP(rho, delta)."
                )
                raise ParameterError(msg)
        return float_up(rho_of(self.terms) or 0)

    def tradeoff(self, fpr: Number) -> float:
        """Return a certified lower bound on the false negative rate of every test with this false positive rate.

        Each (epsilon, delta) on the curve gives max(0, 1 - delta - exp(epsilon) x, exp(-epsilon) (1 - delta - x))
        (Dong, Roth & Su 2022, arXiv:1905.02383, the tradeoff function of (epsilon, delta), after Wasserman & Zhou
        2010); the best is searched for.

        >>> from discreet import privacy as p
        >>> 0.2275 <= p.gaussian(sigma=1).tradeoff(fpr=0.4) <= 0.2277
        True
        """
        from discreet.privacy.numerics.tradeoff import best_tradeoff

        chance = rational(fpr, name="fpr")
        if not 0 <= chance <= 1:
            msg = f"fpr is {shown(fpr)}; a false positive rate lies between 0 and 1."
            raise ParameterError(msg)
        if chance in {
            0,
            1,
        }:  # a test that never accuses falsely finds what leaks, and one that always accuses misses none
            return 0.0 if chance else max(math.nextafter(1 - self.delta(math.inf), 0.0), 0.0)
        return best_tradeoff(partial(_delta_at, self), float_up(chance))

    def with_sampling_error(self, eta: Number) -> Curve:
        """Return the same curve, drawn by a sampler whose law is up to eta away in total variation.

        (epsilon, delta) becomes (epsilon, delta + (1 + e^epsilon) eta); `* n` and `+` add the etas. The derivation is
        in `discreet.privacy.sampling_error`. The samplers of `discreet.noise` are exact and need none.

        >>> from discreet import privacy as p
        >>> rounded = p.pure(epsilon=1).with_sampling_error(1e-12)
        >>> rounded.delta(0) > p.pure(epsilon=1).delta(0), 3.7e-12 < rounded.delta(1) < 3.8e-12
        (True, True)
        >>> (rounded * 3).sampling_error
        Fraction(3, 1000000000000)
        """
        more = require_probability(rational(eta, name="eta"), "eta")
        return replace(self, sampling_error=_kept_error(self.sampling_error + more))

    def subsample(self, rate: Number, scheme: Scheme | None = None) -> Curve:
        """Return the curve of running all of this on one shared random sample.

        Poisson (each unit independently with probability `rate`) for add/remove; FixedSize for change-one.

        >>> from discreet import privacy as p
        >>> p.gaussian(sigma=1).subsample(1) == p.gaussian(sigma=1)
        True
        """
        sampled: Curve = OPERATIONS["subsample"](self, rate, scheme)
        return sampled

    def group(self, size: int, unit: Unit | None = None) -> Curve:
        """Return the curve for neighbors that differ in up to `size` units; or for a unit that holds so many of them.

        >>> from discreet import privacy as p
        >>> p.pure(epsilon=1).group(3).epsilon(delta=0)
        3.0
        >>> to_each_event = p.pure(epsilon=1, neighbors=p.NeighborRelation.ADD_REMOVE.of(p.Unit.EVENT))
        >>> to_each_event.group(3, p.Unit.PERSON) == p.pure(epsilon=3)  # a person has at most 3 events
        True
        """
        grouped: Curve = OPERATIONS["group"](self, size, unit)
        return grouped

    def parallel(self, *others: Curve) -> Curve:
        """Return the curve of running these on disjoint parts of the data.

        >>> from discreet import privacy as p
        >>> p.pure(epsilon=1).parallel(p.pure(epsilon=2)).epsilon(delta=0)
        2.0
        """
        worst: Curve = OPERATIONS["parallel"](self, *others)
        return worst

    def __add__(self, other: Curve) -> Curve:
        """Compose with another curve for the same relation."""
        if not isinstance(other, Curve):
            msg = f"{shown(other)} is no curve; currencies become curves by .curve()."
            raise ParameterError(msg)
        require_same_relation(self.neighbors, other.neighbors)
        error = self.sampling_error + other.sampling_error
        return _settle(_merged(self.terms, other.terms), self.neighbors, _kept_error(error) if error else error)

    def __radd__(self, other: object) -> Curve:
        """Refuse what is no curve, such as the 0 that sum() starts from."""
        msg = f"{shown(other)} is no curve. Sum curves from the first one: sum(curves[1:], start=curves[0])."
        raise ParameterError(msg)

    def __mul__(self, count: int) -> Curve:
        """Compose `count` times; 0 gives the curve that costs nothing."""
        times = integer(count, name="count", least=0, most=MOST_COMPOSITIONS)
        if times == 1:
            return self
        terms = tuple((part, n * times) for part, n in self.terms)
        return compose(terms, self.neighbors, times * self.sampling_error)

    __rmul__ = __mul__

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw delta(epsilon), to where delta has fallen to 1e-12, with a logarithmic axis for delta."""
        from discreet.privacy.pictures import draw_profile

        return draw_profile(self.delta, self.epsilon(1e-12), axes)

    def to_json(self) -> str:
        """Return the curve as JSON; `Curve.from_json` returns an equal curve.

        >>> from discreet import privacy as p
        >>> curve = p.laplace(scale="1/3") * 2
        >>> Curve.from_json(curve.to_json()) == curve
        True
        """
        return json.dumps(self.record())

    def record(self) -> dict[str, Any]:
        """Return the curve as a JSON object.

        >>> from discreet import privacy as p
        >>> p.pure(epsilon=1).record()["neighbors"]
        'add_remove'
        """
        terms = [{"kind": part.kind, **part.fields(), "count": count} for part, count in self.terms]
        error = {"sampling_error": exact_text(self.sampling_error)} if self.sampling_error else {}
        return {"neighbors": self.neighbors.value, "terms": terms, **error}

    @staticmethod
    def from_json(text: str) -> Curve:
        """Read what `to_json` wrote.

        >>> Curve.from_json('{"neighbors": "add_remove", "terms": []}').epsilon(delta=0)
        0.0
        """
        record = read_json(text, "a curve")
        try:
            return Curve.from_record(record)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, ParameterError):
                raise
            msg = (
                f"this JSON is no curve ({type(error).__name__}); write an object with 'neighbors' and 'terms', as "
                "Curve.to_json does."
            )
            raise ParameterError(msg) from None

    @staticmethod
    def from_record(record: dict[str, Any]) -> Curve:
        """Read what `record` returned.

        >>> from discreet import privacy as p
        >>> Curve.from_record(p.pure(epsilon=1).record()) == p.pure(epsilon=1)
        True
        """
        known, relation = Part.kinds, read_relation(record["neighbors"])
        terms = []
        for term in record["terms"]:
            rest = {name: value for name, value in term.items() if name not in {"kind", "count"}}
            if term["kind"] not in known:
                msg = f"{shown(term['kind'])} is no kind of curve; known are {', '.join(sorted(known))}."
                raise ParameterError(msg)
            part = known[term["kind"]].from_fields(rest)
            _require_sane(part, relation)
            terms.append((part, integer(term["count"], name="count", least=0)))
        error = rational(record.get("sampling_error", 0), name="sampling_error")
        return compose(tuple(terms), relation, require_probability(error, "sampling_error"))

    def directions(self) -> tuple[Direction, ...]:
        """Return one direction, or both where they differ.

        >>> from discreet import privacy as p
        >>> len(p.gaussian(sigma=1).directions()), len(p.gaussian(sigma=1).subsample(0.1).directions())
        (1, 2)
        """
        from discreet.privacy.numerics.losses.loss import Direction

        pairs = [(pair_of(part), count) for part, count in self.terms]
        forward = Direction(tuple((pair[0], count) for pair, count in pairs))
        if all(pair[0] is pair[1] for pair, _ in pairs):
            return (forward,)
        return forward, Direction(tuple((pair[1], count) for pair, count in pairs))

    def largest_loss(self) -> Fraction | None:
        """Return an epsilon such that epsilon-DP holds, exactly where all parts state one; None where there is none.

        >>> from discreet import privacy as p
        >>> (p.laplace(scale=10) * 3).largest_loss(), p.gaussian(sigma=1).largest_loss()
        (Fraction(3, 10), None)
        """
        stated = [(part.pure(), count) for part, count in self.terms]
        if not self.sampling_error and all(epsilon is not None for epsilon, _ in stated):
            return sum((count * epsilon for epsilon, count in stated if epsilon), Fraction(0))
        bound = self.epsilon(0)
        return None if bound == math.inf else Fraction(bound)

    def unfailing(self, *, exact: bool = True) -> tuple[Fraction, Curve]:
        """Return the exact chance that a stated failure happens, and the curve of the rest given that none does.

        >>> from discreet import privacy as p
        >>> (p.laplace(1) + p.approximate(0, "0.25")).unfailing() == (Fraction(1, 4), p.laplace(1))
        True

        Failures are independent of what else is composed, so delta(e) = leak + (1 - leak) rest.delta(e). With more than
        a few of them their exact product would be long, and the numerics keep them as mass at infinity; where an upper
        bound will do (not `exact`), it is the sum of their chances then.
        """
        failing = [(part, count) for part, count in self.terms if part.failure]
        many = sum(count for _, count in failing) > _MOST_FAILURES
        if not failing or (many and exact):
            return Fraction(0), self
        unbroken = Fraction(1)
        for part, count in failing:
            if many:
                unbroken = max(unbroken - count * (part.failure or 0), Fraction(0))
            else:
                unbroken *= (1 - (part.failure or 0)) ** count
        kept = [(part.kept(), count) for part, count in self.terms]
        rest = tuple((part, count) for part, count in kept if part is not None)
        return 1 - unbroken, compose(rest, self.neighbors, self.sampling_error)

    def _mass_at_infinity(self) -> tuple[float, float]:
        leak, rest = self.unfailing()
        if leak:
            low, high = (leak + (1 - leak) * Fraction(end) for end in rest.delta_interval(math.inf))
            return float_down(low), float_up(high)
        directions = self.directions()
        sure = max((direction.below().certain for direction in directions), default=0.0)
        worst = max((direction.infinity for direction in directions), default=0.0)
        return sure * (1 - 2**-36), min(worst * (1 + 2**-36), 1.0)

    def __repr__(self) -> str:
        """Show what is composed."""
        pieces = [f"{part!r}" if count == 1 else f"{part!r} * {count}" for part, count in self.terms]
        error = f", sampling_error={as_text(self.sampling_error)}" if self.sampling_error else ""
        return f"Curve({' + '.join(pieces) or 'nothing'}, neighbors={self.neighbors.value}{error})"


def compose(terms: Terms, neighbors: Relation, sampling_error: Fraction = Fraction(0)) -> Curve:
    """Return the curve of these parts in canonical order, equal parts counted together."""
    counts: dict[Part, int] = {}
    for part, count in terms:
        if count:
            counts[part] = counts.get(part, 0) + count
    ordered = tuple(sorted(counts.items(), key=_place))
    return Curve(ordered, neighbors, _kept_error(sampling_error))


def _kept_error(total: Fraction) -> Fraction:
    """Round a sum of sampling errors up if it is long; it stays at 1, from where on it says nothing."""
    return min(shortened(total), Fraction(1))


def _merged(one: Terms, other: Terms) -> Terms:
    """Merge two canonical lists: the shorter is sorted into the longer, so that long sums are built in little time."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    merged = list(longer)
    for part, count in shorter:
        place = bisect_left(merged, _key(part), key=_place)
        if place < len(merged) and merged[place][0] == part:
            total = integer(merged[place][1] + count, name="count", most=MOST_COMPOSITIONS)
            merged[place] = part, total
        else:
            merged.insert(place, (part, count))
    return tuple(merged)


def _settle(terms: Terms, neighbors: Relation, sampling_error: Fraction) -> Curve:
    """Make a curve of terms that were taken from curves, where each was checked, and that are in order."""
    curve = object.__new__(Curve)
    object.__setattr__(curve, "terms", terms)
    object.__setattr__(curve, "neighbors", neighbors)
    object.__setattr__(curve, "sampling_error", sampling_error)
    return curve


def _place(term: tuple[Part, int]) -> str:
    """Return what terms are ordered by."""
    return _key(term[0])


@lru_cache(maxsize=4096)
def _key(part: Part) -> str:
    """Remember keys: a long sum compares the same parts again and again."""
    return part.key


@lru_cache(maxsize=1024)
def _delta_at(curve: Curve, epsilon: float) -> float:
    """Remember deltas: the searches for several false positive rates start from the same points."""
    return curve.delta(epsilon)


def _require_sane(part: Part, relation: Relation) -> None:
    """Refuse a part read from JSON whose nested curves are for other neighbors; its numbers it checks itself."""
    for item in fields(part):  # type: ignore[arg-type]
        value = getattr(part, item.name)
        for nested in value if isinstance(value, tuple) else (value,):
            if isinstance(nested, Curve):
                size = getattr(part, "size", 1)  # a grouped part holds the curve for single units
                require_same_relation(nested.neighbors.group(size, relation.unit), relation)


def _quiet(invalid: Literal["warn", "ignore"] = "warn") -> AbstractContextManager[None]:
    """Let intermediate results become infinity or 0 in silence; the ends are checked afterwards."""
    import numpy as np

    return np.errstate(over="ignore", under="ignore", divide="ignore", invalid=invalid)


READERS["curve"] = Curve.from_record
