"""Discoveries among p-values of private data, one after the other: privacy and few false ones at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.exact.rational import read_choice, read_delta
from discreet.ledgers import Session
from discreet.mechanisms import AboveThreshold, Release
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import movers, promise_in_words
from discreet.methods.adaptive.discoveries import Lord, OnlineTesting, Saffron, read_target
from discreet.methods.adaptive.kept import Barred, read_name
from discreet.methods.adaptive.multiplicative import MultiplicativeSensitivity
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import Approximate, NeighborRelation, Pure, curves

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self, SupportsIndex

    from discreet.exact import Grid, Number
    from discreet.ledgers import Entry, Ledger
    from discreet.mechanisms.adding.grids import Inputs
    from discreet.methods.adaptive.multiplicative import DeclaredTest
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Levels", "Paprika", "PaprikaSession"]

Tested: TypeAlias = Callable[[Session], float]
"""Computes a p-value; it gets the session that has paid, with which rows on loan can be read."""


class Levels(Enum):
    """By which rule the levels of tests follow from the decisions so far.

    >>> Levels("lord")
    <Levels.LORD: 'lord'>
    """

    INVESTING = "investing"
    """`Saffron` with discoveries as its only candidates: what is spent on a discovery comes back."""
    LORD = "lord"
    """`Lord`."""


@register
@dataclass(frozen=True, slots=True, init=False)
class Paprika:
    r"""Tell of one p-value of private data after another whether it is a discovery, until so many were.

    Every p-value comes with a declared multiplicative sensitivity (η, nu): $\ell = \ln\max(p, \nu)$ moves by at most η.

    Privacy. Between two discoveries runs one `AboveThreshold`: the value is $x_t - \ell_t$, where $x_t$ depends on the
    decisions so far alone, and a value above a noisy 0 is a discovery. That is $\varepsilon_0$-differentially private
    with noise Lap(η/ε₁) on the threshold and Lap(2η/ε₂) on a value, ε₁ + ε₂ = ε₀, however many tests bring no
    discovery; c discoveries cost $c\varepsilon_0$, or by composition (ε, δ) if `delta` is given. The idea is that of
    Zhang, Kamath & Cummings 2021 (arXiv:2002.12321), whose levels come from SAFFRON with candidates that depend on the
    p-values themselves; here nothing but the noisy decisions bears on later levels, so that δ may be 0.

    False discoveries. A p-value that is uniform or larger passes a noisy bar with chance at most $G(x) = E[\min(1,
    e^V);\; V \ge \ln\nu]$, $V = x + Z_1 - Z_2$ for the two noises. A bar that was not passed so far is stochastically
    harder to pass than a fresh one, and after each discovery a fresh one is drawn. So with $G(x_t)\le\alpha_t$ each
    null is called a discovery with chance at most $\alpha_t$ given the past, which is what `OnlineTesting` needs: of
    independent tests at most the share `target` of discoveries is false on average. `x_t` makes up for the noise;
    nothing is added to the target for it.

    >>> declared = MultiplicativeSensitivity("0.3", "1e-6")
    >>> Paprika(declared, epsilon=5, discoveries=5, target="0.05").promise
    'ε = 5'
    """

    kind: ClassVar[str] = "paprika"
    accuracy: ClassVar[str] = ""
    no_error_because: ClassVar[str] = (
        "it is a decision: a null becomes a discovery with a chance of at most its level, the noise included."
    )

    sensitivity: MultiplicativeSensitivity
    epsilon: Fraction
    delta: Fraction
    discoveries: int
    target: Fraction
    wealth: Fraction
    levels: Levels
    run: AboveThreshold

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        sensitivity: MultiplicativeSensitivity,
        *,
        epsilon: Number,
        discoveries: SupportsIndex,
        delta: Number = 0,
        target: Number = "0.05",
        wealth: Number | None = None,
        levels: Levels | str = Levels.INVESTING,
        grid: Grid | Number | None = None,
        inputs: Inputs | str = "raw",
    ) -> None:
        if not isinstance(sensitivity, MultiplicativeSensitivity):
            raise ParameterError(_undeclared(sensitivity))
        price = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        chance = read_delta(delta)
        count = integer(discoveries, name="discoveries", least=1, most=1 << 20)
        share = Fraction(read_target(target)).limit_denominator(10**9)
        first = share / 2 if wealth is None else rational(wealth, name="wealth")
        rule = read_choice(Levels, levels, "levels")
        assign(self, sensitivity=sensitivity, epsilon=price, delta=chance, discoveries=count, target=share)
        assign(self, wealth=first, levels=rule)
        run = AboveThreshold(
            0,
            sensitivity=sensitivity.eta,
            epsilon=_part(price, chance, count),
            grid=grid,
            inputs=inputs,
            neighbors=sensitivity.neighbors,
        )
        assign(self, run=run)
        self.rule()  # refuses a wealth beyond the target

    @property
    def neighbors(self) -> Relation:
        """How neighbors differ."""
        return self.sensitivity.neighbors

    @property
    def claim(self) -> Pure | Approximate:
        """Epsilon of all runs, by their sum; with delta by their composition."""
        if self.delta:
            return Approximate(self.epsilon, self.delta, neighbors=self.neighbors)
        return self.run.claim * self.discoveries

    @property
    def privacy(self) -> Curve:
        """The curve of the whole session."""
        return self.run.privacy * self.discoveries

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What it stands on."""
        adds = (
            f"Each discovery ends a run and begins a new one; {self.discoveries} runs compose. "
            "(Zhang, Kamath & Cummings 2021, arXiv:2002.12321, with levels that depend on noisy decisions alone)"
        )
        return (*self.run.argument, adds)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity of every p-value."""
        eta, nu = float(self.sensitivity.eta), float(self.sensitivity.nu)
        because = f" ({self.sensitivity.because})" if self.sensitivity.because else ""
        return (
            f"{movers(self.neighbors)} moves ln max(p, {nu:.3g}) of each p-value by at most {eta:.6g}{because}.",
            "p-values are uniform or larger where there is nothing to discover; outside [0, 1] they count as 1.",
        )

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """Return None: a decision has no ±."""
        del value, details, confidence

    def rule(self) -> OnlineTesting:
        """Return the rule of the levels, before the first test."""
        if self.levels is Levels.LORD:
            return Lord(self.target, wealth=self.wealth)
        return Saffron(self.target, wealth=self.wealth, candidate=None)

    def bar(self, level: float) -> float:
        """Return the x whose comparison a null passes with at most this chance.

        Three steps of the grid are taken off: a discrete Laplace draw is a difference of two rounded exponential draws,
        so it is within a step of a Laplace one, and the value is snapped by half a step.

        >>> promise = Paprika(MultiplicativeSensitivity("0.01", "1e-6"), epsilon=5, discoveries=1)
        >>> math.log(0.01) - 0.01 < promise.bar(0.01) < math.log(0.01)
        True
        """
        first, rest = (float(scale * self.run.grid.step) for scale in self.run.scales)
        return _highest(level, math.log(float(self.sensitivity.nu)), first, rest) - 3 * float(self.run.grid.step)

    def told(self, p_value: float, level: float, bar: int, bits: BitSource) -> bool:
        """Compare one p-value with its level, both with noise."""
        return self.run.is_above(self.bar(level) - self.sensitivity.score(p_value), bar, bits)

    def release(self, value: Iterable[float], *, bits: BitSource = SYSTEM) -> Release[tuple[bool, ...]]:
        """Run through a list of p-values that the caller holds, all of the declared sensitivity.

        >>> promise = Paprika(MultiplicativeSensitivity("0.001", "1e-9"), epsilon=9, discoveries=2)
        >>> promise.release([1e-9, 0.5, 1e-9, 1e-9]).value
        (True, False, True)
        """
        rule, decided = self.rule(), list[bool]()
        bar: int | None = None
        for p_value in value:
            if rule.discoveries == self.discoveries:
                break
            bar = self.run.bar(bits) if bar is None else bar
            found = self.told(p_value, rule.level, bar, bits)
            rule.note(found=found)
            decided.append(found)
            bar = None if found else bar
        return Release(tuple(decided), self)

    def open(self, ledger: Ledger, entry: Entry) -> PaprikaSession:
        """Take the whole price, and begin; or go on with what was begun under this entry's name.

        >>> from discreet.ledgers import Entry, MemoryLedger
        >>> from discreet.methods.adaptive import BinomialTest
        >>> from discreet.tables import Policy
        >>> test = BinomialTest(10_000, nu="1e-12")
        >>> promise = Paprika(test.sensitivity, epsilon=5, discoveries=2)
        >>> ledger = MemoryLedger(Policy([], epsilon=6, neighbors=NeighborRelation.CHANGE_ONE))
        >>> with promise.open(ledger, Entry("wards", ("t",), kind="session")) as session:
        ...     dull = session.test("a", lambda paid: test.p_value(5_000), test)
        ...     clear = session.test("b", lambda paid: test.p_value(5_900), test)
        ...     dull.value, clear.value, session.left
        (False, True, 1)
        """
        return PaprikaSession(self, ledger, entry)

    def record(self) -> dict[str, Any]:
        """Return the parameters as a JSON object."""
        declared = {"eta": str(self.sensitivity.eta), "nu": str(self.sensitivity.nu)}
        declared |= {"neighbors": self.neighbors.value, "because": self.sensitivity.because}
        numbers = {name: str(getattr(self, name)) for name in ("epsilon", "delta", "target", "wealth")}
        rest = {"discoveries": self.discoveries, "levels": self.levels.value}
        place = {"grid": str(self.run.grid.step), "inputs": self.run.inputs.value}
        return {"kind": self.kind, "sensitivity": declared, **numbers, **rest, **place}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        declared = dict(record["sensitivity"])
        relation = NeighborRelation(declared.pop("neighbors"))
        sensitivity = MultiplicativeSensitivity(**declared, neighbors=relation)
        rest = {name: value for name, value in record.items() if name not in {"kind", "sensitivity"}}
        return cls(sensitivity, **rest)


def _part(epsilon: Fraction, delta: Fraction, count: int) -> Fraction:
    """Epsilon of one run: the sum's share, or with delta the most whose composition keeps both."""
    low = epsilon / count
    if not delta or count == 1:
        return low
    high = epsilon
    for _ in range(24):
        middle = Fraction(math.floor((low + high) / 2 * 2**30), 2**30)
        if not low < middle < high:
            break
        kept = (curves.sparse_vector(middle) * count).epsilon(delta) <= epsilon
        low, high = (middle, high) if kept else (low, middle)
    return low


@lru_cache(maxsize=1 << 12)
def _highest(level: float, floor: float, first: float, rest: float) -> float:
    """Return an x up to 0 that a null passes with at most this chance, and hardly less."""
    low, high = -1.0, 0.0
    if passed(high, floor, first, rest) <= level:
        return high
    while passed(low, floor, first, rest) > level:
        low, high = 2 * low, low
    above, below = (math.log(passed(x, floor, first, rest) / level) for x in (high, low))
    for _ in range(200):  # the logarithm is nearly a line: regula falsi, halving what stays above (Illinois)
        if high - low <= 1e-9 * max(1.0, -low):
            break
        x = low + (high - low) * min(0.999, max(0.001, below / (below - above)))
        found = math.log(passed(x, floor, first, rest) / level)
        if found <= 0:
            low, below, above = x, found, above / 2
        else:
            high, above, below = x, found, below / 2
        if below > -1e-6:
            break
    return low


def passed(x: float, floor: float, first: float, rest: float) -> float:
    r"""Return E[min(1, e^V); V >= floor] for V = x + Z1 - Z2 with Laplace noises of these two scales.

    The difference of two Laplace draws of scales a and b has the density $(a e^{-|d|/a} - b e^{-|d|/b}) / (2(a^2 -
    b^2))$. Where e^V is below 1 it is integrated piece by piece.

    >>> round(passed(math.log(0.01), -50.0, 1e-6, 2e-6), 6)
    0.01
    """
    if abs(first - rest) < 1e-6 * rest:
        first *= 1 + 2e-6  # wider, which only makes the chance larger

    def weighed(scale: float) -> float:
        whole = scale * (math.exp(x / scale) if x <= 0 else 2 - math.exp(-x / scale))  # V >= 0: d >= -x
        return whole + _integral(floor - x, -x, scale, x)

    a, b = first, rest
    return (a * weighed(a) - b * weighed(b)) / (2 * (a * a - b * b))


def _integral(low: float, high: float, scale: float, shift: float) -> float:
    """Integrate e^(shift + d - |d| / scale) over d from low to high."""
    total = 0.0
    for start, end, rate in (
        (min(low, 0.0), min(high, 0.0), 1 + 1 / scale),
        (max(low, 0.0), max(high, 0.0), 1 - 1 / scale),
    ):
        if start < end:
            top = shift + max(start * rate, end * rate)
            span = abs(rate) * (end - start)
            total += math.exp(top) * (-math.expm1(-span) / abs(rate) if span > 1e-12 else end - start)
    return total


def _undeclared(given: object) -> str:
    return (
        f"sensitivity is {shown(given)}; a p-value of private data needs a declared multiplicative sensitivity, "
        "because one person may change a p-value by any factor, and the noise hides a factor of e^eta above nu. Take "
        "that of BinomialTest, ComparisonTest or TruncatedExponentialTest, or derive one: "
        "MultiplicativeSensitivity(eta, nu)."
    )


class PaprikaSession(Barred):
    """A run of `Paprika` that a ledger keeps: any number of tests, and so many discoveries.

    >>> PaprikaSession.test.__doc__.splitlines()[0]
    'Tell whether a p-value is a discovery.'
    """

    def __init__(self, promise: Paprika, ledger: Ledger, entry: Entry) -> None:
        super().__init__(promise, promise.run, ledger, entry)
        self.promise = promise
        self._rule = promise.rule()
        for answer in self.answers:
            self._rule.note(found=answer.value is True)

    @property
    def left(self) -> int:
        """How many discoveries it may still tell of."""
        return self.promise.discoveries - self._rule.discoveries

    @property
    def level(self) -> float:
        """At which level the next test is decided."""
        return self._rule.level

    def test(
        self, name: str, p_value: Tested, declared: MultiplicativeSensitivity | DeclaredTest | None = None
    ) -> Release[bool]:
        """Tell whether a p-value is a discovery.

        `declared` is the test that it is of, or its multiplicative sensitivity; at most what the session was opened
        for. What was asked under this name is shown again.
        """
        stated = getattr(declared, "sensitivity", declared)
        if not isinstance(stated, MultiplicativeSensitivity):
            raise ParameterError(_undeclared(declared))
        if not self.promise.sensitivity.covers(stated):
            msg = (
                f"the p-value is declared with {stated!r}, and the session was opened for "
                f"{self.promise.sensitivity!r}: the noise is too little for it. Open one for the larger eta and nu, "
                "and the same neighbors."
            )
            raise ParameterError(msg)
        before = self.find(read_name(name))
        if before is not None:
            return before
        more = f"0 of {self.promise.discoveries} discoveries are left. Open another one, which costs again."
        self.bits(left=self.left, more=more)  # refuses before anything is computed
        exact = p_value(self.session)
        with self._thread_lock:
            before, left, level = self.find(name), self.left, self.level  # others may have asked meanwhile
            if before is not None:
                return before
            bits = self.bits(left=left, more=more)
            bar = self.bar(bits)
            found = self.promise.told(exact, level, bar, bits)
            details = MappingProxyType({"question": name, "level": level, "left": left - found})
            answer = Release(found, self.promise, details)
            kept = self.keep_under(bar, answer, used_up=found, last=found and left == 1)
            self._rule.note(found=found)
        return kept

    def __repr__(self) -> str:
        told = f"{len(self.answers)} tested, {self.left} of {self.promise.discoveries} discoveries left"
        return f"PaprikaSession({self.promise.promise}, {told})"
