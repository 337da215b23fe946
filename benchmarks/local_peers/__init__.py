"""Peers of the local model, each run by a Python that has it."""
