"""Losses of mechanisms that run on a random sample of the units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.gaussian import GaussianLoss
from discreet.privacy.numerics.losses.loss import ULP, Loss, log_conversions
from discreet.privacy.numerics.losses.profile import collapse, hull, reach
from discreet.privacy.numerics.losses.thinned import base_epsilon, sampled_delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Complexes, Reals


CELLS = 4096
"""How finely a profile without a formula for K is cut."""

FEW_CELLS = 512
"""The same where every point of the profile is an integral of its own: 256 gave an epsilon 2e-7 larger."""

DENSER = np.linspace(0.0, 1.0, CELLS + 1) * (0.15 + 0.85 * np.linspace(0.0, 1.0, CELLS + 1) ** 2)
"""Where the cells of a symmetric profile end, as shares of its reach: seven times as many near 0, where the mass is."""

BEYOND = np.geomspace(1e-2, 1e6, 161)
"""How far beyond an order the orders lie at which the rest of a table is bounded."""

RAISED = 1 + 2.0**-44
"""How far the last edge exceeds the largest loss: rounding must not put the mass that lies there beyond the edge."""

SHARPER = 2.0**-40
"""How far below that edge the largest loss may lie, relatively."""


@dataclass(frozen=True, eq=False)
class Formula(Loss):
    """A profile and its slope as functions."""

    profile: Callable[[Reals], Reals]
    fall: Callable[[Reals], Reals]
    infinity: float
    top: float
    cutoff: float = 0.0
    """The part of `infinity` that was cut off and may lie lower."""
    least: float = -math.inf
    """A lower bound of the largest finite loss, where one is known."""
    real: bool = True
    """Whether `infinity` really happens."""

    @property
    def leaks(self) -> bool:
        """As stated."""
        return self.real and self.infinity > 0

    @property
    def unsure(self) -> float:
        """What was cut off."""
        return self.cutoff

    @property
    def least_top(self) -> float:
        """What is known."""
        return self.least

    def delta(self, epsilon: Reals) -> Reals:
        """Evaluate the profile."""
        return self.profile(epsilon)

    def slope(self, epsilon: Reals) -> Reals:
        """Evaluate the slope."""
        return self.fall(epsilon)

    def moment(self, order: float) -> float:
        """Refuse: a formula of the profile has none of K."""
        raise TypeError(order)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """Refuse: a formula of the profile has none of K."""
        raise TypeError(real, heights)


class CutLoss(FiniteLoss):
    """A finite pair that dominates a profile, together with the profile and a pair below it.

    `exact` says that the profile is attained and its slope a formula, `reached` that a single use attains it at every
    epsilon, maybe by one mechanism here and another there. Where neither holds the profile is a bound itself.
    """

    attained = False
    source: Loss
    lower: FiniteLoss | None
    exact: bool = False
    reached: bool = False
    rho: float | None = None
    """A rho such that the mechanism keeps rho-zCDP without sampling; None where none is known."""
    rate: float = 1.0
    """The rate of the sample, 1 without one."""
    thinned: Callable[[float], Loss] | None = None
    """Where the mechanism leans, the samples of its attained pairs."""
    alone: Callable[[], Loss | None] | None = None
    """Where no one pair attains the profile, one that is attained."""

    @staticmethod
    def of(source: Loss, edges: Reals) -> CutLoss:
        """Cut a profile whose slope is known."""
        lower, upper = collapse(source, edges)
        made = CutLoss.around(source, upper, lower, reached=True)
        object.__setattr__(made, "exact", True)
        return made

    @staticmethod
    def around(source: Loss, upper: FiniteLoss, lower: FiniteLoss | None, *, reached: bool = False) -> CutLoss:
        """Join the three."""
        made = CutLoss(upper.values, upper.masses, upper.infinity, 0.0, upper.floor, upper.accuracy)
        object.__setattr__(made, "source", source)
        object.__setattr__(made, "lower", lower)
        object.__setattr__(made, "reached", reached)
        return made

    @property
    def leaks(self) -> bool:
        """As the profile says, not as the cut does."""
        return self.source.leaks

    def delta(self, epsilon: Reals) -> Reals:
        """The profile itself, for single use."""
        return self.source.delta(epsilon)

    @property
    def unsure(self) -> float:
        """That of the profile."""
        return self.source.unsure

    @property
    def least_top(self) -> float:
        """That of the profile: the table ends a little above it."""
        return self.source.least_top

    @property
    def full_top(self) -> float:
        """That of the table if nothing lies beyond it, else that of the profile."""
        return self.top if self.infinity == 0 else self.source.top

    def full_renyi(self, order: float) -> float:
        """Add to the table's K what lies beyond its end."""
        return _whole_renyi(self, order)

    def slope(self, epsilon: Reals) -> Reals:
        """The slope of the profile itself."""
        return self.source.slope(epsilon)

    @property
    def leans(self) -> bool:  # type: ignore[override]
        """As the mechanism without the sample does."""
        return self.thinned is not None

    def lean(self, share: float) -> Loss | None:
        """A sample of the attained pair."""
        return self.below() if self.thinned is None else self.thinned(share)

    @property
    def apart(self) -> bool:  # type: ignore[override]
        """Whether no one pair attains the profile."""
        return self.alone is not None

    def below(self) -> Loss | None:
        """The pair under the profile, or a sample of the symmetric pair that the mechanism attains."""
        if self.alone is not None:
            return self.alone()
        return self.lower if self.thinned is None else self.thinned(0.5)

    def sampling(self, loss: Loss, sample: Callable[[FiniteLoss], FiniteLoss]) -> CutLoss:
        """Remember how the pairs that the mechanism attains without the sample are sampled."""
        if loss.leans:

            def thinned(share: float) -> Loss:
                pair = loss.lean(share)
                assert isinstance(pair, FiniteLoss)  # noqa: S101  what leans has two values
                return sample(pair)

            object.__setattr__(self, "thinned", thinned)
        return self

    @property
    def table(self) -> FiniteLoss:
        """The finite pair alone, which is what compositions are computed of."""
        return FiniteLoss(self.values, self.masses, self.infinity, 0.0, self.floor, self.accuracy)


class CutTable(FiniteLoss):
    """A list of losses after Poisson sampling whose mass at infinity is only a rest that was cut off."""

    leaks = False
    rho: float | None = None
    """As for CutLoss."""
    rate: float = 1.0

    def full_renyi(self, order: float) -> float:
        """Add to the table's K what lies beyond its end."""
        return _whole_renyi(self, order)


def _whole_renyi(loss: CutLoss | CutTable, order: float) -> float:
    """Add to the K of a table what lies beyond its end h, where p is sent to infinity.

    E[exp(sL)] = s (s + 1) int delta(e) exp(s e) de. Up to h, delta exceeds that of the finite part by at most p,
    which adds (s + 1) p exp(s h). Beyond h, with exp(e) = 1 + q (exp(l) - 1), delta(e) is q times the profile at l
    without the sample, which rho-zCDP bounds by exp(rho r (r + 1) - r l + log_conversion(r)) for every r > s. Let k
    be the l of h. As e - l falls with l and de <= dl, the integral from there on adds at most
    s (s + 1) q exp(s (h - k)) / (r - s) exp(rho r (r + 1) - (r - s) k + log_conversion(r)).
    """
    if loss.infinity == 0:
        return loss.renyi(order)
    end = float(loss.values[-1])
    logs = [loss.renyi(order), math.log1p(order) + math.log(loss.infinity) + order * end]
    if math.isinf(loss.full_top):
        if loss.rho is None:
            return math.inf
        base = float(base_epsilon(loss.rate, np.asarray(end), add=False)) if loss.rate < 1 else end
        r = order + BEYOND
        bounds = loss.rho * r * (r + 1) - BEYOND * base + log_conversions(r) - np.log(BEYOND)
        scale = math.log(order) + math.log1p(order) + math.log(loss.rate)
        logs.append(scale + order * (end - base) + float(bounds.min()))
    total = float(np.logaddexp.reduce(logs))
    moment = total + 64 * ULP * (1 + sum(map(abs, logs)) if max(logs[1:]) > logs[0] - 40 else abs(total))
    return moment if loss.rho is None else min(moment, loss.rho * order * (order + 1) * (1 + 8 * ULP))


def promising(pair: tuple[Loss, Loss], rho: float | None, rate: float = 1.0) -> tuple[Loss, Loss]:
    """Tell tables which zCDP promise holds without the sample, in both directions, and the rate of the sample."""
    for loss in pair:
        if isinstance(loss, CutLoss | CutTable):
            object.__setattr__(loss, "rho", rho)
            object.__setattr__(loss, "rate", rate)
    return pair


def poisson_pair(remove: Loss, add: Loss, rate: float) -> tuple[Loss, Loss]:
    """Return both losses after Poisson sampling."""
    if isinstance(remove, GaussianLoss):
        from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss

        sigma = 1 / remove.mu
        return SampledGaussianLoss(sigma, rate, add=False), SampledGaussianLoss(sigma, rate, add=True)
    if isinstance(remove, FiniteLoss) and isinstance(add, FiniteLoss) and remove.attained and add.attained:
        return _finite_remove(remove, rate), _finite_add(add, rate)
    return _cut(remove, add, rate, add_direction=False), _cut(add, remove, rate, add_direction=True)


def _finite_remove(loss: FiniteLoss, rate: float) -> FiniteLoss:
    """(1 - q) Q + q P against Q: values log(1 + q (exp(L) - 1)); where P has no mass, log(1 - q)."""
    values = np.log1p(rate * np.expm1(loss.values))
    masses = loss.masses * ((1 - rate) * np.exp(-loss.values) + rate)
    if loss.floor > 0:
        values = np.append(math.log1p(-rate), values)
        masses = np.append((1 - rate) * loss.floor, masses)
    accuracy, cutoff = loss.accuracy + 2.0**-48, rate * loss.cutoff
    kind = FiniteLoss if loss.leaks or loss.infinity == 0 else CutTable
    return kind(values, masses, rate * loss.infinity, 0.0, 0.0, accuracy, cutoff=cutoff)


def _finite_add(loss: FiniteLoss, rate: float) -> FiniteLoss:
    """P against (1 - q) P + q Q: values -log(1 + q (exp(-L) - 1)); an infinite loss becomes -log(1 - q)."""
    values = -np.log1p(rate * np.expm1(-loss.values))
    masses = loss.masses
    if loss.infinity > 0:
        values = np.append(values, -math.log1p(-rate))
        masses = np.append(masses, loss.infinity)
    return FiniteLoss(values, masses, 0.0, 0.0, rate * loss.floor, loss.accuracy + 2.0**-48, cutoff=loss.cutoff)


def _cut(loss: Loss, other: Loss, rate: float, *, add_direction: bool) -> CutLoss:
    """Sample a profile and cut it: with its slope where that is a formula, else by the hull of upper bounds."""
    high, low = reach(loss), reach(other)
    inner = np.linspace(-low, high, (CELLS if loss.closed else FEW_CELLS) + 1)
    sign = -1.0 if add_direction else 1.0
    edges = sign * np.log1p(rate * np.expm1(np.minimum(sign * inner, 700.0)))
    if math.isfinite(loss.top):
        edges[-1] *= RAISED
    infinity = 0.0 if add_direction else rate * loss.infinity
    top = -math.log1p(-rate) if add_direction else float(edges[-1]) if math.isfinite(loss.full_top) else math.inf

    def profile(epsilon: Reals) -> Reals:
        return sampled_delta(loss.delta, rate, epsilon, add=add_direction)

    def fall(epsilon: Reals) -> Reals:
        return _sampled_slope(loss, rate, epsilon, add=add_direction)

    unsure = loss.unsure if add_direction else rate * loss.unsure
    source = Formula(profile, fall, infinity, top, unsure, _reached(loss, float(edges[-1])), loss.leaks)
    if loss.closed and loss.attained:
        if add_direction and loss.infinity > 0:
            edges = np.append(edges, top)
        return CutLoss.of(source, edges)
    made = CutLoss.around(source, hull(edges, profile(edges), infinity), None)
    return made.sampling(loss, lambda pair: _finite_add(pair, rate) if add_direction else _finite_remove(pair, rate))


def _reached(loss: Loss, top: float) -> float:
    """Return a lower bound of the largest loss after sampling, from the table's end above it; -inf if none is known."""
    known = math.isfinite(loss.full_top) and ((loss.peak > 0 and loss.attained) or loss.leans)
    return top * (1 - SHARPER) if known else -math.inf


def _one_sided(forward: Loss, backward: Loss, rate: float) -> Loss | None:
    """(1 - q) Q + q P against Q, which some mechanism attains; it is built where it is asked for."""
    return poisson_pair(forward, backward, rate)[0].below()


def _top(loss: Loss) -> float:
    return loss.top


def _sampled_slope(loss: Loss, rate: float, epsilon: Reals, *, add: bool) -> Reals:
    """Q'[L' > e] for the sampled pair."""
    inner = base_epsilon(rate, epsilon, add=add)
    inside = np.isfinite(inner)
    safe = np.where(inside, inner, 0.0)
    under = loss.slope(safe)
    if not add:
        return np.asarray(np.where(inside, under, 1.0))
    over = loss.delta(safe) + np.exp(safe) * under
    return np.asarray(np.where(inside, (1 - rate) * over + rate * under, 0.0))


def fixed_size_loss(forward: Loss, backward: Loss, rate: float) -> Loss:
    """Return the loss of sampling a fixed share without replacement, under change-one; both directions are the same.

    For y >= 1 the profile is q D(1 + (y - 1) / q), D the larger of both unsampled profiles (Balle, Barthe & Gaboardi
    2018,
    arXiv:1807.01647, Theorem 9); the relation is symmetric, so for y < 1 it is 1 - y + y times the profile at 1/y. That
    this is a profile of one pair, which composes: Zhu, Dong & Wang 2022 (arXiv:2106.08567).
    """
    same = forward is backward

    def base(epsilon: Reals) -> Reals:
        return forward.delta(epsilon) if same else np.maximum(forward.delta(epsilon), backward.delta(epsilon))

    def profile(epsilon: Reals) -> Reals:
        size = np.abs(epsilon)
        positive = sampled_delta(base, rate, size, add=False)
        return np.asarray(np.where(epsilon < 0, np.exp(-size) * positive - np.expm1(-size), positive))

    def fall(epsilon: Reals) -> Reals:
        size = np.abs(epsilon)
        under = forward.slope(base_epsilon(rate, size, add=False))
        over = sampled_delta(base, rate, size, add=False) + np.exp(size) * under
        return np.asarray(np.where(epsilon < 0, 1 - over, under))

    high = max(reach(forward), reach(backward))
    inner = high * (DENSER if forward.closed else DENSER[:: CELLS // FEW_CELLS])
    positive = np.log1p(rate * np.expm1(np.minimum(inner, 700.0)))
    if math.isfinite(max(forward.top, backward.top)):
        positive[-1] *= RAISED
    edges = np.append(-positive[:0:-1], positive)
    infinity = rate * max(forward.infinity, backward.infinity)
    top = float(positive[-1]) if math.isfinite(max(forward.full_top, backward.full_top)) else math.inf
    unsure, least = rate * max(forward.unsure, backward.unsure), _reached(max(forward, backward, key=_top), top)
    source = Formula(profile, fall, infinity, top, unsure, least, forward.leaks or backward.leaks)
    if same and forward.closed and forward.attained:
        made = CutLoss.of(source, edges)
        # One pair has the profile for y > 1 (the law without the unit is that of its replacement: (1 - q) Q + q P
        # against Q), and another for y < 1: as a whole it holds from above.
        object.__setattr__(made, "alone", lambda: _one_sided(forward, backward, rate))
        return made
    made = CutLoss.around(source, hull(edges, profile(edges), infinity), None)
    # without the unit the sample's law is that of its replacement: (1 - q) Q + q P against Q
    return made.sampling(forward, lambda pair: _finite_remove(pair, rate))
