"""What an audit found, as a value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy.curve import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.ledgers import Ledger

__all__ = ["Assumed", "Audit", "keep_audit", "read_assumed"]


class Assumed(StrEnum):
    """What the caller vouches for beyond what an audit sees.

    >>> Assumed("gaussian") is Assumed.GAUSSIAN
    True
    """

    NOTHING = "nothing"
    """Nothing: the bound on epsilon holds for every mechanism."""
    GAUSSIAN = "gaussian"
    """That what one unit does to the release is what it does to Gaussian noise of some width. Refuted is then what a
    narrower curve leaves room for, and epsilon is read off that curve: more than can be shown of any mechanism."""


def read_assumed(assuming: Assumed | str) -> Assumed:
    """Read what a caller vouches for.

    >>> read_assumed("gaussian")
    <Assumed.GAUSSIAN: 'gaussian'>
    """
    try:
        return Assumed(assuming)
    except ValueError:
        msg = f"assuming is {shown(assuming)}; it must be one of {', '.join(Assumed)}."
        raise ParameterError(msg) from None


@dataclass(frozen=True, slots=True)
class Audit:
    """The epsilon that counting one event proves, beside the epsilon that was claimed.

    `bounds` are the lower bound on the event's chance under the input where it is likelier and the upper bound under
    the other one; together with those of the other order they hold with the stated confidence. A claim that is not
    refuted is not proven: another pair of neighbors or another event may still refute it.

    >>> import discreet.privacy as p
    >>> from discreet.checks.audits import audit
    >>> from discreet.noise import discrete_laplace
    >>> audit(
    ...     lambda count, bits: discrete_laplace(1, count, bits),
    ...     lambda count, bits: 1 + discrete_laplace(1, count, bits),
    ...     claim=p.pure(epsilon=1), confidence="0.999999999",
    ... ).refuted
    False
    """

    name: str
    claim: Curve
    delta: float
    confidence: float
    claimed: float
    epsilon: float
    refuted: bool
    likelier: str
    event: str
    draws: int
    hits: tuple[int, int]
    bounds: tuple[float, float]
    assumed: Assumed = Assumed.NOTHING

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        title = f"{self.name}: " if self.name else ""
        at = f" at δ = {self.delta:g}" if self.delta else ""
        counted = f"{self.hits[0]:,} against {self.hits[1]:,} of {self.draws:,}"
        seen = f"{self.event}: {counted}" if self.assumed is Assumed.NOTHING else self.event
        return (
            f"{title}{verdict}: ε ≥ {self.epsilon:.3f} with confidence {self.confidence:.9g}, "
            f"claimed {self.claimed:.3f}{at} ({seen})"
        )

    def keep(self, ledger: Ledger) -> str:
        """Write the result into a ledger, beside the claim, at cost 0; give the head of the ledger.

        >>> import discreet.privacy as p
        >>> from discreet.checks.audits import audit
        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.tables import Policy
        >>> ledger, same = MemoryLedger(Policy([], epsilon=1)), lambda count, bits: [0] * count
        >>> _ = audit(same, same, claim=p.pure(epsilon=1), name="a constant").keep(ledger)
        >>> [(line.body["claimed"], line.body["shown"]) for line in ledger.entries(kind="audit")]
        [('1', '0')]
        """
        return keep_audit(ledger, self.name or self.event, self.record(), draws=self.draws)

    def record(self) -> dict[str, Any]:
        """Return the result as a JSON object.

        >>> import discreet.privacy as p
        >>> from discreet.checks.audits import audit
        >>> same = lambda count, bits: [0] * count
        >>> audit(same, same, claim=p.pure(epsilon=1)).record()["epsilon"]
        0.0
        """
        names = [name for name in self.__slots__ if name != "claim"]
        return {**{name: getattr(self, name) for name in names}, "claim": self.claim.record()}

    def to_json(self) -> str:
        """Return the result as JSON; `Audit.from_json` returns an equal result.

        >>> import discreet.privacy as p
        >>> from discreet.checks.audits import audit
        >>> same = lambda count, bits: [0] * count
        >>> audited = audit(same, same, claim=p.pure(epsilon=1))
        >>> Audit.from_json(audited.to_json()) == audited
        True
        """
        record = self.record()
        if record["claimed"] == float("inf"):  # JSON has no infinity
            record["claimed"] = None
        return json.dumps(record, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Audit:
        """Read what `to_json` wrote.

        >>> Audit.from_json("[]")
        Traceback (most recent call last):
        ...
        discreet.errors.ParameterError: this text is no audit; write a JSON object as Audit.to_json does.
        """
        try:
            record = json.loads(text)
            record["claim"] = Curve.from_record(record["claim"])
            record["hits"], record["bounds"] = tuple(record["hits"]), tuple(record["bounds"])
            record["claimed"] = float("inf") if record["claimed"] is None else record["claimed"]
            record["assumed"] = Assumed(record.get("assumed", Assumed.NOTHING))
            return Audit(**record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            msg = "this text is no audit; write a JSON object as Audit.to_json does."
            raise ParameterError(msg) from error

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw what the claim allows a test and where the counted event lies (needs the extra `plot`).

        >>> import discreet.privacy as p
        >>> from discreet.checks.audits import audit
        >>> same = lambda count, bits: [0] * count
        >>> audit(same, same, claim=p.pure(epsilon=1)).plot().get_ylabel()
        'true positive rate'
        """
        from discreet.checks.audits.pictures import draw_audit

        seen = (self.hits[0] / self.draws, self.hits[1] / self.draws) if any(self.hits) else None
        return draw_audit(self.claim, self.bounds, refuted=self.refuted, seen=seen, axes=axes)


def keep_audit(ledger: Ledger, name: str, record: dict[str, Any], **counts: int) -> str:
    """Write what was claimed and what was shown into a ledger; numbers are texts there.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=1))
    >>> shown = {"claimed": 1.0, "epsilon": 0.5, "delta": 0.0, "confidence": 0.95, "refuted": False}
    >>> _ = keep_audit(ledger, "laplace", {**shown, "assumed": "nothing", "claim": {}}, draws=100)
    >>> print(next(ledger.entries(kind="audit")))  # doctest: +ELLIPSIS
    1 ... audit: laplace: claimed 1, shown ≥ 0.5
    """
    facts: dict[str, object] = {
        "claimed": f"{float('inf') if record['claimed'] is None else record['claimed']:.6g}",
        "shown": f"{record['epsilon']:.6g}",
        **{word: f"{record[word]:.12g}" for word in ("delta", "confidence")},
        "refuted": record["refuted"],
        "assumed": str(record["assumed"]),
        "claim": record["claim"],
        **counts,
    }
    return ledger.note("audit", name, facts)
