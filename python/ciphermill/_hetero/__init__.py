"""Logistic regression over the columns of several parties: numbers, parties, protocols, solvers.

The modules know nothing of scikit-learn and nothing of a network. `numbers` encodes, `party` computes on the columns of one
party, `messages` defines a party's part of a protocol and drives all parts in one process, `scalars` adds numbers of all
parties, `exchange` and the protocols below it form the products that all parties contribute to, `solver` drives them,
`training` puts them together, `report` states the costs and the leaks.
"""
