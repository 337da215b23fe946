"""Adam for noisy gradients: their squares are corrected for the noise, whose variance is public."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["PrivateAdam"]


class PrivateAdam(torch.optim.Optimizer):
    r"""Adam whose second moment is that of the gradient without the noise.

    Tang, Shpilevskiy & Lécuyer 2024 (arXiv:2312.14334: DP-AdamBC). With noise of variance $\phi$ the mean of squares
    is too large by $\phi$; $\max(\hat v - \phi, \text{least})$ takes its place. `PrivateTrainer` writes $\phi$ into
    `noise_variance` at each step; all this is post-processing.

    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = PrivateAdam([weight], lr=0.1)
    >>> weight.grad = torch.ones(1)
    >>> optimizer.step()
    >>> round(float(weight.detach()), 3)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        least: float = 1e-8,
        noise_variance: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "least": least, "noise_variance": noise_variance})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["count"] = torch.zeros(())
                    state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
                state["count"] += 1
                state["mean"].lerp_(parameter.grad, 1 - first)
                state["square"].mul_(second).addcmul_(parameter.grad, parameter.grad, value=1 - second)
                mean = state["mean"] / (1 - first ** state["count"])
                square = state["square"] / (1 - second ** state["count"]) - group["noise_variance"]
                parameter.sub_(group["lr"] * mean / square.clamp_min(group["least"]).sqrt())
        return loss
