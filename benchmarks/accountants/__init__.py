"""One module a library: how this library accounts for a composition, each in the tightest way it offers.

A module imports its library when it is imported itself, in the environment that `python -m benchmarks.setup` made for
it. A way that refuses a case raises, and the table shows what it said.
"""

OWN = "discreet"
PEERS = ("dp_accounting", "prv_accountant", "autodp", "opacus")
TITLES = {
    "discreet": "discreet",
    "dp_accounting": "dp-accounting",
    "prv_accountant": "prv-accountant",
    "autodp": "autodp",
    "opacus": "opacus",
}
