"""Promises to groups of units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import float_up, integer, shown
from discreet.exact.rational import require_kind
from discreet.privacy.curve import Curve, compose
from discreet.privacy.part import OPERATIONS, Part, pair_of, require_whole

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.privacy.numerics.losses.loss import Loss
    from discreet.privacy.relations import Unit

__all__ = ["GroupedPair", "group"]

LONGEST_CHAIN = 1000
"""The most units of a group whose chain is summed term by term."""


@dataclass(frozen=True, slots=True)
class GroupedPair(Part):
    """One mechanism, for a chain of `size` neighbors.

    Chaining the definition: with y = exp(epsilon), D_k(y^k) <= (1 + y + ... + y^(k-1)) D(y).
    """

    kind: ClassVar[str] = "grouped"

    base: Curve
    size: int

    def check(self) -> None:
        """A curve of one mechanism, and a chain that is not too long to be summed."""
        base = require_kind(self.base, Curve, "base")
        if len(base.terms) != 1 or base.terms[0][1] != 1 or base.sampling_error:
            msg = f"base is {base!r}; a group's profile is chained for one mechanism at a time."
            raise ParameterError(msg)
        require_whole(self.size, "size", least=2)
        if self.size > LONGEST_CHAIN:
            msg = (
                f"size is {shown(self.size)}; {base.terms[0][0].kind} has no formula for groups, and chains are summed "
                f"up to {LONGEST_CHAIN} units. Noise with a sensitivity covers groups of any size."
            )
            raise ParameterError(msg)

    def losses(self) -> tuple[Loss, Loss]:
        """Raise the base's profile."""
        from discreet.privacy.numerics.envelope import group_envelope
        from discreet.privacy.numerics.losses.grouped import grouped_pair
        from discreet.privacy.numerics.losses.mixture import mixture_pair
        from discreet.privacy.numerics.losses.sampled import promising

        exact, pair = self.rho(), pair_of(self.base.terms[0][0])
        rho = None if exact is None else float_up(exact)
        mixed = mixture_pair(*pair, self.size)
        if mixed is not None:
            return promising(mixed, rho)
        return group_envelope(rho, *pair, self.size) or promising(grouped_pair(*pair, self.size), rho)

    def rho(self) -> Fraction | None:
        """size^2 rho (Bun & Steinke 2016, group privacy)."""
        rho = self.base.terms[0][0].rho()
        return None if rho is None else rho * self.size**2


def group(curve: Curve, size: int, unit: Unit | None = None) -> Curve:
    """Return the curve for neighbors that differ in up to `size` units, or in one that holds at most `size` of them.

    Noise with a sensitivity gets `size` times the sensitivity; other mechanisms chain their own profile.

    >>> from discreet import privacy as p
    >>> p.gaussian(sigma=2).group(2).neighbors.value
    'add_remove*2'
    """
    number = integer(size, name="size", least=1)
    relation = curve.neighbors.group(number, unit)
    if number == 1:
        return replace(curve, neighbors=relation)
    terms: list[tuple[Part, int]] = []
    for part, count in curve.terms:
        single = Curve(((part, 1),), curve.neighbors)
        terms.append((part.grouped(number) or GroupedPair(single, number), count))
    # both ends of the chain are within the error of their ideal laws, whatever lies between them
    return compose(tuple(terms), relation, curve.sampling_error)


OPERATIONS["group"] = group
