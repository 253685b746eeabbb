"""Ports of this machine for tests."""

import random
import socket

#: Below the ports that the system gives to connections, and beside those of Ray's workers (10002 to 19999) and clients (23000 to
#: 23999). Tests that run at the same time may choose from them.
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
