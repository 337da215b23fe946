"""False discovery control: which of many p-values to call discoveries, all at once or one after the other.

These compute with p-values that may be seen: public ones, or those of private tests, whose price was paid before. For
p-values of private data there is `Paprika`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BudgetError, ParameterError
from discreet.exact import rational, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.exact import Number

__all__ = ["AlphaInvesting", "Lord", "OnlineTesting", "Saffron", "benjamini_hochberg", "read_p_value", "read_target"]


def read_p_value(value: Number) -> float:
    """Read a p-value that may be seen.

    >>> read_p_value(1.5)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: a p-value is 1.5; it is a probability: give a number from 0 to 1.
    """
    number = rational(value, name="a p-value")
    if not 0 <= number <= 1:
        msg = f"a p-value is {shown(value)}; it is a probability: give a number from 0 to 1."
        raise ParameterError(msg)
    return float(number)


def read_target(target: Number) -> float:
    """Read the share of discoveries that may be false.

    >>> read_target("0.05")
    0.05
    """
    number = rational(target, name="target")
    if not 0 < number < 1:
        msg = f"target is {shown(target)}; the share of false discoveries lies strictly between 0 and 1, such as 0.05."
        raise ParameterError(msg)
    return float(number)


def benjamini_hochberg(p_values: Iterable[Number], *, target: Number = 0.05) -> tuple[bool, ...]:
    """Tell which of these p-values are discoveries: those up to the k-th smallest, k = max{i : p_(i) <= i target / m}.

    The step-up procedure of Benjamini & Hochberg 1995. If the p-values of true nulls are independent of each other and
    of the rest, the expected share of false discoveries is at most target times the share of true nulls.

    >>> benjamini_hochberg([0.01, 0.9, 0.03, 0.04], target="0.06")
    (True, False, True, True)
    """
    values = np.array([read_p_value(value) for value in p_values])
    level, count = read_target(target), len(values)
    ordered = np.sort(values)
    fitting = np.flatnonzero(ordered <= level * np.arange(1, count + 1) / count) if count else np.array([])
    bar = ordered[fitting[-1]] if fitting.size else -1.0
    return tuple(bool(found) for found in values <= bar)


class OnlineTesting(ABC):
    """A rule that sets the level of the next test from the decisions so far, and decides at once.

    With W discoveries so far its levels add up to at most target * max(1, W), each rule in a sense of its own. So the
    expected number of false discoveries is at most target times the expected number of discoveries or 1 (mFDR), if each
    null p-value is uniform or larger given the past; and if null p-values are independent, so that no early discovery
    makes a later one less likely, the expected share of false discoveries is at most the target (FDR).

    >>> rule = Lord(target="0.05")
    >>> rule.test(1e-6), rule.test(0.5), rule.discoveries
    (True, False, 1)
    """

    def __init__(self, target: Number = 0.05, *, wealth: Number | None = None) -> None:
        self.target = read_target(target)
        self.wealth = self.target / 2 if wealth is None else float(rational(wealth, name="wealth"))
        if not 0 < self.wealth <= self.target:
            msg = f"wealth is {shown(wealth)}; what a rule begins with is above 0 and at most target, {self.target:g}."
            raise ParameterError(msg)
        self.tested = 0
        self.found: list[int] = []
        """The places of the discoveries, from 1."""

    @property
    def discoveries(self) -> int:
        """How many there are so far."""
        return len(self.found)

    @property
    @abstractmethod
    def level(self) -> float:
        """At most this large a p-value is a discovery, if it comes next."""

    def test(self, p_value: Number) -> bool:
        """Tell whether a p-value is a discovery, and go on."""
        value = read_p_value(p_value)
        found = value <= self.level
        self.note(found=found, candidate=self._is_candidate(value))
        return found

    def note(self, *, found: bool, candidate: bool = False) -> None:
        """Go on after a decision that was made elsewhere by this level."""
        del candidate
        self.tested += 1
        if found:
            self.found.append(self.tested)

    def _is_candidate(self, value: float) -> bool:
        del value
        return False

    def _earned(self, gammas: NDArray[np.float64]) -> float:
        """Weigh the shares of the first stretch and of the stretch after each discovery by what each earned."""
        weights = np.full(len(gammas), self.target)
        weights[0] = self.wealth
        if len(gammas) > 1:
            weights[1] = self.target - self.wealth
        return float(weights @ gammas)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(target={self.target:g}; {self.discoveries} of {self.tested} found)"


class Lord(OnlineTesting):
    r"""Spend the wealth on levels that fall with the time since each discovery (LORD++).

    Level t is $w_0\gamma_t + (\alpha - w_0)\gamma_{t-\tau_1} + \alpha\sum_{j\ge2}\gamma_{t-\tau_j}$, discoveries at
    $\tau_j$, and $\gamma_j \propto \ln(\max(j, 2)) / (j e^{\sqrt{\ln j}})$, which adds up to at most 1 (Javanmard &
    Montanari 2018; Ramdas, Yang, Wainwright & Jordan 2017, arXiv:1710.00499).

    >>> rule = Lord(target="0.05", wealth="0.005")
    >>> round(rule.level, 6)
    0.000268
    """

    @property
    def level(self) -> float:
        """At most this large a p-value is a discovery, if it comes next."""
        since = self.tested + 1 - np.array([0, *self.found], dtype=np.float64)
        gammas = 0.07720838 * np.log(np.maximum(since, 2)) / (since * np.exp(np.sqrt(np.log(since))))
        return self._earned(gammas)


class Saffron(OnlineTesting):
    r"""Spend wealth only where a p-value is no candidate for a discovery: it estimates the share of true nulls.

    Level t is at most λ and $(1-\lambda)(w_0\gamma_{t-C_0} + (\alpha-w_0)\gamma_{t-\tau_1-C_1} +
    \alpha\sum_{j\ge2}\gamma_{t-\tau_j-C_j})$, where $C_j$ counts the candidates, p-values up to λ, after discovery j,
    and $\gamma_j \propto j^{-1.6}$ (Ramdas, Zrnic, Wainwright & Jordan 2018, arXiv:1802.09098).

    With `candidate=None` candidates are the discoveries alone, λ is each test's own level, and it is s / (1 + s) for
    the sum s of the shares: the alpha-investing form, in which nothing but the decisions bears on later levels.

    >>> rule = Saffron(target="0.05", wealth="0.025")
    >>> round(rule.level, 6), round(Saffron(target="0.05", candidate=None).level, 6)
    (0.005469, 0.010819)
    """

    def __init__(
        self,
        target: Number = 0.05,
        *,
        wealth: Number | None = None,
        candidate: Number | None = "1/2",
        power: Number = "1.6",
    ) -> None:
        super().__init__(target, wealth=wealth)
        self.candidate = None if candidate is None else float(rational(candidate, name="candidate"))
        if self.candidate is not None and not 0 < self.candidate < 1:
            msg = f"candidate is {shown(candidate)}; p-values up to it count as candidates: between 0 and 1, or None."
            raise ParameterError(msg)
        self.power = float(rational(power, name="power"))
        if not 1 < self.power <= 8:
            msg = f"power is {shown(power)}; shares that fall as 1/j^power add up to 1 for powers above 1, up to 8."
            raise ParameterError(msg)
        self._first = _share_of_first(self.power)
        self._candidates = [0]
        """How many candidates came after the start, and after each discovery."""

    @property
    def level(self) -> float:
        """At most this large a p-value is a discovery, if it comes next."""
        since = self.tested + 1 - np.array([0, *self.found]) - np.array(self._candidates)
        shares = self._earned(self._first * since.astype(np.float64) ** -self.power)
        if self.candidate is None:
            return shares / (1 + shares)
        return min(self.candidate, (1 - self.candidate) * shares)

    def note(self, *, found: bool, candidate: bool = False) -> None:
        """Go on after a decision that was made elsewhere by this level."""
        super().note(found=found)
        counts = found if self.candidate is None else candidate
        self._candidates = [count + counts for count in self._candidates]
        if found:
            self._candidates.append(0)

    def _is_candidate(self, value: float) -> bool:
        return self.candidate is not None and value <= self.candidate


class AlphaInvesting(OnlineTesting):
    r"""Pay for each test, and earn with each discovery: at what level and price is up to the analyst.

    A test at level a for a price φ takes φ; a discovery brings $\min(\varphi + b, \varphi/a + b - 1)$, where b is the
    target, and the target less the first wealth for the first discovery (generalized alpha-investing: Aharoni & Rosset
    2014; with this b: Ramdas, Yang, Wainwright & Jordan 2017, arXiv:1710.00499). Unless they are given, the
    price is a tenth of the wealth, and the level φ / (1 + φ), for which a discovery brings back the price and b (Foster
    & Stine 2008).

    >>> rule = AlphaInvesting(target="0.05")
    >>> rule.test(0.001), round(rule.left, 4), rule.test(0.5), round(rule.left, 4)
    (True, 0.05, False, 0.045)
    >>> rule.test(0.2, level="0.01", price="0.02"), round(rule.left, 4)
    (False, 0.025)
    """

    def __init__(self, target: Number = 0.05, *, wealth: Number | None = None, share: Number = "0.1") -> None:
        super().__init__(target, wealth=wealth)
        self.share = float(rational(share, name="share"))
        if not 0 < self.share <= 1:
            msg = f"share is {shown(share)}; a test costs a share of the wealth: above 0, at most 1."
            raise ParameterError(msg)
        self.left = self.wealth
        """The wealth that is left."""

    @property
    def level(self) -> float:
        """At most this large a p-value is a discovery, if it comes next."""
        price = self.share * self.left
        return price / (1 + price)

    def test(self, p_value: Number, *, level: Number | None = None, price: Number | None = None) -> bool:
        """Tell whether a p-value is a discovery, and go on; a level chosen here may depend on all decisions so far."""
        value = read_p_value(p_value)
        bar = self.level if level is None else read_p_value(level)
        usual = bar / (1 - bar) if bar < 1 else np.inf
        paid = float(usual) if price is None else float(rational(price, name="price"))
        if not 0 < paid <= self.left:
            msg = f"a test for {paid:.4g} does not fit: {self.left:.4g} of the wealth is left. Choose a lower level."
            raise BudgetError(msg)
        earned = self.target - (0 if self.found else self.wealth)
        reward = min(paid + earned, paid / bar + earned - 1) if bar else 0.0
        if reward < 0:
            msg = f"price is {shown(price)} for a level of {bar:.4g}; a discovery would cost more. Pay {usual:.4g}."
            raise ParameterError(msg)
        found = value <= bar
        self.left += reward * found - paid
        self.note(found=found)
        return found


def _share_of_first(power: float) -> float:
    """Return 1 / ζ(power), by which shares that fall as 1 / j**power add up to 1."""
    from scipy.special import zeta

    return 1 / float(zeta(power))
