"""The value that leaves: a private value with its error, its promise and its explanation."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.additive import miss
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.words import error_in_words, percent, value_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.privacy import Curve

__all__ = ["Release"]

Released = TypeVar("Released")

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Generic[Released]):
    """A private value: everything about it may be shown.

    `details` holds what else was paid for and released with it (the noisy count behind a mean), never a private value.

    >>> from discreet.mechanisms import Laplace
    >>> answer = Laplace(sensitivity=1, epsilon="0.5").release(42)
    >>> answer.privacy.epsilon(delta=0), answer.error(confidence=0.95) < 6
    (0.5, True)
    >>> Release.from_json(answer.to_json()) == answer
    True
    """

    value: Released
    mechanism: Mechanism[Any, Released]
    details: Mapping[str, object] = field(default_factory=lambda: _NOTHING)

    def error(self, confidence: float = 0.95) -> float | NDArray[np.float64] | None:
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
        """Return what is promised, why, what was assumed and how wrong the value may be.

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
        lines = [
            f"Released by {type(mechanism).__name__}.",
            f"Promise: {mechanism.promise}, for neighbors of the relation {mechanism.neighbors.value}.",
            *(f"Because: {sentence}" for sentence in mechanism.argument),
            *(f"Assumed by the caller: {sentence}" for sentence in mechanism.assumed),
            f"Error: {accuracy}",
            "Charged: nothing. A mechanism works on a value that its caller holds; a ledger is charged by its owner.",
        ]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the release as JSON; `Release.from_json` returns an equal one.

        >>> from discreet.mechanisms import Laplace
        >>> sorted(json.loads(Laplace(sensitivity=1, epsilon=1).release(1).to_json()))
        ['details', 'mechanism', 'value']
        """
        details = {name: _encode(item) for name, item in sorted(self.details.items())}
        return json.dumps({"value": _encode(self.value), "mechanism": self.mechanism.record(), "details": details})

    @staticmethod
    def from_json(text: str) -> Release[Any]:
        """Read what `to_json` wrote.

        >>> Release.from_json("{}")
        Traceback (most recent call last):
        ...
        discreet.errors.ParameterError: this text is no release (KeyError: 'mechanism'); take what to_json wrote.
        """
        try:
            record = json.loads(text)
            details = {name: _decode(item) for name, item in record.get("details", {}).items()}
            mechanism = Mechanism.from_record(record["mechanism"])
            return Release(_decode(record["value"]), mechanism, MappingProxyType(details))
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, ParameterError):
                raise
            msg = f"this text is no release ({type(error).__name__}: {error}); take what to_json wrote."
            raise ParameterError(msg) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        """Show value, ± and promise on one line."""
        error = self.error(0.95)
        words = error_in_words(error) + ("" if error is None else " at 95 %")
        return f"Release(value={value_in_words(self.value, error)}, {words}, {self.mechanism.promise})"


def _encode(value: object) -> object:
    """Write a released value as JSON, with a tag where JSON has no type for it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, dict):
        return {"map": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, np.ndarray):
        items = [_encode(item) for item in value.ravel().tolist()]
        return {"array": items, "shape": list(value.shape), "type": str(value.dtype)}
    msg = f"the released value is of type {type(value).__name__}, which JSON cannot carry. Release numbers or texts."
    raise ParameterError(msg)


def _decode(value: Any) -> Any:  # noqa: ANN401  JSON holds anything
    """Read what `_encode` wrote."""
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(_decode(value["array"]), dtype=value["type"]).reshape(value["shape"])
    if "fraction" in value:
        return Fraction(value["fraction"])
    if "tuple" in value:
        return tuple(_decode(item) for item in value["tuple"])
    return {_decode(key): _decode(item) for key, item in value["map"]}
