"""Composition of zero-concentrated differential privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.exact.rational import read_delta, require_kind
from discreet.privacy.convert import convert
from discreet.privacy.currencies import ZCDP, Approximate
from discreet.privacy.enclosures import enclose, log, round_up

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["concentrated", "concentrated_simple"]


def concentrated(promise: ZCDP, count: int, delta: Number) -> Approximate:
    """Add the rhos and convert once, at the best order.

    Bun & Steinke 2016 (arXiv:1605.02065), Lemma 1.7; conversion by Canonne, Kamath & Steinke 2020 (arXiv:2004.00010),
    Corollary 13.

    >>> float(concentrated(ZCDP("0.005"), count=100, delta=1e-6).epsilon)
    5.22153444453017
    """
    return convert(require_kind(promise, ZCDP, "promise") * count, to=Approximate, delta=delta)


def concentrated_simple(promise: ZCDP, count: int, delta: Number) -> Approximate:
    """Add the rhos and use rho + 2 sqrt(rho ln(1/delta)).

    Bun & Steinke 2016 (arXiv:1605.02065), Proposition 1.3: the form that fits on a line; `concentrated` is sharper.

    >>> float(concentrated_simple(ZCDP("0.005"), count=100, delta=1e-6).epsilon)
    5.756521769756932
    """
    total = require_kind(promise, ZCDP, "promise") * count
    asked = read_delta(delta)
    if asked == 0 or total.delta:
        msg = f"delta is {shown(delta)} for {promise!r}; this form needs a delta above 0 and a promise without one."
        raise ParameterError(msg)
    root = log(1 / asked).scaled(4 * total.rho).sqrt()
    epsilon = round_up(enclose(total.rho) + root) if total.rho else Fraction(0)
    return Approximate(epsilon, asked, neighbors=promise.neighbors)
