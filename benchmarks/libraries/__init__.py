"""One module a library: how this library makes noise, each in the fastest way it offers honestly.

A module imports its library when it is imported itself, in the environment that `python -m benchmarks.setup` made for
it (`<name>.txt` pins what goes into it). `discreet`, `numpy` and `keystream` run in the current environment.
"""

OWN = "discreet"
FLOORS = ("numpy", "keystream")
PEERS = ("opendp", "tmlt_core", "diffprivlib", "python_dp")
TITLES = {
    "discreet": "discreet",
    "numpy": "numpy (unsafe floor)",
    "keystream": "AES-256-CTR (floor)",
    "opendp": "opendp",
    "tmlt_core": "tmlt.core",
    "diffprivlib": "diffprivlib",
    "python_dp": "python-dp",
}
