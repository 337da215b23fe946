"""Lengths and weighted sums of every layer's gradients are those of one backward pass for each unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from discreet.errors import ParameterError
from discreet.methods.learning.deep import without_batch_norm
from discreet.methods.learning.deep.gradients import of_each, trained
from discreet.methods.learning.deep.tape import recorded
from discreet.methods.learning.deep.terms import Moved, Product, Term

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

COUNT = 6


class Mean(nn.Module):
    """The mean over places."""

    def forward(self, values: Tensor) -> Tensor:
        return values.mean(1)


class First(nn.Module):
    """The first output of a recurrent network, or of attention of something to itself or to others."""

    def __init__(self, module: nn.Module, how: Callable[[Tensor], tuple[Any, ...]] = lambda values: (values,)) -> None:
        super().__init__()
        self.module, self.how = module, how

    def forward(self, values: Tensor) -> Tensor:
        output: Tensor = self.module(*self.how(values))[0]
        return output.mean(1)


class Tied(nn.Module):
    """A table that is used again as the matrix at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.out.weight = self.table.weight

    def forward(self, values: Tensor) -> Tensor:
        output: Tensor = self.out(self.table(values).mean(1))
        return output


class Own(nn.Module):
    """A module with a parameter of its own, for which there is no rule."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.linear = nn.Parameter(torch.randn(4)), nn.Linear(4, 2)

    def forward(self, values: Tensor) -> Tensor:
        output: Tensor = self.linear(values * self.scale)
        return output


class Twice(nn.Module):
    """A layer that is used twice in one pass."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, values: Tensor) -> Tensor:
        output: Tensor = self.linear(self.linear(values).tanh())
        return output


def attention(**how: Any) -> nn.Module:  # noqa: ANN401 - torch's own arguments
    return nn.MultiheadAttention(4, 2, batch_first=True, **how)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "in place": (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 3)), (4,)),
    "places": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), Mean()), (5, 4)),
    "few places": (lambda: nn.Sequential(nn.Linear(40, 80), nn.Tanh(), nn.Linear(80, 3), Mean()), (2, 40)),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(4, 6, 3, 2, 1, 2, groups=2), nn.ReLU(), nn.Flatten()), (4, 11)),
    "conv2d": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 6, (3, 2), padding="same", padding_mode="circular"),
            nn.GroupNorm(2, 6),
            nn.Conv2d(6, 4, 3, stride=2),
            nn.Flatten(),
        ),
        (3, 8, 7),
    ),
    "conv3d": (
        lambda: nn.Sequential(nn.Conv3d(2, 4, 3, padding="same"), nn.InstanceNorm3d(4, affine=True), nn.Flatten()),
        (2, 3, 4, 5),
    ),
    "embedding": (
        lambda: nn.Sequential(
            nn.Embedding(7, 4, padding_idx=2), nn.LayerNorm(4), nn.Linear(4, 3), nn.RMSNorm(3), Mean()
        ),
        (),
    ),
    "tied": (Tied, ()),
    "own": (Own, (4,)),
    "twice": (Twice, (4,)),
    "rnn": (lambda: First(nn.RNN(4, 5, 2, batch_first=True, bidirectional=True)), (5, 4)),
    "lstm": (lambda: First(nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)), (5, 4)),
    "gru": (lambda: First(nn.GRU(4, 5, 2, batch_first=True)), (5, 4)),
    "attention": (lambda: First(attention(), lambda values: (values,) * 3), (5, 4)),
    "attention to others": (lambda: First(attention(), lambda values: (values, values.flip(1), 2 * values)), (5, 4)),
    "transformer": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), Mean()),
        (5, 4),
    ),
}


def made(name: str) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(len(name))
    build, shape = MODELS[name]
    values = torch.randn(COUNT, *shape).double() if shape else torch.randint(0, 7, (COUNT, 5))
    return build().double(), values


def one_by_one(model: nn.Module, losses: Callable[[int, int], Tensor], rows: int) -> dict[nn.Parameter, Tensor]:
    """Each unit's gradient by a backward pass of its own."""
    singles: dict[nn.Parameter, list[Tensor]] = {parameter: [] for parameter in trained(model)}
    for start in range(0, COUNT, rows):
        gradients = torch.autograd.grad(losses(start, start + rows).sum(), trained(model), allow_unused=True)
        for parameter, gradient in zip(trained(model), gradients, strict=True):
            singles[parameter].append(torch.zeros_like(parameter) if gradient is None else gradient)
    return {parameter: torch.stack(parts) for parameter, parts in singles.items()}


def differences(model: nn.Module, values: Tensor, rows: int) -> float:
    """The largest distance between what the tape says and gradients taken one by one."""
    with torch.no_grad():
        target = torch.randn_like(model(values))
    loss = of_each(nn.MSELoss())
    with recorded(model, rows=rows) as tape:
        terms = tape.backward(loss(model(values), target))
    exact = one_by_one(model, lambda start, end: loss(model(values[start:end]), target[start:end]), rows)
    weights = torch.rand(COUNT // rows).double()
    first = torch.arange(COUNT // rows) == 0
    worst = 0.0
    for parameter, single in exact.items():
        term = terms.get(parameter)
        if term is None:
            worst = max(worst, float(single.abs().max()))
            continue
        pairs = [
            (term.singles(), single),
            (term.squares(), single.flatten(1).square().sum(1)),
            (term.weighted(weights), torch.tensordot(weights, single, 1)),
            (term.without(first).weighted(weights), torch.tensordot(weights * ~first, single, 1)),
        ]
        worst = max(worst, *(float((seen - right).abs().max()) for seen, right in pairs))
    return worst


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_units_are_those_of_a_pass_for_each(name: str, rows: int) -> None:
    model, values = made(name)
    names = list(model.state_dict())
    assert differences(model, values, rows) < 1e-10
    assert list(model.state_dict()) == names
    assert not any(module._forward_hooks or "forward" in vars(module) for module in model.modules())


@pytest.mark.parametrize("broken", ["squares of one place", "a sum without weights"])
def test_the_check_sees_a_wrong_length_and_a_wrong_sum(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def one_place(term: Product) -> Tensor:
        return term.went.square().sum((1, 2)) * term.came.square().sum((1, 2))

    def unweighted(term: Term, weights: Tensor) -> Tensor:
        return term.singles().sum(0) * weights.mean()

    if broken == "squares of one place":
        monkeypatch.setattr(Product, "squares", one_place)
    else:
        monkeypatch.setattr(Moved, "weighted", unweighted)
    assert differences(*made("places"), rows=1) > 1e-3


class Outside(nn.Module):
    """A parameter used by somebody else than its layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.linear = nn.Embedding(7, 4), nn.Linear(4, 4)

    def forward(self, values: Tensor) -> Tensor:
        hidden: Tensor = self.linear(self.table(values).mean(1))
        return nn.functional.linear(hidden, self.table.weight)


class Changed(nn.Module):
    """What went into a layer is changed in place later."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, values: Tensor) -> Tensor:
        start = values + 0
        output: Tensor = self.linear(start)
        start += 1
        return output


@pytest.mark.parametrize(
    "model, values, words",
    [
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(3, 4), "layer 1 .BatchNorm1d. mixes"),
        (nn.Sequential(nn.Embedding(7, 4, max_norm=1.0), Mean()), torch.randint(0, 7, (3, 5)), "max_norm"),
        (Outside(), torch.randint(0, 7, (3, 5)), "parameter table.weight is used outside its layer"),
        (Changed(), torch.randn(3, 4), "changed in place"),
        (First(nn.LSTM(4, 5)), torch.randn(3, 5, 4), "batch_first=True"),
        (First(nn.MultiheadAttention(4, 2), lambda values: (values,) * 3), torch.randn(3, 5, 4), "batch_first=True"),
        (nn.Linear(4, 2).requires_grad_(requires_grad=False), torch.randn(3, 4), "no parameter that is trained"),
    ],
)
def test_what_has_no_gradient_of_its_own_is_refused(model: nn.Module, values: Tensor, words: str) -> None:
    with pytest.raises(ParameterError, match=words), recorded(model, rows=1) as tape:
        tape.backward(model(values).flatten(1).sum(1))


def test_batch_norm_is_replaced_in_a_copy() -> None:
    model = nn.Sequential(nn.Conv2d(1, 12, 3), nn.Sequential(nn.BatchNorm2d(12), nn.ReLU()))
    twin = without_batch_norm(model)
    assert isinstance(model[1][0], nn.BatchNorm2d)  # type: ignore[index]
    assert isinstance(twin[1][0], nn.GroupNorm)  # type: ignore[index]
    assert twin(torch.randn(2, 1, 5, 5)).shape == (2, 12, 3, 3)


def test_a_loss_for_the_whole_batch_is_refused() -> None:
    model = nn.Linear(4, 1)
    with pytest.raises(ParameterError, match="one number for each example"), recorded(model, rows=1) as tape:
        tape.backward(model(torch.randn(3, 4)).sum())
