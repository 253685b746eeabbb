"""The Python package `ciphermill` compared with its peers in one process: same inputs, alternately, results compared.

`make bench CASES=python` runs it; docs/bench.md describes the cases.
"""
