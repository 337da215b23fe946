"""Speed and memory against peers and floors: `python -m benchmarks.X` prints a table and writes JSON."""
