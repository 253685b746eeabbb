"""Ports of this machine for tests."""

import random
import socket

#: Linux gives connections ports from 32768 on. Ray's workers have 10002 to 19999, its clients 23000 to 23999.
LEAST, MOST = 24_000, 32_767


def free_port() -> int:
    """A port on which no process listens."""
    while True:
        port = random.SystemRandom().randint(LEAST, MOST)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
