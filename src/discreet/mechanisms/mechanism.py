"""What all mechanisms share: a promise, an error, a release, and words for people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from discreet.errors import ParameterError
from discreet.exact import Grid, shown
from discreet.mechanisms.promise import KINDS, read_promise, register
from discreet.mechanisms.registry import load
from discreet.mechanisms.words import promise_in_words
from discreet.noise import SYSTEM, BitSource
from discreet.privacy.relations import Group, read_relation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from discreet.mechanisms.promise import Claim, Error
    from discreet.mechanisms.release import Release
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Mechanism", "registered"]

Given = TypeVar("Given")
Released = TypeVar("Released")


class Mechanism(ABC, Generic[Given, Released]):
    """A statistic made private: a frozen dataclass that states what it promises and how wrong it may be.

    A mechanism works on a value that the caller already holds. It charges nothing, and says so.

    Every field is also a keyword of the constructor, which reads what JSON carries: fractions, grids and relations as
    text, enums by their value. Functions (a score, a distance, a black box) are arguments of `release` and never
    fields, so that a mechanism is a value: it compares, hashes and travels through JSON.

    >>> from discreet.mechanisms import Laplace, Mechanism
    >>> mechanism = Laplace(sensitivity=1, epsilon="0.5")
    >>> Mechanism.from_record(mechanism.record()) == mechanism
    True
    """

    __slots__ = ()

    kind: ClassVar[str]

    guarantee: ClassVar[str]
    """The theorem in one sentence, with its conditions."""
    accuracy: ClassVar[str]
    """The formula of the error."""
    source: ClassVar[str]
    """Who proved it, where."""
    no_error_because: ClassVar[str] = ""
    """Why `error` is None; empty where it is not."""

    _assumes: ClassVar[tuple[str, ...]] = ()

    neighbors: Relation

    def __init_subclass__(cls) -> None:
        """Register the kind, so that JSON and the registry find its class."""
        if "kind" in cls.__dict__:
            register(cls)

    @property
    @abstractmethod
    def privacy(self) -> Curve:
        """What one release promises, as a curve."""

    def error(self, confidence: float = 0.95) -> Error:
        """Return a bound that the released value's distance from the given one keeps with this probability.

        It speaks of the noise, for every input, and depends on public parameters only; for arrays it bounds each
        coordinate. Where no honest bound exists it is None, and `no_error_because` says why.
        """
        del confidence
        return None

    @abstractmethod
    def release(self, value: Given, *, bits: BitSource = SYSTEM) -> Release[Released]:
        """Return the value made private."""

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """The promise as one short, exact value that the curve keeps: what a release prints."""

    @property
    def promise(self) -> str:
        """The claim in words, such as ε = 0.5; rounded up where it is rounded.

        >>> from discreet.mechanisms import Laplace
        >>> Laplace(sensitivity=1, epsilon="0.5").promise
        'ε = 0.5'
        """
        return promise_in_words(self.claim)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the caller asserts and nobody checks, one sentence each."""
        return self._assumes

    @property
    def argument(self) -> tuple[str, ...]:
        """The chain of theorems behind the promise for these parameters, one sentence each."""
        return (f"{self.guarantee} ({self.source})",)

    def error_of(self, value: Released, details: Mapping[str, object], confidence: float = 0.95) -> Error:
        """Return the error of one release; the released value and its paid details are public and may be used."""
        del value, details
        return self.error(confidence)

    def record(self) -> dict[str, Any]:
        """Return the mechanism as a JSON object; `Mechanism.from_record` reads it."""
        items = fields(self)  # type: ignore[arg-type]  # every mechanism is a dataclass
        return {"kind": self.kind, **{item.name: _encode(getattr(self, item.name)) for item in items}}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` of a mechanism wrote, here of any, and called on its own class of that one alone."""
        promise = read_promise(record)
        if not isinstance(promise, cls):
            msg = f"kind is {shown(record['kind'])}, which is no {cls.__name__}. `discreet mechanisms` shows all kinds."
            raise ParameterError(msg)
        return promise

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read the fields; every number passes the constructor's checks again."""
        given = {name: _decode(value) for name, value in record.items() if name != "kind"}
        if "neighbors" in given:
            given["neighbors"] = read_relation(str(given["neighbors"]))
        return cls(**given)


def registered() -> dict[str, type[Mechanism[Any, Any]]]:
    """Return every mechanism by its kind, in the order of groups and files.

    >>> registered()["laplace"].__name__
    'Laplace'
    """
    order = {name: place for place, name in enumerate(load())}
    known = [(kind, cls) for kind, cls in KINDS.items() if issubclass(cls, Mechanism) and cls.__module__ in order]
    return dict(sorted(known, key=lambda item: (order[item[1].__module__], item[0])))


def _encode(value: object) -> object:
    """Write a field as JSON: fractions and grids as text, so that nothing is rounded."""
    if isinstance(value, Mechanism):
        return value.record()
    if isinstance(value, Group | Enum):
        return value.value
    if isinstance(value, Grid):
        return str(value.step)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    msg = f"a field of type {type(value).__name__} does not fit into JSON, which carries numbers and texts."
    raise ParameterError(msg)


def _decode(value: object) -> object:
    """Read a field: lists become tuples, nested mechanisms values."""
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        return Mechanism.from_record(value)
    return value
