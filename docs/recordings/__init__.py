"""Recordings of the terminal: each is made by running the command."""
