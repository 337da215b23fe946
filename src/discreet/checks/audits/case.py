"""Whatever promises and releases, with the two neighbors that press it hardest, and what an audit looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from discreet.checks.audits.black_box import audit_releases
from discreet.checks.audits.enumerated import audit_exactly
from discreet.errors import ParameterError
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.checks.audits.enumerated import ExactAudit
    from discreet.checks.audits.result import Audit
    from discreet.exact import Number
    from discreet.privacy import Curve

    Draw: TypeAlias = Callable[[Any, Any, int, BitSource], NDArray[Any]]

__all__ = ["Auditable", "Case", "everything", "in_cells", "looking_at", "one_by_one", "shown_in_cells", "summed"]


class Auditable(Protocol):
    """Anything with a promise and a release: a mechanism, several together, a method of one's own.

    >>> from discreet.mechanisms import Count, Together
    >>> audited: Auditable = Together({"rows": Count(epsilon=1)})
    """

    @property
    def privacy(self) -> Curve:
        """What one release promises."""

    def release(self, value: Any, *, bits: BitSource = SYSTEM) -> Any:  # noqa: ANN401  whatever has a value
        """Return an object whose `value` was made private."""


def one_by_one(mechanism: Auditable, value: object, count: int, bits: BitSource) -> NDArray[Any]:
    """Release so often; what is no number becomes text, and no answer becomes nan.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> one_by_one(DiscreteLaplace(sensitivity=1, epsilon=1), 5, 3, SYSTEM).shape
    (3,)
    """
    answers = [mechanism.release(value, bits=bits).value for _ in range(count)]
    if all(answer is None or isinstance(answer, int | float | np.number) for answer in answers):
        return np.array([np.nan if answer is None else answer for answer in answers])
    return np.array([str(answer) for answer in answers])


def looking_at(seen: Callable[[Any], object]) -> Draw:
    """Release so often and look at this of each release.

    >>> from discreet.mechanisms import Count
    >>> looking_at(lambda release: int(release.value) // 7)(Count(epsilon=100), [7] * 14, 2, SYSTEM).tolist()
    [2, 2]
    """
    return lambda mechanism, value, count, bits: np.array(
        [seen(mechanism.release(value, bits=bits)) for _ in range(count)]
    )


everything = looking_at(lambda release: f"{release.value} {dict(release.details)}")
"""All that is released, written as text: the value and the details that were paid for."""

summed = looking_at(lambda release: np.sum(release.value))
"""The sum of coordinates: all that is seen of neighbors that move all of them alike."""


def in_cells(edges: Sequence[float], seen: Callable[[Any], float] = float) -> Draw:
    """Release so often and tell how many of the rising edges lie below each number, or below what is seen of it.

    >>> from discreet.mechanisms import Count
    >>> in_cells([0.5, 1.5])(Count(epsilon=100), [7], 2, SYSTEM).tolist()
    [1, 1]
    """
    return looking_at(lambda release: np.searchsorted(np.array(edges), seen(release.value), side="right"))


def shown_in_cells(edges: Sequence[float], seen: Callable[[Any], float] = float) -> Draw:
    """As `in_cells`, as texts, and None where no answer is shown.

    >>> from discreet.mechanisms import StableValue
    >>> shown_in_cells([0.5])(StableValue(epsilon=1, delta="1e-6"), (1, 100), 2, SYSTEM).tolist()
    ['1', '1']
    """
    return looking_at(
        lambda release: str(None if release.value is None else np.searchsorted(edges, seen(release.value), "right"))
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism, or anything else that promises and releases, on two inputs that neighbors could give it.

    They are as far apart as it allows. Audits, laws and pictures run over these.

    `draw` makes many independent releases on one input and returns one number or text for each. What it shows of a
    vector or a list is up to the case: looking at less can only hide a loss, so what is refuted stays refuted. `law`
    writes the output law on one input out, independently of the mechanism's own code. The claim is kept beside the
    mechanism, so that another mechanism can be put into its place and held to the same claim.

    >>> from discreet.checks.audits import cases
    >>> case = cases()["discrete_laplace"][0]
    >>> case.audit(draws=2000, confidence="0.999999999").refuted, case.audit_exactly().refuted
    (False, False)
    """

    name: str
    mechanism: Auditable
    first: Any
    second: Any
    draw: Draw = one_by_one
    delta: Number = 0
    draws: int = 1_000
    law: Callable[[Any, Any], Mapping[Any, float | Fraction]] | None = None
    tight: bool = False
    """Whether the claim is as small as these two laws let it be, so that the exact audit must find no gap."""
    coarse: bool = False
    """Whether draws and law are of a part of what is released, or of cells of it: enough to audit, not to be shown."""
    also: tuple[Any, ...] = ()
    """Inputs besides the two on which releases must follow the law: where it shows how wide the noise is."""
    claim: Curve = field(default=None)  # type: ignore[assignment]  # filled in from the mechanism

    def __post_init__(self) -> None:
        """Take the mechanism's own promise unless another is given."""
        if self.claim is None:
            object.__setattr__(self, "claim", self.mechanism.privacy)

    def audit(self, *, draws: int | None = None, confidence: Number = "0.95", bits: BitSource = SYSTEM) -> Audit:
        """Attack the claim with releases on both inputs.

        >>> from discreet.checks.audits import cases
        >>> cases()["laplace"][0].audit(draws=2000, confidence="0.999999999").refuted
        False
        """
        return audit_releases(
            lambda count, source: self.draw(self.mechanism, self.first, count, source),
            lambda count, source: self.draw(self.mechanism, self.second, count, source),
            claim=self.claim,
            delta=self.delta,
            draws=self.draws if draws is None else draws,
            confidence=confidence,
            name=self.name,
            bits=bits,
        )

    def audit_exactly(self) -> ExactAudit:
        """Hold the claim against both output laws.

        >>> from discreet.checks.audits import cases
        >>> audited = cases()["discrete_laplace"][0].audit_exactly()
        >>> audited.excess <= 1e-12, audited.gap <= 1e-12
        (True, True)
        """
        if self.law is None:
            msg = f"the case {self.name!r} has no written law; use .audit(), which needs releases alone."
            raise ParameterError(msg)
        laws = self.law(self.mechanism, self.first), self.law(self.mechanism, self.second)
        return audit_exactly(*laws, claim=self.claim)
