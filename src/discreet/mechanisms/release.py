"""The value that leaves: a private value with its error, its promise and its explanation."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.carried import carry, decode, encode
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.promise import read_promise
from discreet.mechanisms.words import error_in_words, percent, promise_in_words, value_in_words
from discreet.privacy.costs import amount_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.mechanisms.promise import Claim, Error, Promise
    from discreet.privacy import Curve

__all__ = ["Release"]

Released = TypeVar("Released")

_NOTHING: Mapping[str, object] = MappingProxyType({})
_VERSION = 1
"""Of how a release is written. Releases without one are older than versions, and are written as this one is."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Generic[Released]):
    """A private value: everything about it may be shown.

    `mechanism` is whatever keeps the promise: a `Mechanism`, or a promise of a method. `details` holds what else was
    paid for and released with it (the noisy count behind a mean), never a private value. `charged` is what a ledger was
    charged for it, if one was.

    >>> from discreet.mechanisms import Laplace
    >>> answer = Laplace(sensitivity=1, epsilon="0.5").release(42)
    >>> answer.privacy.epsilon(delta=0), answer.error(confidence=0.95) < 6
    (0.5, True)
    >>> Release.from_json(answer.to_json()) == answer
    True
    """

    value: Released
    mechanism: Promise[Released]
    details: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    charged: Claim | None = None
    charged_for: str = ""
    """What the charge is for, in words, where that is more than this release."""

    def error(self, confidence: float = 0.95) -> Error:
        """Return the ± of the value at this confidence, of each coordinate if it is an array; None without one.

        >>> from discreet.mechanisms import DiscreteLaplace
        >>> DiscreteLaplace(sensitivity=1, epsilon="0.1").release(1203).error(confidence=0.95)
        30.0
        """
        miss(confidence)  # refuse what is no probability, whatever the mechanism does with it
        return self.mechanism.error_of(self.value, self.details, confidence)

    @property
    def privacy(self) -> Curve:
        """What this release alone promises."""
        return self.mechanism.privacy

    def explain(self, confidence: float = 0.95) -> str:
        """Return what is promised, why, what was assumed, how wrong the value may be and what was charged.

        >>> from discreet.mechanisms import Laplace
        >>> print(Laplace(sensitivity=1, epsilon="0.5").release(42).explain().splitlines()[1])
        Promise: ε = 0.5, for neighbors of the relation add_remove.
        """
        mechanism = self.mechanism
        error = self.error(confidence)
        accuracy = error_in_words(error) + (
            f" with probability {percent(confidence)}; {mechanism.accuracy}"
            if error is not None
            else f": {mechanism.no_error_because}"
        )
        whole = f", for {self.charged_for}" if self.charged_for else ""
        lines = [
            f"Released by {type(mechanism).__name__}.",
            f"Promise: {mechanism.promise}, for neighbors of the relation {mechanism.neighbors.value}.",
            *(f"Because: {sentence}" for sentence in mechanism.argument),
            *(f"Assumed by the caller: {sentence}" for sentence in mechanism.assumed),
            f"Error: {accuracy}",
            "Charged: nothing. A mechanism works on a value that its caller holds; a ledger is charged by its owner."
            if self.charged is None
            else f"Charged: {promise_in_words(self.charged)}{whole}, to the ledger that recorded it.",
        ]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the release as JSON; `Release.from_json` returns an equal one.

        >>> from discreet.mechanisms import Laplace
        >>> sorted(json.loads(Laplace(sensitivity=1, epsilon=1).release(1).to_json()))
        ['details', 'mechanism', 'value', 'version']
        """
        return json.dumps(self._record())

    def _record(self) -> dict[str, Any]:
        details = {name: encode(item) for name, item in sorted(self.details.items())}
        kept = {"value": encode(self.value), "mechanism": self.mechanism.record(), "details": details}
        charged = {} if self.charged is None else {"charged": json.loads(self.charged.to_json())}
        return {
            "version": _VERSION,
            **kept,
            **charged,
            **({"charged_for": self.charged_for} if self.charged_for else {}),
        }

    @staticmethod
    def from_json(text: str) -> Release[Any]:
        """Read what `to_json` wrote.

        >>> Release.from_json("{}")
        Traceback (most recent call last):
        ...
        discreet.errors.ParameterError: this text is no release (KeyError: 'mechanism'); take what to_json wrote.
        """
        try:
            return Release._read(json.loads(text))
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, ParameterError):
                raise
            msg = f"this text is no release ({type(error).__name__}: {error}); take what to_json wrote."
            raise ParameterError(msg) from None

    @staticmethod
    def _read(record: dict[str, Any]) -> Release[Any]:
        version = record.get("version", _VERSION)
        if version != _VERSION:
            msg = (
                f"the release is written in version {shown(version)}, and this version of discreet reads {_VERSION}: "
                "a newer one wrote it. Update discreet."
            )
            raise ParameterError(msg)
        details = {name: decode(item) for name, item in record.get("details", {}).items()}
        charged = cast("Claim", amount_from_json(json.dumps(record["charged"]))) if "charged" in record else None
        mechanism = read_promise(record["mechanism"])
        whole = str(record.get("charged_for", ""))
        return Release(decode(record["value"]), mechanism, MappingProxyType(details), charged, whole)

    def __eq__(self, other: object) -> bool:
        """Compare what was released, whoever paid for it."""
        return isinstance(other, Release) and self._released() == other._released()

    def __hash__(self) -> int:
        return hash(self._released())

    def _released(self) -> str:
        return json.dumps({**self._record(), "charged": None, "charged_for": ""})

    def __repr__(self) -> str:
        """Show value, ± and promise on one line."""
        error = self.error(0.95)
        words = error_in_words(error) + ("" if error is None else " at 95 %")
        return f"Release(value={value_in_words(self.value, error)}, {words}, {self.mechanism.promise})"


carry("release", Release, Release._record, Release._read)  # noqa: SLF001  of this file
