"""What takes the place of batch normalization, which has no gradient for each example."""

from __future__ import annotations

import copy

from torch import nn

__all__ = ["without_batch_norm"]


def without_batch_norm(model: nn.Module, groups: int = 8) -> nn.Module:
    """Copy a model with GroupNorm in the place of every BatchNorm: of `groups` groups, or fewer where they divide it.

    >>> without_batch_norm(nn.Sequential(nn.Linear(2, 12), nn.BatchNorm1d(12)))[1]
    GroupNorm(6, 12, eps=1e-05, affine=True, bias=True)
    """
    twin = copy.deepcopy(model)
    if isinstance(twin, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - the one base of all of them
        return _grouped(twin, groups)
    for name, module in list(twin.named_modules()):
        if isinstance(module, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - as above
            parent, _, own = name.rpartition(".")
            setattr(twin.get_submodule(parent), own, _grouped(module, groups))
    return twin


def _grouped(module: nn.modules.batchnorm._BatchNorm, groups: int) -> nn.GroupNorm:
    channels = module.num_features
    fitting = next(count for count in range(min(groups, channels), 0, -1) if channels % count == 0)
    return nn.GroupNorm(fitting, channels, eps=module.eps, affine=module.affine)
