"""The layers whose gradients are known: what went in and what came back make the terms of each parameter.

A layer is a class here and nothing else; whatever is not here and owns parameters is computed for each example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from discreet.errors import ParameterError
from discreet.methods.learning.deep.terms import Convolved, Lookup, Moved, Product, Term, in_units, precise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from discreet.methods.learning.deep.terms import Terms

__all__ = ["RULES", "replay", "require_layers"]

_MIXING = (nn.modules.batchnorm._BatchNorm,)  # noqa: SLF001 - the one base of all of them
_RANDOM = (nn.modules.dropout._DropoutNd,)  # noqa: SLF001 - as above


class Rule(Protocol):
    """What makes terms of one use of a layer."""

    def terms(self, rows: int, module: Any, went: Tensor, came: Tensor) -> Terms:  # noqa: ANN401 - of its own class
        """Give the terms of each parameter."""


class _Linear:
    """y = W x + b."""

    def terms(self, rows: int, module: nn.Linear, went: Tensor, came: Tensor) -> Terms:
        return self.products(rows, (module.weight, module.bias), went, came)  # type: ignore[arg-type]

    def products(self, rows: int, owned: tuple[nn.Parameter, nn.Parameter | None], went: Tensor, came: Tensor) -> Terms:
        """Give the terms of a matrix and a shift."""
        weight, bias = owned
        back = in_units(came, rows, weight.shape[0])
        terms: Terms = [(weight, Product(in_units(went, rows, weight.shape[1]), back))]
        if bias is not None:
            terms.append((bias, Moved(back, None, bias.shape)))
        return terms


class _Convolution:
    """Convolutions in one, two and three dimensions, in groups, dilated, padded in whichever way."""

    def terms(self, rows: int, module: Any, went: Tensor, came: Tensor) -> Terms:  # noqa: ANN401 - three classes
        sides = len(module.kernel_size)
        edges = module._reversed_padding_repeated_twice  # noqa: SLF001 - as its own forward does
        padding = (0,) * sides
        if module.padding_mode != "zeros":
            went = nn.functional.pad(went, edges, mode=module.padding_mode)
        elif module.padding == "same" or isinstance(module.padding, str):
            went = nn.functional.pad(went, edges)
        else:
            padding = module.padding
        how = (module.stride, padding, module.dilation, module.groups)
        kind = precise(came.dtype)
        back = came.to(kind)
        kernel: Term = Convolved(went.to(kind), back, module.weight.detach().to(kind), rows, how)
        terms: Terms = [(module.weight, kernel)]
        if module.bias is not None:
            channels = module.out_channels
            terms.append((module.bias, Moved(in_units(back.movedim(1, -1), rows, channels), None, (channels,))))
        return terms


class _Embedding:
    """Rows of a table."""

    def terms(self, rows: int, module: nn.Embedding, went: Tensor, came: Tensor) -> Terms:
        places = went.reshape(went.shape[0] // rows, -1)
        if module.padding_idx is not None:
            places = torch.where(places == module.padding_idx, -1, places)
        weight: Any = module.weight
        return [(weight, Lookup(places, in_units(came, rows, module.embedding_dim), module.num_embeddings))]


class _Normalization:
    """LayerNorm, RMSNorm: what is scaled and shifted is computed again without scale and shift."""

    def terms(self, rows: int, module: Any, went: Tensor, came: Tensor) -> Terms:  # noqa: ANN401 - two classes
        shape = tuple(module.normalized_shape)
        if isinstance(module, nn.LayerNorm):
            plain = nn.functional.layer_norm(went, shape, eps=module.eps)
        else:
            plain = nn.functional.rms_norm(went, shape, eps=module.eps)
        width = torch.Size(shape).numel()
        back, scale = in_units(came, rows, width), in_units(plain, rows, width)
        return _scaled(module, back, scale, shape)


class _Channels:
    """GroupNorm, InstanceNorm: one scale and one shift for each channel."""

    def terms(self, rows: int, module: Any, went: Tensor, came: Tensor) -> Terms:  # noqa: ANN401 - several classes
        channels = went.shape[1]
        groups = module.num_groups if isinstance(module, nn.GroupNorm) else channels
        plain = nn.functional.group_norm(went, groups, eps=module.eps)
        back, scale = (in_units(values.movedim(1, -1), rows, channels) for values in (came, plain))
        return _scaled(module, back, scale, (channels,))


def _scaled(module: Any, back: Tensor, scale: Tensor, shape: tuple[int, ...]) -> Terms:  # noqa: ANN401 - any of them
    terms: Terms = []
    if getattr(module, "weight", None) is not None:
        terms.append((module.weight, Moved(back, scale, shape)))
    if getattr(module, "bias", None) is not None:
        terms.append((module.bias, Moved(back, None, shape)))
    return terms


RULES: dict[type[nn.Module], Any] = {
    nn.Linear: _Linear(),
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d), _Convolution()),
    nn.Embedding: _Embedding(),
    **dict.fromkeys((nn.LayerNorm, nn.RMSNorm), _Normalization()),
    **dict.fromkeys((nn.GroupNorm, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d), _Channels()),
}
"""Layers by their class; a subclass may compute something else, and is taken as unknown."""


def require_layers(model: nn.Module) -> None:
    """Refuse a model with a layer through which one example touches another's gradient.

    >>> require_layers(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: layer 1 (BatchNorm1d) mixes the examples of a batch: ...
    """
    for name, module in model.named_modules():
        told = f"layer {name or 'of the model'} ({type(module).__name__})"
        tracked = getattr(module, "track_running_stats", False)
        if isinstance(module, _MIXING) or tracked:
            msg = (
                f"{told} mixes the examples of a batch: none of them has a gradient of its own. Put GroupNorm in its "
                "place; without_batch_norm(model) does."
            )
            raise ParameterError(msg)
        if isinstance(module, nn.Embedding) and (module.max_norm or module.scale_grad_by_freq or module.sparse):
            msg = f"{told} has max_norm, scale_grad_by_freq or sparse; leave them out, as they look at the whole batch."
            raise ParameterError(msg)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        msg = "the model has no parameter that is trained; let some of them require gradients."
        raise ParameterError(msg)


def replay(module: nn.Module, owned: Mapping[str, nn.Parameter], went: Tensor, came: Tensor) -> Mapping[str, Tensor]:
    """Compute a module's gradients for each row by running it again for each, vectorized."""
    if module.training and any(isinstance(part, _RANDOM) and part.p for part in module.modules()):
        msg = (
            f"a {type(module).__name__} owns parameters and contains dropout; its gradients for each example need a "
            "second pass, which would draw other values. Move the dropout or the parameters into modules of their own."
        )
        raise ParameterError(msg)
    values = {name: parameter.detach() for name, parameter in owned.items()}

    def of_one(row: Tensor, back: Tensor) -> Mapping[str, Tensor]:
        back_to: Any = torch.func.vjp(lambda held: torch.func.functional_call(module, held, (row[None],))[0], values)
        gradients: Mapping[str, Tensor] = back_to[1](back)[0]
        return gradients

    singles: Mapping[str, Tensor] = torch.func.vmap(of_one)(went, came)
    return singles
