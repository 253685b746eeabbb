"""`python -m ciphermill.federated._party` is `ciphermill-party`."""

import sys

from ciphermill.federated._party import main

if __name__ == "__main__":
    sys.exit(main())
