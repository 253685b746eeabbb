"""Logistic regression over columns of two parties: the numbers, the parties, their exchange and the solver.

The modules know nothing of scikit-learn and nothing of a network. `numbers` encodes, `party` computes on the columns of one
party, `exchange` forms the products that both parties contribute to, `solver` drives them, `report` states the costs and the
leaks.
"""
