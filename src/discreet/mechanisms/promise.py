"""What a release stands on: a promise, of a kind that any layer may register.

Mechanisms are the first kinds. A method that fits a model, synthesizes a table or sums a stream registers a kind of its
own, and its releases travel through JSON and ledgers as theirs do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.registry import load
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from discreet.privacy import ZCDP, Approximate, Curve, Pure
    from discreet.privacy.relations import Relation

    Claim: TypeAlias = Pure | Approximate | ZCDP
    Error: TypeAlias = float | NDArray[np.float64] | None

__all__ = ["KINDS", "Promise", "read_promise", "register"]

Shown_contra = TypeVar("Shown_contra", contravariant=True)


class Promise(Protocol[Shown_contra]):
    """Who is protected how well, why, and how wrong a released value may be. A mechanism is one.

    >>> from discreet.mechanisms import Laplace
    >>> promise: Promise[float] = Laplace(sensitivity=1, epsilon="0.5")
    >>> promise.claim, promise.neighbors.value
    (Pure(epsilon=0.5), 'add_remove')
    """

    kind: ClassVar[str]

    @property
    def neighbors(self) -> Relation:
        """Whom it protects."""

    @property
    def privacy(self) -> Curve:
        """What one release promises, as a curve."""

    @property
    def claim(self) -> Claim:
        """The promise as one short, exact value that the curve keeps: what a release prints."""

    @property
    def promise(self) -> str:
        """The claim in words."""

    @property
    def argument(self) -> tuple[str, ...]:
        """The chain of theorems behind the promise, one sentence each."""

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the caller asserts and nobody checks, one sentence each."""

    @property
    def accuracy(self) -> str:
        """The formula of the error."""

    @property
    def no_error_because(self) -> str:
        """Why `error_of` is None; empty where it is not."""

    def error_of(self, value: Shown_contra, details: Mapping[str, object], confidence: float = 0.95) -> Error:
        """Return the error of one release; the released value and its paid details are public and may be used."""

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object with its `kind`, which `read` of its class reads."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote; every number passes the checks of the constructor again."""


Kind = TypeVar("Kind", bound=type[Promise[Any]])

KINDS: dict[str, type[Promise[Any]]] = {}
"""Every kind that is registered so far, with its class."""


def register(kind: Kind) -> Kind:
    """Let releases of a kind be read again: a decorator of its class. Mechanisms register themselves.

    >>> register(read_promise({"kind": "laplace", "sensitivity": 1, "scale": 2}).__class__).kind
    'laplace'
    """
    name, known = kind.kind, KINDS.get(kind.kind)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        msg = (
            f"the kind {name!r} is that of {known.__module__}.{known.__qualname__}; one kind, one class, as records "
            f"tell them apart by it. Give {kind.__qualname__} another kind."
        )
        raise ParameterError(msg)
    KINDS[name] = kind
    return kind


def read_promise(record: Mapping[str, Any]) -> Promise[Any]:
    """Read what `record` of any registered kind wrote.

    >>> read_promise({"kind": "discrete_laplace", "sensitivity": 1, "scale": 2}).promise
    'ε = 0.5'
    """
    kind = record.get("kind")
    if not isinstance(kind, str):
        msg = f"kind is {shown(kind)}; it must be a text. Take what .record() wrote."
        raise ParameterError(msg)
    if kind not in KINDS:
        load()  # mechanisms are imported when they are first asked for
    if kind not in KINDS:
        msg = (
            f"kind is {shown(kind)}, which nobody registered.{hint(kind, KINDS)} It comes from a newer version of "
            "discreet, or from a module that was not imported: update, or import what made it."
        )
        raise ParameterError(msg)
    try:
        return KINDS[kind].read(record)
    except TypeError as error:  # a missing or an unknown field
        msg = f"this is no {kind} ({error}); it was changed, or a newer version of discreet wrote it."
        raise ParameterError(msg) from None
