"""Pictures of audits (needs the extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.checks.audits.result import Audit
    from discreet.privacy import Curve

__all__ = ["draw_audit", "draw_claim"]

POINTS = 40


def draw_claim(claim: Curve, axes: Axes | None = None) -> Axes:
    """Draw the largest true positive rate that a claim allows at each false positive rate.

    >>> import discreet.privacy as p
    >>> draw_claim(p.pure(epsilon=1)).get_xlabel()
    'false positive rate'
    """
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure().subplots()
    places = [i / POINTS for i in range(POINTS + 1)]
    axes.plot(places, [1 - claim.tradeoff(place) for place in places], label="allowed by the claim")
    axes.plot(places, places, linestyle=":", color="gray", label="guessing")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")
    axes.legend(loc="lower right")
    return axes


def draw_audit(audit: Audit, axes: Axes | None = None) -> Axes:
    """Draw what a claim allows, how often the counted event was seen, and the bounds on its two chances.

    >>> import discreet.privacy as p
    >>> from discreet.checks.audits import audit
    >>> same = lambda count, bits: [0] * count
    >>> len(draw_audit(audit(same, same, claim=p.pure(epsilon=1))).lines)
    4
    """
    axes = draw_claim(audit.claim, axes)
    top, bottom = audit.bounds
    if any(audit.hits):
        axes.plot([audit.hits[1] / audit.draws], [audit.hits[0] / audit.draws], marker=".", linestyle="", label="seen")
    axes.plot([bottom], [top], marker="x" if audit.refuted else "o", linestyle="", label="proven")
    axes.legend(loc="lower right")
    return axes
