"""A run's position as bytes, without pickle: parameters, buffers, optimizer and whatever else goes on."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from discreet.errors import LedgerError

if TYPE_CHECKING:
    from torch import nn

__all__ = ["packed", "unpacked"]

_VERSION = 1


def packed(model: nn.Module, optimizer: torch.optim.Optimizer | None, more: dict[str, Any]) -> bytes:
    """Write a model, its optimizer, and a JSON object.

    >>> model = torch.nn.Linear(1, 1)
    >>> unpacked(packed(model, None, {"step": 3}), model, None)
    {'step': 3}
    """
    arrays: dict[str, Any] = {}
    told: dict[str, Any] = {"version": _VERSION, "more": more, "model": _flat(model.state_dict(), "model", arrays)}
    if optimizer is not None:
        told["optimizer"] = _flat(optimizer.state_dict(), "optimizer", arrays)
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpacked(sealed: bytes, model: nn.Module, optimizer: torch.optim.Optimizer | None) -> dict[str, Any]:
    """Read what `packed` wrote into a model and its optimizer; the JSON object is returned."""
    try:
        with np.load(io.BytesIO(sealed), allow_pickle=False) as arrays:
            told = json.loads(arrays["told"].tobytes())
            if told["version"] != _VERSION:
                msg = f"this run is written in version {told['version']}; this version of discreet reads {_VERSION}."
                raise LedgerError(msg)
            model.load_state_dict(_deep(told["model"], arrays))
            if optimizer is not None:
                optimizer.load_state_dict(_deep(told["optimizer"], arrays))
    except (KeyError, ValueError, RuntimeError, OSError, EOFError) as error:
        msg = f"what was kept does not fit this model and optimizer ({type(error).__name__}); build them as they were."
        raise LedgerError(msg) from None
    more: dict[str, Any] = told["more"]
    return more


def _flat(value: Any, name: str, arrays: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever a state dict holds
    """Write tensors aside, and give the rest as JSON; keys of any type become pairs."""
    if isinstance(value, torch.Tensor):
        kept = value.detach().cpu()
        arrays[name] = kept.float().numpy() if kept.dtype == torch.bfloat16 else kept.numpy()
        return {"tensor": name, "type": str(kept.dtype).removeprefix("torch.")}
    if isinstance(value, dict):
        return {"pairs": [[key, _flat(part, f"{name}.{key}", arrays)] for key, part in value.items()]}
    if isinstance(value, list | tuple):
        parts = [_flat(part, f"{name}.{place}", arrays) for place, part in enumerate(value)]
        return {"items": parts, "tuple": isinstance(value, tuple)}
    return {"plain": value}


def _deep(told: Any, arrays: Any) -> Any:  # noqa: ANN401 - as above
    if "tensor" in told:
        return torch.from_numpy(arrays[told["tensor"]].copy()).to(getattr(torch, told["type"]))
    if "pairs" in told:
        return {key: _deep(part, arrays) for key, part in told["pairs"]}
    if "items" in told:
        parts = [_deep(part, arrays) for part in told["items"]]
        return tuple(parts) if told["tuple"] else parts
    return told["plain"]
