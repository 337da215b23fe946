"""From plan nodes to SQL: what all engines share. Only `discreet.engines` uses it."""
