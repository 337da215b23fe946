"""Log-likelihood ratios of single elements: how much each speaks for the law after a change, within a stated bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.mechanisms.inputs.values import as_given, private_number, quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.exact import Number

    Floats = NDArray[np.float64]

__all__ = ["Bernoulli", "Gaussian", "Given", "Likelihoods", "Poisson", "read_likelihoods", "read_numbers"]


class Likelihoods(Protocol):
    """Two laws, of an element before the change and after it.

    >>> pair: Likelihoods = Bernoulli("0.2", "0.8")
    >>> pair.ratios(np.array([0.0, 1.0])).round(3).tolist()
    [-1.386, 1.386]
    """

    kind: ClassVar[str]

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which ends ratios lie, or are clipped to: the first is at most 0, the second at least 0."""

    def ratios(self, values: Floats) -> Floats:
        """The logarithm of the likelihood after the change over that before it, of each value."""

    def law(self, *, after: bool) -> tuple[Floats, Floats] | None:
        """The ratios that occur under one of the two laws, with their chances; None where the laws are not known."""

    def record(self) -> dict[str, Any]:
        """The pair as a JSON object."""


class _Known:
    """What pairs with parameters share."""

    kind: ClassVar[str]

    def record(self) -> dict[str, Any]:
        """Return the pair as a JSON object; `read_likelihoods` reads it."""
        return {"kind": self.kind, **{item.name: str(getattr(self, item.name)) for item in fields(self)}}  # type: ignore[arg-type]


@dataclass(frozen=True, init=False)
class Bernoulli(_Known):
    """A yes comes with one chance before the change, and with another one after it.

    >>> Bernoulli("0.2", "0.8").bounds == (-math.log(4), math.log(4))
    True
    """

    kind: ClassVar[str] = "bernoulli"

    before: Fraction
    after: Fraction

    def __init__(self, before: Number, after: Number) -> None:
        for name, given in (("before", before), ("after", after)):
            chance = rational(given, name=name)
            if not 0 < chance < 1:
                msg = f"{name} is {shown(given)}; it must lie between 0 and 1, or a single element would tell all."
                raise ParameterError(msg)
            object.__setattr__(self, name, chance)
        _require_change(self.before, self.after)

    @property
    def bounds(self) -> tuple[float, float]:
        """The ratio of a no and of a yes."""
        low, high = sorted(self.ratios(np.array([0.0, 1.0])).tolist())
        return low, high

    def ratios(self, values: Floats) -> Floats:
        """Everything but 0 is a yes."""
        yes = math.log(self.after / self.before)
        no = math.log((1 - self.after) / (1 - self.before))
        return np.where(values != 0, yes, no)

    def law(self, *, after: bool) -> tuple[Floats, Floats]:
        """Two ratios."""
        chance = float(self.after if after else self.before)
        return self.ratios(np.array([0.0, 1.0])), np.array([1 - chance, chance])


@dataclass(frozen=True, init=False)
class Gaussian(_Known):
    """A normal law whose mean changes; ratios are clipped to +- clip.

    >>> Gaussian(0, 1, 1, clip=2).ratios(np.array([-9.0, 0.5, 1.0])).tolist()
    [-2.0, 0.0, 0.5]
    """

    kind: ClassVar[str] = "gaussian"

    before: Fraction
    after: Fraction
    sigma: Fraction
    clip: Fraction

    def __init__(self, before: Number, after: Number, sigma: Number, *, clip: Number) -> None:
        object.__setattr__(self, "before", rational(before, name="before"))
        object.__setattr__(self, "after", rational(after, name="after"))
        object.__setattr__(self, "sigma", read_positive(sigma, "sigma", zero="a law without spread has no likelihood"))
        object.__setattr__(self, "clip", read_positive(clip, "clip", zero="nothing would be told apart"))
        _require_change(self.before, self.after)

    @property
    def bounds(self) -> tuple[float, float]:
        """The clip, either way."""
        return -float(self.clip), float(self.clip)

    def ratios(self, values: Floats) -> Floats:
        """(m1 - m0) (x - (m0 + m1) / 2) / sigma^2, clipped."""
        slope, middle = float((self.after - self.before) / self.sigma**2), float((self.before + self.after) / 2)
        return np.clip(slope * (values - middle), *self.bounds)

    def law(self, *, after: bool) -> tuple[Floats, Floats]:
        """The normal law on a fine grid of 12 sigma."""
        mean, sigma = float(self.after if after else self.before), float(self.sigma)
        places = np.linspace(-12, 12, 6001)
        weights = np.exp(-(places**2) / 2)
        return self.ratios(mean + sigma * places), weights / weights.sum()


@dataclass(frozen=True, init=False)
class Poisson(_Known):
    """Counts whose mean changes; ratios are clipped to +- clip.

    >>> Poisson(2, 4, clip=3).ratios(np.array([0.0, 100.0])).tolist()
    [-2.0, 3.0]
    """

    kind: ClassVar[str] = "poisson"

    before: Fraction
    after: Fraction
    clip: Fraction

    def __init__(self, before: Number, after: Number, *, clip: Number) -> None:
        object.__setattr__(self, "before", read_positive(before, "before", zero="counts would be 0 for certain"))
        object.__setattr__(self, "after", read_positive(after, "after", zero="counts would be 0 for certain"))
        object.__setattr__(self, "clip", read_positive(clip, "clip", zero="nothing would be told apart"))
        _require_change(self.before, self.after)

    @property
    def bounds(self) -> tuple[float, float]:
        """The clip, either way."""
        return -float(self.clip), float(self.clip)

    def ratios(self, values: Floats) -> Floats:
        """X ln(l1 / l0) - (l1 - l0), clipped; counts below 0 are 0."""
        slope, offset = math.log(self.after / self.before), float(self.after - self.before)
        return np.clip(slope * np.maximum(values, 0.0) - offset, *self.bounds)

    def law(self, *, after: bool) -> tuple[Floats, Floats]:
        """The counts up to far beyond the mean."""
        mean = float(self.after if after else self.before)
        counts = np.arange(int(mean + 40 * math.sqrt(mean) + 60))
        logs = counts * math.log(mean) - mean - np.array([math.lgamma(count + 1) for count in counts])
        weights = np.exp(logs)
        return self.ratios(counts.astype(np.float64)), weights / weights.sum()


@dataclass(frozen=True, init=False)
class Given(_Known):
    """Ratios that the caller computes, one for each element, clipped to the stated ends.

    >>> Given(-2, 3).ratios(np.array([-5.0, 1.0, 9.0])).tolist()
    [-2.0, 1.0, 3.0]
    """

    kind: ClassVar[str] = "given"

    lower: Fraction
    upper: Fraction

    def __init__(self, lower: Number, upper: Number) -> None:
        low, high = rational(lower, name="lower"), rational(upper, name="upper")
        if not low < 0 < high:
            msg = f"the ends are {shown(lower)} and {shown(upper)}; ratios of two laws lie on both sides of 0."
            raise ParameterError(msg)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @staticmethod
    def of(values: object, before: Callable[[float], float], after: Callable[[float], float]) -> Floats:
        """Compute ratios by two log-likelihoods; where one raises or is no number, the element says nothing.

        >>> Given.of([0.0, 1.0, None], lambda x: -x, lambda x: x).tolist()
        [0.0, 2.0, 0.0]
        """
        found = []
        for value in read_numbers(values).tolist():
            try:
                with quietly():
                    ratio = float(after(value)) - float(before(value))
            except Exception:  # noqa: BLE001  what a function of the caller does with a private value is unknown
                ratio = math.nan
            found.append(0.0 if math.isnan(ratio) or math.isnan(value) else ratio)
        return np.array(found)

    @property
    def bounds(self) -> tuple[float, float]:
        """The stated ends."""
        return float(self.lower), float(self.upper)

    def ratios(self, values: Floats) -> Floats:
        """Clip them."""
        return np.clip(values, *self.bounds)

    def law(self, *, after: bool) -> None:
        """Nothing is known of the laws."""
        del after


def _require_change(before: Fraction, after: Fraction) -> None:
    if before == after:
        msg = f"before and after are both {shown(before)}; there is no change to find."
        raise ParameterError(msg)


def read_numbers(values: object) -> Floats:
    """Read elements as floats, each by itself; what is no number is NaN, and no error depends on one.

    >>> read_numbers([1, None, "x", 10**400]).tolist()
    [1.0, nan, nan, inf]
    """
    given: Any = as_given(values)
    array = np.asarray(given) if hasattr(given, "dtype") else np.array(given, dtype=object)
    if array.ndim != 1:
        msg = f"the elements have shape {array.shape}; give a list of numbers."
        raise ParameterError(msg)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)

    def one(value: object) -> float:
        number = private_number(value)
        try:
            return float(number)
        except OverflowError:
            return math.inf if number > 0 else -math.inf

    return np.array([one(value) for value in array.tolist()], dtype=np.float64)


_KINDS: dict[str, type[Any]] = {each.kind: each for each in (Bernoulli, Gaussian, Poisson, Given)}


def read_likelihoods(given: Likelihoods | Mapping[str, Any]) -> Likelihoods:
    """Read a pair of laws, or what `record` of one wrote.

    >>> read_likelihoods(Poisson(2, 4, clip=3).record()) == Poisson(2, 4, clip=3)
    True
    """
    if isinstance(given, tuple(_KINDS.values())):
        return cast("Likelihoods", given)
    if not isinstance(given, dict) or given.get("kind") not in _KINDS:
        msg = f"likelihoods is {shown(given)}; give one of {', '.join(each.__name__ for each in _KINDS.values())}."
        raise ParameterError(msg)
    rest = {name: value for name, value in given.items() if name != "kind"}
    made: Likelihoods = _KINDS[given["kind"]](**rest)
    return made
