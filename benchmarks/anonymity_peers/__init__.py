"""Another package that measures anonymity.

Its module imports the library when it is imported itself, in the environment that `python -m benchmarks.setup` made.
"""

PEERS = ("pycanon",)
