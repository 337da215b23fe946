"""Released values as JSON: numbers, texts and arrays, and whatever type a layer registers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["carry", "decode", "encode"]

Value = TypeVar("Value")

_WRITERS: dict[type, tuple[str, Callable[[Any], object]]] = {}
_READERS: dict[str, Callable[[Any], object]] = {}


def carry(tag: str, kind: type[Value], write: Callable[[Value], object], read: Callable[[Any], Value]) -> None:
    """Let releases hold values of a type: a model, a table. `write` gives what JSON carries, `read` takes it.

    >>> from discreet.mechanisms import Laplace, Release
    >>> inner = Laplace(sensitivity=1, epsilon=1).release(7)
    >>> decode(encode(inner)) == inner
    True
    """
    if tag == "array" or (tag in _READERS and _WRITERS.get(kind, ("",))[0] != tag):
        msg = f"tag is {shown(tag)}, which stands for another type already; take one of your own."
        raise ParameterError(msg)
    _WRITERS[kind], _READERS[tag] = (tag, write), read


def encode(value: object) -> object:
    """Write a released value as JSON, with a tag where JSON has no type for it.

    >>> encode((1, Fraction(1, 3)))
    {'tuple': [1, {'fraction': '1/3'}]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, np.ndarray):
        items = [encode(item) for item in value.ravel().tolist()]
        return {"array": items, "shape": list(value.shape), "type": str(value.dtype)}
    for kind, (tag, write) in _WRITERS.items():
        if isinstance(value, kind):
            return {tag: write(value)}
    msg = (
        f"the released value is of type {type(value).__name__}, which JSON cannot carry. Release numbers or texts, or "
        "say how it is written: discreet.mechanisms.carried.carry."
    )
    raise ParameterError(msg)


def decode(value: Any) -> Any:  # noqa: ANN401  JSON holds anything
    """Read what `encode` wrote.

    >>> decode({"tuple": [1, {"fraction": "1/3"}]})
    (1, Fraction(1, 3))
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(decode(value["array"]), dtype=value["type"]).reshape(value["shape"])
    ((tag, content),) = value.items()
    if tag not in _READERS:
        msg = (
            f"the release holds a value of the kind {shown(tag)}, which nobody registered. It comes from a newer "
            "version of discreet, or from a module that was not imported: update, or import what made it."
        )
        raise ParameterError(msg)
    return _READERS[tag](content)


carry("fraction", Fraction, str, Fraction)
carry("tuple", tuple, lambda items: [encode(item) for item in items], lambda items: tuple(map(decode, items)))
carry(
    "map",
    dict,
    lambda items: [[encode(key), encode(item)] for key, item in items.items()],
    lambda pairs: {decode(key): decode(item) for key, item in pairs},
)
