"""What a forward pass leaves behind: for each use of a parameter, what went in, and where the gradient will come back.

Layers are not wrapped and nothing is renamed: for one pass, hooks keep what went into each leaf layer. One pass
backward then gives the gradients of the layers' outputs, not those of parameters.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch
from torch import nn

from discreet.errors import ParameterError
from discreet.methods.learning.deep.layers import RULES, replay, require_layers
from discreet.methods.learning.deep.replaced import REPLACED
from discreet.methods.learning.deep.terms import Single, Term, combined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor
    from torch.autograd.graph import GradientEdge

    from discreet.methods.learning.deep.terms import Terms

__all__ = ["Tape", "recorded"]

_CHECKED: WeakSet[nn.Module] = WeakSet()
"""Models each of whose parameters was seen to be used by layers alone."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a layer: where its output's gradient comes back, and what to make of it."""

    name: str
    edge: GradientEdge
    terms: Callable[[Tensor], Terms]
    went: Tensor
    version: int


class Tape:
    """The uses of all layers in one pass, for a batch of so many rows, `rows` of them for each unit.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> with recorded(model, rows=1) as tape:
    ...     losses = model(torch.tensor([[3.0, 4.0]])).sum(1)
    >>> [term.squares().tolist() for term in tape.backward(losses).values()]
    [[25.0]]
    """

    def __init__(self, model: nn.Module, rows: int) -> None:
        self.model = model
        self.rows = rows
        self.names = {module: name or type(module).__name__ for name, module in model.named_modules()}
        self._uses: list[Use] = []
        self.going_back = False
        self._opaque: set[nn.Parameter] = set()

    def use(self, module: nn.Module, went: Tensor, output: Tensor, terms: Callable[[Tensor], Terms]) -> None:
        """Keep one use; outputs that no gradient reaches are of no parameter that is trained."""
        if output.requires_grad:
            edge = torch.autograd.graph.get_gradient_edge(output)
            self._uses.append(Use(self.names.get(module, type(module).__name__), edge, terms, went, went._version))  # noqa: SLF001 - torch has no other

    def opaque(self, module: nn.Module) -> None:
        """Note that the uses inside a module are not counted one by one."""
        self._opaque.update(module.parameters())

    def linear(self, module: nn.Module, went: Tensor, weight: Any, bias: Any) -> Tensor:  # noqa: ANN401 - parameters
        """Multiply by a matrix, on the tape: for layers that are made of several products."""
        output = nn.functional.linear(went, weight, bias)
        kept = went.detach()
        self.use(module, kept, output, lambda came: RULES[nn.Linear].products(self.rows, (weight, bias), kept, came))
        return output

    def backward(self, losses: Tensor) -> dict[nn.Parameter, Term]:
        """Go back once, and give for each parameter what its gradient is made of."""
        self._require_rows(losses)
        self.going_back = True  # what runs again for each example leaves nothing on the tape
        count = losses.shape[0]
        came = torch.autograd.grad(losses.sum(), [use.edge for use in self._uses], allow_unused=True)
        parts: dict[nn.Parameter, list[Term]] = {}
        for use, gradient in zip(self._uses, came, strict=True):
            if gradient is None:
                continue
            if gradient.shape[0] != count or use.went.shape[0] != count:
                sizes = f"{use.went.shape[0]} in, {gradient.shape[0]} out"
                msg = (
                    f"layer {use.name}: the first dimension ({sizes}) is not the batch of {count}. Per-example "
                    "gradients need the examples in the first dimension of every layer (batch_first=True)."
                )
                raise ParameterError(msg)
            if use.went._version != use.version:  # noqa: SLF001 - as above
                msg = f"layer {use.name}: what went in was changed in place afterwards; use the form that makes a copy."
                raise ParameterError(msg)
            for parameter, term in use.terms(gradient):
                if parameter.requires_grad:
                    parts.setdefault(parameter, []).append(term)
        self._require_all_seen(losses, parts)
        return {parameter: combined(terms) for parameter, terms in parts.items()}

    def _require_rows(self, losses: Tensor) -> None:
        if losses.dim() != 1 or losses.shape[0] % self.rows:
            msg = (
                f"the loss has the shape {tuple(losses.shape)}; it must be one number for each example. Take "
                "reduction='none'."
            )
            raise ParameterError(msg)

    def _require_all_seen(self, losses: Tensor, parts: dict[nn.Parameter, list[Term]]) -> None:
        """Refuse a model that uses parameters outside their layers: that part of the gradient would be lost."""
        if self.model in _CHECKED:
            return
        seen = _edges(losses)
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad and parameter not in self._opaque:
                used, known = seen[parameter], len({id(term) for term in parts.get(parameter, ())})
                if used > known:
                    msg = (
                        f"parameter {name} is used outside its layer, where its per-example gradient cannot be seen. "
                        "Use it in the forward of the module that owns it, or freeze it with requires_grad_(False)."
                    )
                    raise ParameterError(msg)
        _CHECKED.add(self.model)


def _edges(losses: Tensor) -> Counter[nn.Parameter]:
    """Count for each parameter the places of the graph that lead to it."""
    counts: Counter[Any] = Counter()
    node = losses.grad_fn
    todo, known = [node], {node}
    while todo:
        for following, _ in getattr(todo.pop(), "next_functions", ()):
            if following is None:
                continue
            variable = getattr(following, "variable", None)
            if variable is not None:
                counts[variable] += 1
            elif following not in known:
                known.add(following)
                todo.append(following)
    return counts


@contextmanager
def recorded(model: nn.Module, *, rows: int) -> Iterator[Tape]:
    """Put what layers do on a tape while the block runs; the model is as before after it."""
    require_layers(model)
    tape = Tape(model, rows)
    undo: list[Callable[[], None]] = []
    try:
        for module in _leaves(model):
            if not any(parameter.requires_grad for parameter in module.parameters()):
                continue
            if (replacement := REPLACED.get(type(module))) is not None:
                undo.append(_replaced(module, tape, replacement))
            else:
                undo.append(module.register_forward_hook(_hook(tape), with_kwargs=True).remove)
        yield tape
    finally:
        for step in undo:
            step()


def _leaves(module: nn.Module) -> Iterator[nn.Module]:
    """Give the modules that are handled whole: known layers, and others that own parameters."""
    known = type(module) in RULES or type(module) in REPLACED
    if known or any(True for _ in module.parameters(recurse=False)):
        yield module
    else:
        for child in module.children():
            yield from _leaves(child)


def _replaced(module: nn.Module, tape: Tape, forward: Callable[..., Any]) -> Callable[[], None]:
    """Let one module compute by products on the tape for a while."""
    module.forward = lambda *given, **named: forward(module, tape, *given, **named)
    return lambda: delattr(module, "forward")


def _hook(tape: Tape) -> Callable[..., None]:
    def keep(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:  # noqa: ANN401
        if tape.going_back:
            return
        rule = RULES.get(type(module))
        if len(given) != 1 or named or not isinstance(given[0], torch.Tensor) or not isinstance(output, torch.Tensor):
            msg = f"layer {tape.names[module]} ({type(module).__name__}): one tensor in and one out can be followed."
            raise ParameterError(msg)
        went = given[0].detach()
        if rule is not None:
            tape.use(module, went, output, lambda came: rule.terms(tape.rows, module, went, came))
            return
        tape.opaque(module)
        tape.use(module, went, output, lambda came: _by_vmap(tape, module, went, came))

    return keep


def _by_vmap(tape: Tape, module: nn.Module, went: Tensor, came: Tensor) -> Terms:
    """Compute a whole module's gradient for each row, for layers that have no rule."""
    owned = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    singles = replay(module, owned, went, came)
    return [
        (parameter, Single(singles[name].reshape(-1, tape.rows, *parameter.shape).sum(1)))
        for name, parameter in owned.items()
    ]
