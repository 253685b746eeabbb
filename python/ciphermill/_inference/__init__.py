"""Private inference: layers, the integer network, encrypted forms of linear layers, messages, both parties.

`ciphermill.inference` is the public face. The arrows between the files run one way: numbers, layers, forms and choice, network,
plain; messages, parties; build and estimators.
"""
