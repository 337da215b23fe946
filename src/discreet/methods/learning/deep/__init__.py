"""Deep learning: DP-SGD for any torch model and optimizer, without wrapping either (needs the extra `torch`).

>>> import torch
>>> from discreet.methods.learning.deep import private_gradients
>>> model = torch.nn.Linear(2, 1)
>>> step = private_gradients(model, torch.nn.MSELoss(), (torch.randn(8, 2), torch.randn(8, 1)), sigma=2, expected=8)
>>> model.weight.grad is not None
True
"""

from __future__ import annotations

from discreet.methods.learning.deep.batch_norm import without_batch_norm
from discreet.methods.learning.deep.clipping import Adaptive, Automatic, Clipping, Flat, PerLayer
from discreet.methods.learning.deep.gradients import ClippedSum, clipped_sum, private_gradients
from discreet.methods.learning.deep.optimizers import PrivateAdam
from discreet.methods.learning.deep.promise import DeepTraining
from discreet.methods.learning.deep.trainer import PrivateTrainer, load

__all__ = [
    "Adaptive",
    "Automatic",
    "ClippedSum",
    "Clipping",
    "DeepTraining",
    "Flat",
    "PerLayer",
    "PrivateAdam",
    "PrivateTrainer",
    "clipped_sum",
    "load",
    "private_gradients",
    "without_batch_norm",
]
