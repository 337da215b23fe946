"""All theorems side by side, for one mechanism and a number of repetitions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, ParameterError
from discreet.exact import float_up, integer, rational
from discreet.exact.rational import cost_text, read_delta, require_kind
from discreet.privacy.composition.advanced import advanced
from discreet.privacy.composition.kairouz import kairouz
from discreet.privacy.convert import DEFAULT_ORDERS, convert
from discreet.privacy.currencies import RDP, ZCDP, Approximate
from discreet.privacy.curve import MOST_COMPOSITIONS, Curve
from discreet.privacy.enclosures import enclose, log, round_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from matplotlib.axes import Axes

    from discreet.exact import Number

__all__ = ["Comparison", "Row", "compare"]

_SHARES = ("0.5", "0.9", "0.99")  # how much of delta the single mechanisms may use in advance
_WHOLE_ORDERS = range(2, 66)


@dataclass(frozen=True, slots=True)
class Row:
    """What one theorem gives, or why it gives nothing.

    >>> Row("basic", 1.0, "Dwork et al. 2006").epsilon
    1.0
    """

    name: str
    epsilon: float | None
    source: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of `compare`; prints as a table.

    >>> from discreet import privacy as p
    >>> [row.name for row in compare(p.laplace(scale=10), 10, 1e-6).rows][:2]
    ['basic', 'advanced']
    """

    count: int
    delta: float
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines = [f"epsilon of {self.count:,} compositions at delta = {self.delta:g}"]
        for row in self.rows:
            shown = "none" if row.epsilon is None else cost_text(row.epsilon, 6)
            lines.append(f"{row.name:<{width}} {shown:>12}  {row.reason or row.source}")
        return "\n".join(lines)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the epsilons as bars; needs the extra `plot`.

        >>> import matplotlib
        >>> matplotlib.use("svg")
        >>> from discreet import privacy as p
        >>> len(compare(p.laplace(scale=10), 10, 1e-6).plot().patches) >= 4
        True
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure(figsize=(7.2, 3.2), layout="constrained").subplots()
        known = [(row.name, row.epsilon) for row in self.rows if row.epsilon is not None]
        names, values = [name for name, _ in known], [float(cost_text(value, 4)) for _, value in known]
        bars = axes.barh(names[::-1], values[::-1], color="#4c78a8")
        axes.bar_label(bars, fmt="{:,.4g}", padding=3)
        axes.set_xscale("log")
        axes.margins(x=0.15)
        axes.set_xlabel(f"epsilon of {self.count:,} compositions at delta = {self.delta:g} (logarithmic)")
        axes.spines[["top", "right"]].set_visible(False)
        return axes


def compare(mechanism: Curve, n: int, delta: Number) -> Comparison:
    """Compose a mechanism n times by every theorem and set the epsilons side by side.

    Theorems about (epsilon, delta) start from the mechanism's own curve at a share of delta / n; the best of a few
    shares is shown. The last row is the numerical composition, which no theorem beats.

    >>> from discreet import privacy as p
    >>> table = compare(p.laplace(scale=10), 100, 1e-5)
    >>> {row.name: round(row.epsilon, 2) for row in table.rows if row.epsilon}["basic"]
    10.0
    """
    require_kind(mechanism, Curve, "mechanism")
    count, chance = integer(n, name="n", least=1, most=MOST_COMPOSITIONS), read_delta(delta)
    if chance == 0:
        msg = (
            "delta is 0; most theorems need a delta above 0, such as 1e-6. The exact sum is (mechanism * n).epsilon(0)."
        )
        raise ParameterError(msg)
    rules: list[tuple[str, str, Callable[[Curve, int, Fraction], float]]] = [
        ("basic", "Dwork et al. 2006", _basic),
        ("advanced", "Dwork, Rothblum & Vadhan 2010", _advanced),
        ("optimal for (epsilon, delta)", "Kairouz, Oh & Viswanath 2015", _kairouz),
        ("zCDP", "Bun & Steinke 2016; Canonne et al. 2020", _zcdp),
        ("moments accountant", "Abadi et al. 2016", _moments),
        ("RDP, improved conversion", "Mironov 2017; Canonne et al. 2020", _renyi),
        ("numerical", "this library's curve, certified", _numerical),
    ]
    rows = tuple(_row(name, source, rule, mechanism, count, chance) for name, source, rule in rules)
    return Comparison(count, float_up(chance), rows)


def _row(  # noqa: PLR0913, PLR0917  the line of a table
    name: str,
    source: str,
    rule: Callable[[Curve, int, Fraction], float],
    mechanism: Curve,
    count: int,
    delta: Fraction,
) -> Row:
    """Apply one theorem; where it does not cover the mechanism, keep its sentence."""
    try:
        epsilon = rule(mechanism, count, delta)
    except DiscreetError as error:
        return Row(name, None, source, f"does not apply: {str(error).split(';')[0].split('. ')[0]}")
    if epsilon == math.inf:
        return Row(name, None, source, "does not apply: no finite epsilon at this delta")
    return Row(name, epsilon, source)


def _single(mechanism: Curve, delta: Fraction) -> Approximate:
    """Return the mechanism's own promise at a delta."""
    return convert(mechanism, to=Approximate, delta=delta)


def _basic(mechanism: Curve, count: int, delta: Fraction) -> float:
    single = _single(mechanism, delta / count)
    return float_up(count * single.epsilon)


def _shared(mechanism: Curve, count: int, delta: Fraction) -> list[Approximate]:
    """Return the mechanism's promises at several shares of delta / n, and the pure one if there is one."""
    promises = [_single(mechanism, rational(share, name="share") * delta / count) for share in _SHARES]
    if mechanism.epsilon(0) < math.inf:
        promises.append(_single(mechanism, delta * 0))
    return promises


def _advanced(mechanism: Curve, count: int, delta: Fraction) -> float:
    singles = [single for single in _shared(mechanism, count, delta) if single.epsilon <= 100]
    if not singles:
        msg = "epsilon of a single mechanism is above 100, where basic composition is smaller"
        raise ParameterError(msg)
    return float_up(min(advanced(single, count, delta - count * single.delta).epsilon for single in singles))


def _kairouz(mechanism: Curve, count: int, delta: Fraction) -> float:
    return float_up(min(kairouz(single, count, delta).epsilon for single in _shared(mechanism, count, delta)))


def _zcdp(mechanism: Curve, count: int, delta: Fraction) -> float:
    return float_up(convert(convert(mechanism, to=ZCDP) * count, to=Approximate, delta=delta).epsilon)


def _renyi(mechanism: Curve, count: int, delta: Fraction) -> float:
    promise = convert(mechanism, to=RDP, orders=DEFAULT_ORDERS)
    return float_up(convert(promise * count, to=Approximate, delta=delta).epsilon)


def _moments(mechanism: Curve, count: int, delta: Fraction) -> float:
    """Abadi et al. 2016, Theorem 2: whole orders, epsilon = v + ln(1/delta) / (order - 1)."""
    promise = convert(mechanism, to=RDP, orders=list(_WHOLE_ORDERS))
    cost = log(1 / delta)
    bounds = [
        round_up(enclose(count * value) + cost.scaled(1 / (order - 1)))
        for order, value in zip(promise.orders, promise.values, strict=True)
    ]
    return float_up(min(bounds))


def _numerical(mechanism: Curve, count: int, delta: Fraction) -> float:
    return (mechanism * count).epsilon(delta)
