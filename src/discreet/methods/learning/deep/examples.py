"""What is trained on: examples by the unit whose they are, from tensors, arrays, a data set, or rows on loan."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.methods.learning.tabular.features import Feature, Features

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from discreet.engines.bounded_rows import BoundedRows

__all__ = ["Examples"]


@dataclass(frozen=True, repr=False)
class Examples:
    """Examples on which a model is trained: private.

    `places` has a line for each unit with the places of its examples, padded with its own first one; `there` says which
    are real. A unit with more than `rows` examples keeps the first.

    >>> given = (torch.arange(3.0)[:, None], torch.zeros(3))
    >>> Examples.of(given, units=["ann", "bob", "ann"], rows=2)
    Examples(…)
    """

    source: Any
    places: NDArray[np.int64]
    there: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """The most examples of one unit."""
        return int(self.places.shape[1])

    @property
    def units(self) -> int:
        """How many units there are: private under add/remove."""
        return int(self.places.shape[0])

    @staticmethod
    def of(data: object, *, units: object = None, rows: int = 1) -> Examples:
        """Read inputs and target, or a map-style data set; each example is a unit, or `units` says whose it is."""
        if isinstance(data, torch.utils.data.DataLoader):
            msg = (
                "data is a DataLoader; it cuts an epoch into batches, and what DP-SGD promises rests on random ones. "
                "Give its data set (loader.dataset); batch= says how many examples a batch has on average."
            )
            raise ParameterError(msg)
        if isinstance(data, tuple | list) and data and all(hasattr(part, "__len__") for part in data):
            source: Any = tuple(torch.as_tensor(part) for part in data)
            sizes = {len(part) for part in source}
            if len(source) < 2 or len(sizes) != 1:
                msg = "data must be inputs and target, of one length: give (inputs, target)."
                raise ParameterError(msg)
            count = sizes.pop()
        elif hasattr(data, "__len__") and hasattr(data, "__getitem__"):
            source, count = data, len(data)
        else:
            msg = f"data is {shown(type(data).__name__)}; it must be (inputs, target), a map-style data set or a loan."
            raise ParameterError(msg)
        return Examples(source, *_by_unit(np.arange(count) if units is None else _codes(units, count), rows))

    @staticmethod
    def of_rows(rows: BoundedRows, target: str, features: Features) -> Examples:
        """Read rows that a database lent: features between -1 and 1, keys as a 1 among zeros.

        The target is a number, or the place of its key.

        A row whose target is missing, or is none of the keys, is left out.
        """
        aim = Feature.of(target, rows.schema[target])
        values = torch.from_numpy(features.matrix(rows)[:, 1:]).float()  # networks have intercepts of their own
        cells, missing = rows.columns[target], rows.missing[target]
        if aim.keys is None:
            kept, goal = ~missing, torch.from_numpy(cells.astype(np.float32))[:, None]
        else:
            kept = cells < len(aim.keys)
            goal = torch.from_numpy(np.where(kept, cells, 0).astype(np.int64))
        places, there = _by_unit(rows.units[kept], rows.rows_per_unit)
        return Examples((values, goal), np.flatnonzero(kept)[places] if places.size else places, there)

    def batch(self, units: NDArray[np.int64]) -> tuple[tuple[Any, ...], Tensor]:
        """Return inputs and target of some units, one unit's examples after the other, and which of them are real."""
        places = self.places[units].reshape(-1)
        there = torch.from_numpy(self.there[units].reshape(-1))
        if isinstance(self.source, tuple):
            where = torch.from_numpy(places)
            return tuple(part[where] for part in self.source), there
        return tuple(torch.utils.data.default_collate([self.source[int(place)] for place in places])), there

    def digest(self) -> str:
        """A hash of what is trained on, to be kept where only the holder reads it."""
        digest = hashlib.sha256(self.places.tobytes() + self.there.tobytes())
        for part in self.source if isinstance(self.source, tuple) else ():
            digest.update(np.ascontiguousarray(part.numpy()).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return "Examples(…)"


def _codes(units: object, count: int) -> NDArray[np.int64]:
    names = np.asarray(units, dtype=object if isinstance(units, list) else None)
    if names.shape != (count,):
        msg = "units must name the unit of each example, in their order."
        raise ParameterError(msg)
    return np.unique(names.astype(str) if names.dtype == object else names, return_inverse=True)[1].astype(np.int64)


def _by_unit(codes: NDArray[np.int64], rows: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Place the first examples of each unit in a line of their own."""
    most = integer(rows, name="rows_per_unit", least=1, most=1 << 20)
    order = np.argsort(codes, kind="stable")
    _, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    steps = np.arange(most)
    there = steps[None, :] < counts[:, None]
    if not starts.size:
        return np.empty((0, most), dtype=np.int64), there.reshape(0, most)
    return order[starts[:, None] + np.where(there, steps[None, :], 0)], there
