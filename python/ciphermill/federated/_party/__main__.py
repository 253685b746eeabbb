"""`python -m ciphermill.federated._party`: the command `ciphermill-party`."""

import sys

from ciphermill.federated._party import main

sys.exit(main())
