"""Deep learning needs torch, an extra: without it these tests skip, and in CI they run."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
torch.set_num_threads(1)
