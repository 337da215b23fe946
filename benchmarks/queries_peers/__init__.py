"""One module a library: how it answers questions to a table, each in the most accurate way it offers for groups.

A module imports its library when it is imported itself, in the environment that `python -m benchmarks.setup` made for
it.
"""

OWN = "discreet"
FLOOR = "plain"
"""DuckDB without privacy, called like a library."""
PEERS = ("opendp_polars", "pipelinedp", "smartnoise", "tmlt_analytics", "diffprivlib")
NEW_PEERS = ("opendp_polars", "pipelinedp", "tmlt_analytics")
"""Those that no other benchmark compares; their pins stand in this folder."""
TITLES = {
    "plain": "plain DuckDB",
    "discreet": "discreet",
    "opendp_polars": "opendp (polars)",
    "pipelinedp": "pipeline-dp (local)",
    "smartnoise": "smartnoise-sql",
    "tmlt_analytics": "tmlt.analytics (Spark)",
    "diffprivlib": "diffprivlib",
}
