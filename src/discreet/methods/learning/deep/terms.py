"""What one parameter's gradient is made of: for each unit of a batch, its length, and a weighted sum over all of them.

A layer's gradient is a sum over examples and places (words, pixels) of simple products of what went in and what came
back. Lengths for each example and the sum of clipped gradients follow from these two without ever storing a gradient
for each example, where that is larger (book-keeping: Bu, Wang, Zha & Karypis 2023, arXiv:2210.00038; ghost norms: Li,
Tramèr, Liang & Hashimoto 2022, arXiv:2110.05679).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["Convolved", "Lookup", "Moved", "Product", "Single", "Term", "Terms", "combined", "in_units", "precise"]

Terms: TypeAlias = "list[tuple[nn.Parameter, Term]]"
"""The parts of the gradients of some parameters."""


def precise(kind: torch.dtype) -> torch.dtype:
    """The type in which gradients of this type are added up.

    >>> precise(torch.bfloat16)
    torch.float32
    """
    return kind if kind in {torch.float32, torch.float64} else torch.float32


def in_units(values: Tensor, rows: int, width: int) -> Tensor:
    """Bring (rows, places..., width) into (units, places, width), in full precision.

    >>> in_units(torch.ones(6, 5, 4), 2, 4).shape
    torch.Size([3, 10, 4])
    """
    return values.reshape(values.shape[0] // rows, -1, width).to(precise(values.dtype))


class Term(ABC):
    """A part of one parameter's gradient, with the units of the batch in the first dimension of all it keeps.

    >>> sorted(Term.__abstractmethods__)
    ['singles', 'weighted', 'without']
    """

    @abstractmethod
    def singles(self) -> Tensor:
        """The gradient of each unit: one more dimension, in front, than the parameter has."""

    def squares(self) -> Tensor:
        """The squared length of each unit's gradient."""
        return _squares(self.singles())

    @abstractmethod
    def weighted(self, weights: Tensor) -> Tensor:
        """The sum of all units' gradients, each times its weight."""

    @abstractmethod
    def without(self, broken: Tensor) -> Term:
        """The same with zeros in the place of units whose gradient is not finite."""


def _squares(singles: Tensor) -> Tensor:
    return singles.flatten(1).square().sum(1)


def _kept(values: Tensor, broken: Tensor) -> Tensor:
    """Put zeros where a unit is broken; multiplying by 0 would keep NaN."""
    shape = (-1, *[1] * (values.dim() - 1))
    return torch.where(broken.reshape(shape), torch.zeros((), dtype=values.dtype), values)


class Single(Term):
    """Gradients that were computed for each unit, as they are.

    >>> Single(torch.tensor([[3.0, 4.0]])).squares().tolist()
    [25.0]
    """

    def __init__(self, values: Tensor) -> None:
        self._values = values

    def singles(self) -> Tensor:
        """The gradient of each unit."""
        return self._values

    def weighted(self, weights: Tensor) -> Tensor:
        """The weighted sum."""
        return torch.tensordot(weights, self._values, dims=1)

    def without(self, broken: Tensor) -> Term:
        """Zeros for broken units."""
        return Single(_kept(self._values, broken))


class Moved(Term):
    """A shift (`scale` is None) or a scale of each coordinate: the sum over places of what came back, times `scale`.

    Both are of shape (units, places, coordinates).

    >>> Moved(torch.tensor([[[1.0, 2.0], [2.0, 2.0]]]), None, (2,)).singles().tolist()
    [[3.0, 4.0]]
    """

    def __init__(self, back: Tensor, scale: Tensor | None, shape: Sequence[int]) -> None:
        self._sums = back.sum(1) if scale is None else (back * scale).sum(1)
        self._shape = tuple(shape)

    def singles(self) -> Tensor:
        """The gradient of each unit."""
        return self._sums.reshape(-1, *self._shape)

    def weighted(self, weights: Tensor) -> Tensor:
        """The weighted sum."""
        return (weights @ self._sums).reshape(self._shape)

    def without(self, broken: Tensor) -> Term:
        """Zeros for broken units."""
        return Single(_kept(self.singles(), broken))


class Product(Term):
    """A matrix: the sum over places of (what came back) (what went in)^T, both of shape (units, places, width).

    The length of a unit's gradient is |a| |g| for one place. For more it is taken from the products of places with each
    other, sum_{s,t} <a_s, a_t> <g_s, g_t>, or from the matrix itself, whichever is smaller.

    >>> went, came = torch.tensor([[[3.0], [1.0]]]), torch.tensor([[[1.0], [2.0]]])
    >>> Product(went, came).squares().tolist(), Product(went, came).weighted(torch.tensor([2.0])).tolist()
    ([25.0], [[10.0]])
    """

    def __init__(self, went: Tensor, came: Tensor) -> None:
        self.went = went
        self.came = came

    def singles(self) -> Tensor:
        """The gradient of each unit."""
        return self.came.transpose(1, 2) @ self.went

    def squares(self) -> Tensor:
        """The squared length of each."""
        places, inner, outer = self.went.shape[1], self.went.shape[2], self.came.shape[2]
        if places == 1:
            return self.went.square().sum((1, 2)) * self.came.square().sum((1, 2))
        if places * (inner + outer + 2) < inner * outer + inner + outer:
            grams = (self.went @ self.went.transpose(1, 2)) * (self.came @ self.came.transpose(1, 2))
            return grams.sum((1, 2)).clamp_min(0)
        return _squares(self.singles())

    def weighted(self, weights: Tensor) -> Tensor:
        """The weighted sum."""
        came = self.came * weights[:, None, None]
        return came.flatten(0, 1).T @ self.went.flatten(0, 1)

    def without(self, broken: Tensor) -> Term:
        """Zeros for broken units."""
        return Product(_kept(self.went, broken), _kept(self.came, broken))


class Convolved(Term):
    """The kernel of a convolution: products of windows, and a sum by the convolution's own backward pass.

    `rows` rows of the batch belong to one unit; `how` is stride, padding, dilation, groups, after any padding that was
    done by hand.

    >>> went, came = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    >>> Convolved(went, came, torch.zeros(1, 1, 2), 1, ((1,), (0,), (1,), 1)).singles().tolist()
    [[[[2.0, 2.0]]]]
    """

    def __init__(self, went: Tensor, came: Tensor, kernel: Tensor, rows: int, how: tuple[Any, ...]) -> None:
        self._went, self._came, self._kernel, self._rows, self._how = went, came, kernel, rows, how

    def _windows(self) -> Tensor:
        """What each output place saw: (rows, groups, places, channels of a group times the kernel's size)."""
        stride, padding, dilation, groups = self._how
        sides = len(stride)
        edges = [side for size in reversed(padding) for side in (size, size)]
        windows = torch.nn.functional.pad(self._went, edges)
        for side in range(sides):
            reach = (self._kernel.shape[2 + side] - 1) * dilation[side] + 1
            windows = windows.unfold(2 + side, reach, stride[side])[..., :: dilation[side]]
        # rows, channels, places..., kernel...
        count, channels = windows.shape[:2]
        windows = windows.reshape(count, groups, channels // groups, *windows.shape[2:])
        order = [0, 1, *range(3, 3 + sides), 2, *range(3 + sides, 3 + 2 * sides)]
        windows = windows.permute(order)
        places = windows.shape[2 : 2 + sides].numel()
        return windows.reshape(count, groups, places, -1)

    def _pairs(self) -> tuple[Tensor, Tensor]:
        """Windows and what came back, units times groups in front: (units * groups, places, width)."""
        groups, count = self._how[3], self._went.shape[0] // self._rows
        windows = self._windows()
        came = self._came.reshape(self._came.shape[0], groups, -1, self._came.shape[2:].numel()).transpose(2, 3)
        pair = []
        for values in (windows, came):
            split = values.reshape(count, self._rows, groups, *values.shape[2:]).transpose(1, 2)
            pair.append(split.reshape(count * groups, self._rows * values.shape[2], values.shape[3]))
        return pair[0], pair[1]

    def singles(self) -> Tensor:
        """The gradient of each unit."""
        went, came = self._pairs()
        return Product(went, came).singles().reshape(-1, *self._kernel.shape)

    def squares(self) -> Tensor:
        """The squared length of each."""
        went, came = self._pairs()
        return Product(went, came).squares().reshape(-1, self._how[3]).sum(1)

    def weighted(self, weights: Tensor) -> Tensor:
        """The weighted sum."""
        stride, padding, dilation, groups = self._how
        shape = (-1, *[1] * (self._came.dim() - 1))
        came = self._came * weights.repeat_interleave(self._rows).reshape(shape)
        none = [0] * len(stride)
        given = (came, self._went, self._kernel, None, list(stride), list(padding), list(dilation), False, none, groups)
        kernel: Tensor = torch.ops.aten.convolution_backward(*given, [False, True, False])[1]
        return kernel

    def without(self, broken: Tensor) -> Term:
        """Zeros for broken units."""
        rows = broken.repeat_interleave(self._rows)
        return Convolved(_kept(self._went, rows), _kept(self._came, rows), self._kernel, self._rows, self._how)


class Lookup(Term):
    """Rows of a table that were looked up: what came back is added to the row of each place.

    `places` is (units, places), `came` (units, places, width); a place below 0 was padding.

    >>> Lookup(torch.tensor([[1, 1]]), torch.ones(1, 2, 3), 5).squares().tolist()
    [12.0]
    """

    def __init__(self, places: Tensor, came: Tensor, count: int) -> None:
        there = places >= 0
        self._places = torch.where(there, places, 0)
        self._came = torch.where(there[..., None], came, torch.zeros((), dtype=came.dtype))
        self._count = count

    def singles(self) -> Tensor:
        """The gradient of each unit."""
        units, _, width = self._came.shape
        table = torch.zeros(units, self._count, width, dtype=self._came.dtype)
        return table.scatter_add_(1, self._places[..., None].expand_as(self._came), self._came)

    def squares(self) -> Tensor:
        """The squared length of each."""
        units, _, width = self._came.shape
        keys = (torch.arange(units)[:, None] * self._count + self._places).flatten()
        rows, place = keys.unique(return_inverse=True)
        sums = torch.zeros(rows.numel(), width, dtype=self._came.dtype)
        sums.index_add_(0, place, self._came.flatten(0, 1))
        squares = torch.zeros(units, dtype=self._came.dtype)
        return squares.index_add_(0, rows // self._count, sums.square().sum(1))

    def weighted(self, weights: Tensor) -> Tensor:
        """The weighted sum."""
        table = torch.zeros(self._count, self._came.shape[2], dtype=self._came.dtype)
        return table.index_add_(0, self._places.flatten(), (self._came * weights[:, None, None]).flatten(0, 1))

    def without(self, broken: Tensor) -> Term:
        """Zeros for broken units."""
        return Lookup(self._places, _kept(self._came, broken), self._count)


def combined(terms: Sequence[Term]) -> Term:
    """Join the parts of one parameter's gradient, so that lengths are those of their sum.

    >>> one = Product(torch.ones(1, 1, 1), torch.ones(1, 1, 1))
    >>> combined([one, one]).squares().tolist(), combined([one, Single(torch.ones(1, 1, 1))]).squares().tolist()
    ([4.0], [4.0])
    """
    if len(terms) == 1:
        return terms[0]
    products = [term for term in terms if isinstance(term, Product)]
    if len(products) == len(terms):
        return Product(torch.cat([term.went for term in products], 1), torch.cat([term.came for term in products], 1))
    return Single(torch.stack([term.singles() for term in terms]).sum(0))
