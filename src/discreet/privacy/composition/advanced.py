"""Advanced composition, with its second term."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.exact.rational import as_text, read_delta, require_kind
from discreet.privacy.currencies import Approximate
from discreet.privacy.enclosures import enclose, exp, log, round_up

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["advanced"]


def advanced(promise: Approximate, count: int, slack: Number) -> Approximate:
    """Return epsilon * sqrt(2 k ln(1/slack)) + k * epsilon * (e^epsilon - 1), with delta k * delta + slack.

    Dwork, Rothblum & Vadhan 2010 (doi:10.1109/FOCS.2010.12), in the form of Dwork & Roth 2014
    (doi:10.1561/0400000042), Theorem 3.20. Without the second term the formula is false: 50 compositions of
    epsilon = 0.5 already exceed it.

    >>> promise = advanced(Approximate("0.1"), count=100, slack=1e-5)
    >>> float(promise.epsilon)
    5.8502350929445575
    """
    require_kind(promise, Approximate, "promise")
    k = integer(count, name="count", least=1)
    part = read_delta(slack, "slack")
    if part == 0:
        msg = "slack is 0; advanced composition needs a slack above 0. Without one, basic composition holds."
        raise ParameterError(msg)
    if promise.epsilon > 100:
        msg = f"epsilon is {as_text(promise.epsilon)}; above 100 advanced composition says less than basic composition."
        raise ParameterError(msg)
    root = log(1 / part).scaled(Fraction(2 * k)).sqrt().scaled(promise.epsilon)
    drift = (exp(promise.epsilon) - enclose(1)).scaled(k * promise.epsilon)
    delta = k * promise.delta + part
    if delta >= 1:
        msg = f"the deltas sum to {as_text(delta)}; from 1 on nothing is promised. Use smaller deltas."
        raise ParameterError(msg)
    return Approximate(round_up(root + drift), delta, neighbors=promise.neighbors)
