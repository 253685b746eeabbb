"""The product of a party's matrix with an encrypted vector: by threads, and by workers of Ray on several nodes.

`make bench CASES=ray` runs it; docs/howto/ray.md describes the cases.
"""
