r"""How the gradient of each unit is bounded before the sum.

Sensitivity. Each form multiplies a unit's gradient g by a weight so that $|g| w \le C$ for the whole of it, all
parameters together, in L2: so one unit more or less moves the sum by at most C; under change-one by 2C.

Torch computes lengths and sums in floats, whose roundings depend on the other examples of the batch, too. So units are
clipped to $C (1 - 2^{-8})$, and $C/256$ is left for what roundings of the two sums differ by; that they stay below it
is listed as assumed. (In single precision they are about a thousandth of that.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.inputs.parameters import assign, read_positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor, nn

    from discreet.exact import Number

__all__ = ["Adaptive", "Automatic", "Clipping", "Flat", "PerLayer", "read_clipping"]

_MARGIN = 1 - 2.0**-8
_TINY = 1e-30


class Clipping(ABC):
    """A rule that bounds the gradient of each unit to the length `norm`.

    >>> sorted(Clipping.__abstractmethods__)
    ['weights']
    """

    kind: ClassVar[str]
    norm: Fraction

    @abstractmethod
    def weights(self, squares: Mapping[nn.Parameter, Tensor]) -> Mapping[nn.Parameter, Tensor]:
        """Return what each unit's part of each parameter is multiplied by, from the squared lengths of the parts."""

    def bounded(self, squares: Mapping[nn.Parameter, Tensor]) -> tuple[Mapping[nn.Parameter, Tensor], Tensor]:
        """Return the weights, 0 for units whose gradient is not finite, and which units these are."""
        broken = ~torch.isfinite(_total(squares))
        whole = {parameter: torch.where(broken, 0.0, square) for parameter, square in squares.items()}
        weights = self.weights(whole)
        return {parameter: torch.where(broken, 0.0, weight) for parameter, weight in weights.items()}, broken

    def record(self) -> dict[str, Any]:
        """Return the rule as a JSON object; `read_clipping` reads it."""
        return {"kind": self.kind, **{part.name: str(getattr(self, part.name)) for part in fields(self)}}  # type: ignore[arg-type]


def _total(squares: Mapping[nn.Parameter, Tensor]) -> Tensor:
    return torch.stack(list(squares.values())).sum(0)


def _read_norm(norm: Number) -> Fraction:
    return read_positive(norm, "norm", zero="nothing would be left of a gradient")


@dataclass(frozen=True, slots=True, init=False)
class Flat(Clipping):
    """Shorten each gradient that is longer than `norm` (Abadi et al. 2016, arXiv:1607.00133, Algorithm 1).

    >>> weight = torch.nn.Parameter(torch.zeros(1))
    >>> [round(float(part), 3) for part in Flat(1).weights({weight: torch.tensor([0.25, 4.0])})[weight]]
    [1.0, 0.498]
    """

    kind: ClassVar[str] = "flat"
    norm: Fraction

    def __init__(self, norm: Number = 1) -> None:
        assign(self, norm=_read_norm(norm))

    def weights(self, squares: Mapping[nn.Parameter, Tensor]) -> Mapping[nn.Parameter, Tensor]:
        """Weigh units by the rule."""
        most = float(self.norm) * _MARGIN
        weights = (most / _total(squares).sqrt().clamp_min(_TINY)).clamp_max(1)
        return dict.fromkeys(squares, weights)


@dataclass(frozen=True, slots=True, init=False)
class PerLayer(Clipping):
    r"""Shorten the gradient of each of m parameters to norm / sqrt(m); together they are no longer than `norm`.

    >>> one, other = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    >>> weights = PerLayer(2).weights({one: torch.tensor([9.0]), other: torch.tensor([0.01])})
    >>> round(float(weights[one]) * 3, 2), float(weights[other])
    (1.41, 1.0)
    """

    kind: ClassVar[str] = "per_layer"
    norm: Fraction

    def __init__(self, norm: Number = 1) -> None:
        assign(self, norm=_read_norm(norm))

    def weights(self, squares: Mapping[nn.Parameter, Tensor]) -> Mapping[nn.Parameter, Tensor]:
        """Weigh units by the rule."""
        most = float(self.norm) * _MARGIN / len(squares) ** 0.5
        return {
            parameter: (most / square.sqrt().clamp_min(_TINY)).clamp_max(1) for parameter, square in squares.items()
        }


@dataclass(frozen=True, slots=True, init=False)
class Automatic(Clipping):
    """Bring each gradient g to the length norm |g| / (|g| + stability), below `norm`: nothing to tune.

    Bu, Wang, Zha & Karypis 2023 (arXiv:2206.07136).

    >>> weight = torch.nn.Parameter(torch.zeros(1))
    >>> round(float(Automatic(1).weights({weight: torch.tensor([4.0])})[weight][0]), 3)
    0.496
    """

    kind: ClassVar[str] = "automatic"
    norm: Fraction
    stability: Fraction

    def __init__(self, norm: Number = 1, *, stability: Number = "0.01") -> None:
        least = read_positive(stability, "stability", zero="a gradient of 0 has no direction")
        assign(self, norm=_read_norm(norm), stability=least)

    def weights(self, squares: Mapping[nn.Parameter, Tensor]) -> Mapping[nn.Parameter, Tensor]:
        """Weigh units by the rule."""
        lengths = _total(squares).sqrt()
        return dict.fromkeys(squares, float(self.norm) * _MARGIN / (lengths + float(self.stability)))


@dataclass(frozen=True, slots=True, init=False)
class Adaptive(Clipping):
    r"""Begin with `norm`, and follow a quantile of the lengths, which a noisy count at each step shows.

    Andrew, Thakkar, McMahan & Ramaswamy 2021 (arXiv:1905.03871, Algorithm 1). At each step a unit adds to a count 1/2
    where its gradient is not longer than C, else -1/2: one unit moves it by 1/2. The count gets N(0, s_b^2), the sum of
    gradients N(0, (z C)^2). Beside each other, both cost what a single sum with the multiplier
    $(z^{-2} + (2 s_b)^{-2})^{-1/2}$ costs (their Theorem 1), which is what the promise states. Then C becomes
    C exp(-rate (share below C - quantile)).

    >>> Adaptive("0.1", quantile="0.5").norm
    Fraction(1, 10)
    """

    kind: ClassVar[str] = "adaptive"
    norm: Fraction
    quantile: Fraction
    rate: Fraction
    share: Fraction

    def __init__(
        self, norm: Number = "0.1", *, quantile: Number = "0.5", rate: Number = "0.2", share: Number = "0.05"
    ) -> None:
        """Take the share of the price of each step that goes to the count, in terms of squares of multipliers."""
        assign(self, norm=_read_norm(norm), quantile=_between(quantile, "quantile"))
        assign(self, rate=read_positive(rate, "rate", zero="the norm would never move"), share=_between(share, "share"))

    def weights(self, squares: Mapping[nn.Parameter, Tensor]) -> Mapping[nn.Parameter, Tensor]:
        """Weigh units by the rule."""
        return Flat(self.norm).weights(squares)

    def moved(self, share_below: float) -> Adaptive:
        """The rule of the next step, after a noisy share of units was seen below the norm."""
        factor = math.exp(-float(self.rate) * (min(max(share_below, 0.0), 1.0) - float(self.quantile)))
        norm = Fraction(float(self.norm) * factor).limit_denominator(1 << 40)
        return Adaptive(max(norm, Fraction(1, 1 << 30)), quantile=self.quantile, rate=self.rate, share=self.share)


def _between(number: Number, name: str) -> Fraction:
    value = read_positive(number, name, zero="it lies between 0 and 1")
    if value >= 1:
        msg = f"{name} is {shown(number)}; it must lie between 0 and 1."
        raise ParameterError(msg)
    return value


_KINDS: Sequence[type[Clipping]] = (Flat, PerLayer, Automatic, Adaptive)


def read_clipping(given: object) -> Clipping:
    """Read a rule, its record, or a norm, which means `Flat`.

    >>> read_clipping("0.5"), read_clipping(Automatic(1).record()) == Automatic(1)
    (Flat(norm=Fraction(1, 2)), True)
    """
    if isinstance(given, Clipping):
        return given
    if isinstance(given, dict):
        kinds = {rule.kind: rule for rule in _KINDS}
        if given.get("kind") not in kinds:
            msg = f"clipping is of kind {shown(given.get('kind'))}; it must be one of {', '.join(kinds)}."
            raise ParameterError(msg)
        return kinds[given["kind"]](**{name: value for name, value in given.items() if name != "kind"})
    return Flat(given)  # type: ignore[arg-type]
