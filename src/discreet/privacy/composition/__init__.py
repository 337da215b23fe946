"""Composition theorems by name, each in its own file with its source, for readers and comparison.

Which to use: none of them for accounting. Curves compose numerically and are never worse; the
theorems show what each line of the literature gives away (`compare`).
"""
