"""What jax-privacy's buffered strategies err: `python -m benchmarks.streaming_peers.jax_privacy 65536 2 3`."""

from __future__ import annotations

import json
import sys
import time

import jax
import numpy as np
from jax_privacy.matrix_factorization import buffered_toeplitz

jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - as the library has it


def errors(steps: int, buffers: int) -> tuple[float, float, float]:
    """Optimize a strategy for so many sums: rms and largest standard deviation at rho = 1/2, and CPU seconds."""
    begun = time.process_time()
    strategy = buffered_toeplitz.optimize(n=steps, min_buffers=buffers, max_buffers=buffers)
    inverse, moved = strategy.inverse(), float(buffered_toeplitz.sensitivity_squared(strategy, steps))
    squares = jax.vmap(lambda step: buffered_toeplitz.iteration_error(inverse, step))(np.arange(steps))
    deviations = np.sqrt(np.asarray(squares) * moved)
    return float(np.sqrt(np.mean(deviations**2))), float(deviations.max()), time.process_time() - begun


def main() -> None:
    """Print the errors for each number of buffers."""
    steps, *buffers = map(int, sys.argv[1:])
    print(json.dumps({str(count): errors(steps, count) for count in buffers}))


if __name__ == "__main__":
    main()
