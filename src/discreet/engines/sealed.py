"""What private values are held in: Python's ways to show, copy, compare or store a value are closed."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Sealed"]


def _refuse(self: Sealed, *_: object, **__: object) -> NoReturn:
    raise TypeError(self.closed)


_closed: Any = _refuse  # a subclass may open its repr again, for public facts


class Sealed:
    """A value without repr (and so without str and format), iteration, length, equality, copy and pickle.

    >>> list(Sealed())
    Traceback (most recent call last):
    ...
    TypeError: this is private: it is not shown, copied, compared or stored.
    """

    __slots__ = ()

    closed = "this is private: it is not shown, copied, compared or stored."
    """What is said to who tries."""

    __repr__ = __iter__ = __len__ = __getitem__ = __contains__ = _closed
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = _closed
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = __sizeof__ = _closed
