"""The conversation of a peer: each line is answered by one that begins with `ok`; after anything else the process ends."""

import sys
from collections.abc import Callable


def serve(answer: Callable[[str], str]) -> None:
    """Answers until the input ends."""
    for line in sys.stdin:
        print("ok", answer(line), flush=True)
