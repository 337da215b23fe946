"""Several mechanisms on one dataset, released together under one promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.promise import register
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import promise_in_words
from discreet.noise import SYSTEM
from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy.convert import convert
from discreet.privacy.relations import require_same_relation

if TYPE_CHECKING:
    from typing import Self

    from discreet.mechanisms.promise import Claim
    from discreet.noise import BitSource
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Together"]


@register
@dataclass(frozen=True, slots=True, init=False)
class Together:
    """Several mechanisms by name: one promise, one release, one charge.

    All of them are fixed before the first is released, so their curves compose (Dwork, Rothblum & Vadhan 2010,
    doi:10.1109/FOCS.2010.12): the whole costs less than the parts' epsilons added up. The printed claim is the plain
    sum: of epsilons and deltas, or of rhos where a part has one (Dwork & Roth 2014, Theorem 3.16; Bun & Steinke 2016,
    arXiv:1605.02065, Lemma 2.3).

    >>> from discreet.mechanisms import Count, Sum
    >>> both = Together({"rows": Count(epsilon="0.1"), "cost": Sum(lower=0, upper=9, epsilon="0.4")})
    >>> answer = both.release({"rows": [3, 4], "cost": [3, 4]})
    >>> both.promise, sorted(answer.value), Release.from_json(answer.to_json()) == answer
    ('ε = 0.5', ['cost', 'rows'], True)
    """

    kind: ClassVar[str] = "together"
    accuracy: ClassVar[str] = "each part has its own"
    no_error_because: ClassVar[str] = "each part has its own ±, .value[name].error()."

    parts: Mapping[str, Mechanism[Any, Any]]

    def __init__(self, parts: Mapping[str, Mechanism[Any, Any]]) -> None:
        if not isinstance(parts, Mapping) or not parts or not all(isinstance(name, str) for name in parts):
            msg = f"parts is {shown(parts)}; it must be mechanisms by name, such as {{'rows': Count(epsilon=1)}}."
            raise ParameterError(msg)
        for name, part in parts.items():
            if not isinstance(part, Mechanism):
                msg = f"part {name!r} is of type {type(part).__name__}; it must be a mechanism."
                raise ParameterError(msg)
        reduce(require_same_relation, (part.neighbors for part in parts.values()))
        object.__setattr__(self, "parts", MappingProxyType(dict(parts)))

    def __hash__(self) -> int:
        return hash(tuple(self.parts.items()))

    @property
    def neighbors(self) -> Relation:
        """Those of all parts."""
        return next(iter(self.parts.values())).neighbors

    @property
    def privacy(self) -> Curve:
        """The parts' curves, composed."""
        return reduce(add, (part.privacy for part in self.parts.values()))

    @property
    def claim(self) -> Claim:
        """The sum of what the parts claim."""
        claims = [part.claim for part in self.parts.values()]
        if any(isinstance(claim, ZCDP) for claim in claims):
            return reduce(add, (convert(claim, to=ZCDP) for claim in claims))
        if all(isinstance(claim, Pure) for claim in claims):
            return reduce(add, claims)
        return reduce(add, (_with_delta(claim) for claim in claims))

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What each part stands on, and that they compose."""
        parts = (f"{name}: {sentence}" for name, part in self.parts.items() for sentence in part.argument)
        return (*parts, "What each part costs adds up. (Dwork & Roth 2014, Theorem 3.16)")

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the parts assume."""
        return tuple(f"{name}: {sentence}" for name, part in self.parts.items() for sentence in part.assumed)

    def error_of(
        self, value: Mapping[str, Release[Any]], details: Mapping[str, object], confidence: float = 0.95
    ) -> None:
        """Several numbers have no common ±."""

    def release(self, values: Mapping[str, Any], *, bits: BitSource = SYSTEM) -> Release[dict[str, Release[Any]]]:
        """Release every part on the value of its name; all values are of one dataset."""
        if set(values) != set(self.parts):
            msg = f"values are given for {', '.join(map(shown, values))}; the parts are {', '.join(self.parts)}."
            raise ParameterError(msg)
        return Release({name: part.release(values[name], bits=bits) for name, part in self.parts.items()}, self)

    def record(self) -> dict[str, Any]:
        """Return the parts as a JSON object."""
        return {"kind": self.kind, "parts": {name: part.record() for name, part in self.parts.items()}}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        return cls({name: Mechanism.from_record(part) for name, part in record["parts"].items()})


def _with_delta(claim: Claim) -> Claim:
    """Write a pure claim as one with a delta of 0, so that it adds to others with one."""
    return Approximate(claim.epsilon, 0, neighbors=claim.neighbors) if isinstance(claim, Pure) else claim
