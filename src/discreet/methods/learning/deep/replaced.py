"""Layers that torch computes in one piece, written as products on the tape: attention and recurrent networks.

They compute what torch's own do, from the same parameters under the same names; nothing of the model changes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from discreet.errors import ParameterError
from discreet.methods.learning.deep.terms import Moved, Product, in_units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from discreet.methods.learning.deep.terms import Terms


__all__ = ["REPLACED", "Recorder"]


class Recorder(Protocol):
    """What keeps the products of a pass: a tape."""

    rows: int
    names: Mapping[nn.Module, str]

    def use(self, module: nn.Module, went: Tensor, output: Tensor, terms: Callable[[Tensor], Terms]) -> None:
        """Keep one use of a layer."""

    def linear(self, module: nn.Module, went: Tensor, weight: Any, bias: Any) -> Tensor:  # noqa: ANN401 - parameters
        """Multiply by a matrix, and keep that."""


def _projected(module: nn.MultiheadAttention, tape: Recorder, given: Sequence[Tensor]) -> list[Tensor]:
    """Query, key and value, each through its part of the projection."""
    if module._qkv_same_embed_dim:  # noqa: SLF001 - as its own forward asks
        weight, bias = module.in_proj_weight, module.in_proj_bias
        if given[0] is given[1] is given[2]:
            return list(tape.linear(module, given[0], weight, bias).chunk(3, -1))
        width = module.embed_dim
        return [
            _sliced(module, tape, went, slice(place * width, (place + 1) * width)) for place, went in enumerate(given)
        ]
    weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    outputs = [tape.linear(module, went, weight, None) for went, weight in zip(given, weights, strict=True)]
    if module.in_proj_bias is None:
        return outputs
    msg = "a MultiheadAttention with kdim or vdim has one bias for three products; take bias=False there."
    raise ParameterError(msg)


def _sliced(module: nn.MultiheadAttention, tape: Recorder, went: Tensor, rows: slice) -> Tensor:
    """One part of a projection whose matrix holds three; what comes back is 0 for the other two."""
    weight, bias = module.in_proj_weight, module.in_proj_bias
    output = nn.functional.linear(went, weight[rows], None if bias is None else bias[rows])
    kept, width = went.detach(), weight.shape[0]

    def terms(came: Tensor) -> list[Any]:
        whole = torch.zeros(*came.shape[:-1], width, dtype=came.dtype)
        whole[..., rows] = came
        back = in_units(whole, tape.rows, width)
        products: list[Any] = [(weight, Product(in_units(kept, tape.rows, weight.shape[1]), back))]
        return products if bias is None else [*products, (bias, Moved(back, None, bias.shape))]

    tape.use(module, kept, output, terms)
    return output


def _attention(  # noqa: PLR0913, PLR0917 - torch's own signature
    module: nn.MultiheadAttention,
    tape: Recorder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,  # noqa: FBT001, FBT002 - as above
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,  # noqa: FBT001, FBT002 - as above
    is_causal: bool = False,  # noqa: FBT001, FBT002 - as above
) -> tuple[Tensor, Tensor | None]:
    """Attend as `nn.MultiheadAttention` does."""
    if not module.batch_first or query.dim() != 3 or module.bias_k is not None or module.add_zero_attn:
        name = tape.names[module]
        msg = f"layer {name}: a MultiheadAttention needs batch_first=True, three dimensions, no bias_kv, no zero_attn."
        raise ParameterError(msg)
    del is_causal  # a hint beside attn_mask
    parts = _projected(module, tape, (query, key, value))
    heads = [part.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for part in parts]
    scores = heads[0] @ heads[1].transpose(-1, -2) / heads[0].shape[-1] ** 0.5
    if attn_mask is not None:
        mask = attn_mask.unflatten(0, (-1, module.num_heads)) if attn_mask.dim() == 3 else attn_mask
        scores = scores.masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if key_padding_mask is not None:
        padding = key_padding_mask[:, None, None]
        scores = scores.masked_fill(padding, -torch.inf) if padding.dtype == torch.bool else scores + padding
    shares = scores.softmax(-1)
    mixed = nn.functional.dropout(shares, module.dropout, module.training) @ heads[2]
    output = tape.linear(module, mixed.transpose(1, 2).flatten(2), module.out_proj.weight, module.out_proj.bias)
    if not need_weights:
        return output, None
    return output, shares.mean(1) if average_attn_weights else shares


def _tanh_cell(act: Callable[[Tensor], Tensor], went: Tensor, back: Tensor, state: Any) -> Any:  # noqa: ANN401
    del state
    hidden = act(went + back)
    return hidden, (hidden,)


def _lstm_cell(went: Tensor, back: Tensor, state: Sequence[Tensor]) -> Any:  # noqa: ANN401 - output and state
    enter, forget, content, leave = (went + back).chunk(4, -1)
    cell = forget.sigmoid() * state[1] + enter.sigmoid() * content.tanh()
    hidden = leave.sigmoid() * cell.tanh()
    return hidden, (hidden, cell)


def _gru_cell(went: Tensor, back: Tensor, state: Sequence[Tensor]) -> Any:  # noqa: ANN401 - output and state
    reset, update, content = went.chunk(3, -1)
    reset_back, update_back, content_back = back.chunk(3, -1)
    keep = (update + update_back).sigmoid()
    fresh = (content + (reset + reset_back).sigmoid() * content_back).tanh()
    hidden = (1 - keep) * fresh + keep * state[0]
    return hidden, (hidden,)


def _cell(module: nn.RNNBase) -> tuple[Callable[..., Any], int]:
    """The cell of a network, and how many tensors its state has."""
    if isinstance(module, nn.LSTM):
        return _lstm_cell, 2
    if isinstance(module, nn.GRU):
        return _gru_cell, 1
    return partial(_tanh_cell, torch.tanh if module.nonlinearity == "tanh" else torch.relu), 1


def _recurrent(module: Any, tape: Recorder, went: Any, first: Any = None) -> Any:  # noqa: ANN401 - as torch's own
    """Run an RNN, a GRU or an LSTM step by step."""
    packed = not isinstance(went, torch.Tensor)
    if packed or went.dim() != 3 or not module.batch_first or getattr(module, "proj_size", 0):
        name = tape.names[module]
        kind = type(module).__name__
        msg = f"layer {name}: a {kind} needs batch_first=True, a plain tensor of three dimensions, no proj_size."
        raise ParameterError(msg)
    cell, parts = _cell(module)
    ways = 2 if module.bidirectional else 1
    shape = (module.num_layers * ways, went.shape[0], module.hidden_size)
    given = (first,) if isinstance(first, torch.Tensor) else first
    start: Any = given or tuple(torch.zeros(shape, dtype=went.dtype) for _ in range(parts))
    last: list[Sequence[Tensor]] = []
    for layer in range(module.num_layers):
        outputs = []
        for way in range(ways):
            state: Sequence[Tensor] = tuple(part[layer * ways + way] for part in start)
            steps, state = _direction(module, tape, went, cell, (layer, way), state)
            outputs.append(steps)
            last.append(state)
        went = torch.cat(outputs, -1)
        if module.dropout and layer + 1 < module.num_layers:
            went = nn.functional.dropout(went, module.dropout, module.training)
    final = tuple(torch.stack([state[part] for state in last]) for part in range(parts))
    return went, (final if parts == 2 else final[0])


def _direction(  # noqa: PLR0913, PLR0917 - each is a thing of its own
    module: Any,  # noqa: ANN401 - any recurrent network
    tape: Recorder,
    went: Tensor,
    cell: Callable[..., Any],
    place: tuple[int, int],
    state: Sequence[Tensor],
) -> tuple[Tensor, Sequence[Tensor]]:
    """Run one layer in one direction."""
    layer, way = place
    suffix = f"_l{layer}" + "_reverse" * way
    names = [f"{part}_{side}{suffix}" for part in ("weight", "bias") for side in ("ih", "hh")]
    weight, back_weight, bias, back_bias = (getattr(module, name, None) for name in names)
    entered = tape.linear(module, went, weight, bias)
    outputs = []
    times = range(went.shape[1])
    for time in reversed(times) if way else times:
        back = tape.linear(module, state[0], back_weight, back_bias)
        hidden, state = cell(entered[:, time], back, state)
        outputs.append(hidden)
    return torch.stack(outputs[::-1] if way else outputs, 1), state


REPLACED: dict[type[nn.Module], Callable[..., Any]] = {
    nn.MultiheadAttention: _attention,
    nn.RNN: _recurrent,
    nn.GRU: _recurrent,
    nn.LSTM: _recurrent,
}
"""Layers by their class, each with the function that computes it on a tape."""
