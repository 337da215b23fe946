"""Private gradients: each unit's is clipped, the sum gets noise, and any optimizer goes on from there."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.methods.learning.deep.clipping import read_clipping
from discreet.methods.learning.deep.tape import recorded
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from discreet.exact import Number
    from discreet.methods.learning.deep.clipping import Clipping
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["ClippedSum", "clipped_sum", "private_gradients", "trained"]


@dataclass(frozen=True, slots=True, repr=False)
class ClippedSum:
    """The sum of clipped gradients of a batch, without noise yet: private.

    `below` counts the units whose gradient was not shortened, `units` all of them; both private, too.

    >>> ClippedSum((torch.ones(1),), 1, 1) + ClippedSum((torch.ones(1),), 0, 1)
    ClippedSum(…)
    """

    parts: tuple[Tensor, ...]
    below: int
    units: int

    def __add__(self, other: ClippedSum) -> ClippedSum:
        for part, more in zip(self.parts, other.parts, strict=True):
            part.add_(more)
        return ClippedSum(self.parts, self.below + other.below, self.units + other.units)

    def __repr__(self) -> str:
        return "ClippedSum(…)"

    def flat(self) -> NDArray[np.float64]:
        """All numbers in a row."""
        return torch.cat([part.reshape(-1) for part in self.parts]).double().numpy()


def trained(model: nn.Module) -> tuple[nn.Parameter, ...]:
    """The parameters that are trained, each once.

    >>> len(trained(torch.nn.Linear(2, 1)))
    2
    """
    return tuple(parameter for parameter in model.parameters() if parameter.requires_grad)


def of_each(loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Turn a loss into one that gives a number for each example.

    >>> of_each(torch.nn.MSELoss())(torch.ones(3, 2), torch.zeros(3, 2)).tolist()
    [1.0, 1.0, 1.0]
    """
    reduction = getattr(loss, "reduction", None)
    if reduction not in {"mean", "sum"}:
        return loss
    single = copy.copy(loss)
    single.reduction = "none"  # type: ignore[attr-defined]

    def losses(output: Tensor, target: Tensor) -> Tensor:
        values = single(output, target)
        if values.dim() < 2:
            return values
        return values.flatten(1).mean(1) if reduction == "mean" else values.flatten(1).sum(1)

    return losses


def clipped_sum(  # noqa: PLR0913 - each is a thing of its own
    model: nn.Module,
    loss: Callable[..., Tensor],
    batch: Sequence[Any],
    clipping: Clipping,
    *,
    rows: int = 1,
    there: Tensor | None = None,
) -> ClippedSum:
    """Sum the clipped gradients of a batch's units, each of `rows` rows; rows that are not `there` count nothing.

    >>> from discreet.methods.learning.deep.clipping import Flat
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> batch = (torch.tensor([[3.0], [-9.0]]), torch.zeros(2, 1))
    >>> total = clipped_sum(model, lambda output, target: output.sum(1), batch, Flat(1))
    >>> abs(float(total.flat()[0])) < 1e-6
    True
    """
    *inputs, target = batch
    kept = trained(model)
    with recorded(model, rows=rows) as tape, torch.enable_grad():
        losses = of_each(loss)(model(*inputs), target)
        terms = tape.backward(losses if there is None else torch.where(there, losses, 0.0))
    if not terms:
        return ClippedSum(tuple(torch.zeros_like(parameter) for parameter in kept), 0, 0)
    squares = {parameter: term.squares() for parameter, term in terms.items()}
    weights, broken = clipping.bounded(squares)
    if bool(broken.any()):
        terms = {parameter: term.without(broken) for parameter, term in terms.items()}
    parts = [
        terms[parameter].weighted(weights[parameter]).detach()
        if parameter in terms
        else torch.zeros_like(parameter, dtype=torch.float32)
        for parameter in kept
    ]
    lengths = torch.stack(list(squares.values())).sum(0).sqrt()
    return ClippedSum(tuple(parts), int((lengths <= float(clipping.norm)).sum()), int(lengths.numel()))


def nothing(model: nn.Module) -> ClippedSum:
    """The sum over an empty batch: noise alone is released for it.

    >>> float(nothing(torch.nn.Linear(1, 1)).flat().sum())
    0.0
    """
    return ClippedSum(tuple(torch.zeros_like(parameter, dtype=torch.float32) for parameter in trained(model)), 0, 0)


def mechanism_of(
    model: nn.Module, norm: Number, sigma: Number, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Gaussian:
    """The noise on a sum of gradients clipped to a norm, `sigma` times as wide as one unit moves it.

    >>> float(mechanism_of(torch.nn.Linear(2, 1), 1, 2).sigma)
    2.0
    """
    moved = read_positive(norm, "norm", zero="nothing would be left of a gradient")
    moved *= 1 if neighbors is NeighborRelation.ADD_REMOVE else 2
    spread = moved * read_positive(sigma, "sigma", zero="noise of scale 0 protects nobody")
    count = sum(parameter.numel() for parameter in trained(model))
    return Gaussian(moved, sigma=spread, dimensions=count, neighbors=neighbors)


def fill(model: nn.Module, values: NDArray[np.float64]) -> None:
    """Write numbers into the gradients of the parameters that are trained.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> fill(model, np.array([2.0]))
    >>> model.weight.grad.tolist()
    [[2.0]]
    """
    start = 0
    whole = torch.from_numpy(np.ascontiguousarray(values))
    for parameter in trained(model):
        part = whole[start : start + parameter.numel()]
        parameter.grad = part.reshape(parameter.shape).to(parameter.dtype)
        start += parameter.numel()


def private_gradients(  # noqa: PLR0913 - each is a public fact of the step
    model: nn.Module,
    loss: Callable[..., Tensor],
    batch: Sequence[Any],
    *,
    sigma: Number,
    expected: int,
    clipping: object = 1,
    rows: int = 1,
    bits: BitSource = SYSTEM,
) -> Curve:
    """Fill `.grad` with a private mean of the batch's gradients, for any optimizer; return what the step promises.

    Each unit's gradient is clipped (to a norm, or by a `Clipping`), the sum gets Gaussian noise of standard deviation
    sigma times the norm, and is divided by `expected`, a *public* batch size: never the size of the batch that came,
    which is private. The curve is that of one step on this batch under add/remove. A batch that was drawn at random
    costs less (`.subsample(rate)`); whoever draws it says so, as `PrivateTrainer` does.

    `batch` is the inputs and the target. `loss` is a module of torch or a function that gives one number for each
    example. An example whose loss or gradient is not finite counts as 0.

    >>> model = torch.nn.Linear(2, 1)
    >>> batch = (torch.randn(8, 2), torch.randn(8, 1))
    >>> step = private_gradients(model, torch.nn.MSELoss(), batch, sigma=1, expected=8)
    >>> model.weight.grad.shape, step.epsilon(1e-5) > 4
    (torch.Size([1, 2]), True)
    """
    divisor = integer(expected, name="expected", least=1)
    several = integer(rows, name="rows", least=1)
    rule = read_clipping(clipping)
    if len(batch) < 2:
        msg = f"batch has {shown(len(batch))} parts; it must have the inputs and the target."
        raise ParameterError(msg)
    mechanism = mechanism_of(model, rule.norm, sigma)
    empty = not len(batch[-1])
    total = nothing(model) if empty else clipped_sum(model, loss, batch, rule, rows=several)
    noisy = mechanism.release(total.flat(), bits=bits).value
    fill(model, np.asarray(noisy) / divisor)
    return mechanism.privacy
