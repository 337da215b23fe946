"""Running a mechanism on a random sample of the units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import float_up, shown
from discreet.exact.rational import require_kind
from discreet.privacy.curve import Curve
from discreet.privacy.leaks import leak_of
from discreet.privacy.part import OPERATIONS, Part, as_float, pair_of, read_probability, require_probability, rho_of
from discreet.privacy.relations import NeighborRelation
from discreet.privacy.schemes import FixedSize, Poisson, Scheme

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["FixedSize", "FixedSizeSampled", "Poisson", "PoissonSampled", "Scheme", "subsample"]

_MOST_UNITS = 10**100  # one of so many is the smallest rate


@dataclass(frozen=True, slots=True)
class Sampled(Part):
    """All of `base` on one shared sample, for the neighbors of which the theorem about such samples speaks."""

    neighbors: ClassVar[NeighborRelation]

    base: Curve
    rate: Fraction

    def check(self) -> None:
        """A curve for these neighbors, and a rate above 0."""
        known = require_kind(self.base, Curve, "base").neighbors
        if known.relation is not self.neighbors or known.size > 1 or not self.base.terms or self.base.sampling_error:
            msg = (
                f"base is {self.base!r}; this kind of sample has a proved bound for curves of {self.neighbors.value} "
                "neighbors."
            )
            raise ParameterError(msg)
        if require_probability(self.rate, "rate") * _MOST_UNITS < 1:
            msg = (
                f"rate is {shown(self.rate)}; below 1e-100 it leaves the range of floats. Write 1e-100, which costs "
                "more."
            )
            raise ParameterError(msg)

    def rho(self) -> Fraction | None:
        """The base's: a mixture with an equal law moves no Renyi divergence up (quasi-convexity)."""
        return rho_of(self.base.terms)


@dataclass(frozen=True, slots=True)
class PoissonSampled(Sampled):
    """All of `base` on one shared Poisson sample.

    With the unit the output is a mixture: Zhu, Dong & Wang 2022 (arXiv:2106.08567), Theorem 11, one pair per direction.
    """

    kind: ClassVar[str] = "poisson_sampled"
    neighbors: ClassVar[NeighborRelation] = NeighborRelation.ADD_REMOVE

    def losses(self) -> tuple[Loss, Loss]:
        """Mix each direction with its base."""
        from discreet.privacy.numerics.envelope import sampled_envelope
        from discreet.privacy.numerics.losses.sampled import poisson_pair, promising

        base, rate, rho = _base_losses(self.base), as_float(self.rate), self.rho()
        pair = sampled_envelope(*base, rate) or poisson_pair(*base, rate)
        return promising(pair, None if rho is None else float_up(rho), rate)

    def infinite(self, side: int) -> tuple[Fraction, Fraction] | None:
        """The rate times the base's with the unit against without it.

        In reverse a leak becomes the finite loss -log(1 - rate), which a coarser pair may leave out: not known here.
        """
        base = leak_of(self.base.terms, side)
        if base is None or (side == 1 and base[1] > 0):
            return None
        return self.rate * base[0], self.rate * base[1]


@dataclass(frozen=True, slots=True)
class FixedSizeSampled(Sampled):
    """All of `base` on one shared sample of fixed size, under change-one.

    Balle, Barthe & Gaboardi 2018 (arXiv:1807.01647), Theorem 9; composed as the pair of that profile.
    """

    kind: ClassVar[str] = "fixed_size_sampled"
    neighbors: ClassVar[NeighborRelation] = NeighborRelation.CHANGE_ONE

    def losses(self) -> tuple[Loss, Loss]:
        """One symmetric loss."""
        from discreet.privacy.numerics.envelope import EnvelopedLoss, sampled_envelope
        from discreet.privacy.numerics.losses.sampled import fixed_size_loss, promising

        base, rate, rho = _base_losses(self.base), as_float(self.rate), self.rho()
        far = sampled_envelope(*base, rate)
        # a far Gaussian's formula for single use is one for Poisson samples: here the whole mechanism stands for it
        loss = EnvelopedLoss(far[0].whole, endless=far[0].endless) if far else fixed_size_loss(*base, rate)
        return promising((loss, loss), None if rho is None else float_up(rho), rate)

    def infinite(self, side: int) -> tuple[Fraction, Fraction] | None:
        """The rate times the base's, in its worse direction: what the theorem's profile tends to."""
        del side
        sides = [leak_of(self.base.terms, way) for way in (0, 1)]
        known = [chances for chances in sides if chances is not None]
        if len(known) < len(sides):
            return None
        return self.rate * max(low for low, _ in known), self.rate * max(high for _, high in known)


def _base_losses(base: Curve) -> tuple[Loss, Loss]:
    """Return the losses of the base: a single part's own, or those of the composition as one."""
    if len(base.terms) == 1 and base.terms[0][1] == 1:
        return pair_of(base.terms[0][0])
    from discreet.privacy.numerics.composed import composed_pair
    from discreet.privacy.numerics.envelope import coarse_pair
    from discreet.privacy.numerics.losses.product import single_loss

    rho, directions = rho_of(base.terms), base.directions()
    singles = [loss for direction in directions if (loss := single_loss(direction)) is not None]
    if len(singles) == len(directions):
        return singles[0], singles[-1]
    return coarse_pair(None if rho is None else float_up(rho), [directions]) or composed_pair(*directions)


def subsample(curve: Curve, rate: Number, scheme: Scheme | None = None) -> Curve:
    """Return the curve of running everything in `curve` on one shared sample.

    >>> from discreet import privacy as p
    >>> round(p.pure(epsilon=1).subsample("0.01").epsilon(delta=0), 6)
    0.017037
    """
    share = read_probability(rate, "rate")
    if scheme is not None:
        require_kind(scheme, Scheme, "scheme")
    relation = curve.neighbors.relation
    changes = relation is not NeighborRelation.ADD_REMOVE
    chosen = scheme if scheme is not None else (Scheme.FIXED_SIZE if changes else Scheme.POISSON)
    wanted = NeighborRelation.CHANGE_ONE if chosen is Scheme.FIXED_SIZE else NeighborRelation.ADD_REMOVE
    if (chosen is Scheme.FIXED_SIZE) != changes or relation is NeighborRelation.CHANGE_ONE_ORDERED:
        msg = (
            f"a {chosen.value} sample has a proved bound for {wanted.value} neighbors, and this curve is for "
            f"{curve.neighbors.value}. Build the curve with neighbors=NeighborRelation.{wanted.name}, "
            "and its sensitivity for that relation."
        )
        raise ParameterError(msg)
    if share == 1 or not curve.terms:
        return curve
    if share == 0:
        return Curve((), curve.neighbors, curve.sampling_error)
    # the noise is drawn for every sample, with the unit or without, so the sampler's error is not amplified
    base, error = replace(curve, sampling_error=Fraction(0)), curve.sampling_error
    part: Part = PoissonSampled(base, share) if chosen is Scheme.POISSON else FixedSizeSampled(base, share)
    return Curve(((part, 1),), curve.neighbors, error)


OPERATIONS["subsample"] = subsample
