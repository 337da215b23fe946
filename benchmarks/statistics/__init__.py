"""One module a library: how this library answers a question, each in the most accurate way it offers.

A module imports its library when it is imported itself, in the environment that `python -m benchmarks.setup` made for
it.
"""

OWN = "discreet"
PEERS = ("opendp", "diffprivlib", "tmlt_core", "python_dp", "smartnoise")
NEW_PEERS = ("smartnoise",)
"""Those that no other benchmark compares; their pins stand in this folder."""
TITLES = {
    "discreet": "discreet",
    "opendp": "opendp",
    "diffprivlib": "diffprivlib",
    "tmlt_core": "tmlt.core",
    "python_dp": "python-dp",
    "smartnoise": "smartnoise-sql",
}
