"""Other packages for discoveries one after the other: what they decide and at which levels.

A module imports its library when it is imported itself, in the environment that `python -m benchmarks.setup` made for
it.
"""

OWN = "discreet"
PEERS = ("online_fdr",)
TITLES = {"discreet": "discreet", "online_fdr": "online-fdr"}
