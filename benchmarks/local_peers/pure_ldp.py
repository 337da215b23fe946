"""Seconds and n·Var of pure-ldp's oracles: `python -m benchmarks.local_peers.pure_ldp USERS ITEMS`."""

from __future__ import annotations

import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

users, items = int(sys.argv[1]), int(sys.argv[2])
values = np.minimum(np.arange(users) % (2 * items), items - 1)
truth = np.bincount(values, minlength=items)
said = []
for name in ("OUE", "HR"):
    begun = time.process_time()
    if name == "OUE":
        server = UEServer(1, items, use_oue=True)
        client = UEClient(1, items, use_oue=True)
    else:
        server = HadamardResponseServer(1, items)
        client = HadamardResponseClient(1, items, server.get_hash_funcs())
    for value in values:
        server.aggregate(client.privatise(int(value) + 1))
    found = np.array([server.estimate(item + 1) for item in range(items)])
    spent = (time.process_time() - begun) * 1_000_000 / users
    error = float(np.mean((found - truth)[:-1] ** 2) / users)
    said.append(f"{name} {spent:.0f} s for a million, n·Var {error:.2f} ({users:,} measured)")
print("; ".join(said))
