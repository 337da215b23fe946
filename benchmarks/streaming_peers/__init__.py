"""Other packages for running sums: how wrong their factorizations are.

A module imports its library when it is imported itself, in the environment that `python -m benchmarks.setup` made for
it.
"""

OWN = "discreet"
PEERS = ("jax_privacy",)
TITLES = {"discreet": "discreet", "jax_privacy": "jax-privacy"}
