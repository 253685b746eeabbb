"""The end of a party by a signal, within half a second.

    SIGINT     the party says goodbye, so that its peers end also
    SIGTERM    the party ends without a goodbye; its peers wait for its return until their deadline

The files of the state are complete at every moment, so both may come at any time. Python calls handlers in the main thread,
which may be in a long computation. So another thread, which gets the number of the signal at once, ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds for the goodbye after SIGINT.
GOODBYE = 0.4

#: The exit status of a party that a signal ends.
STATUS = 1

SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def stopping(hint: str) -> Iterator[None]:
    """Ends the process after a signal, with exit status 1 and a line with a hint. Only the main thread may call it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    handlers = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda number, frame: None),
    }
    earlier = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    thread = threading.Thread(target=_watch, args=(reader, hint), name="ciphermill signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(earlier)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(writer)
        thread.join()
        os.close(reader)


def _watch(reader: int, hint: str) -> None:
    """Waits for the numbers of signals."""
    while data := os.read(reader, 1):
        if data[0] == signal.SIGTERM:
            end(f"ended by SIGTERM; {hint}")
        if data[0] == signal.SIGINT:
            threading.Thread(target=_end_later, args=(hint,), daemon=True).start()


def _end_later(hint: str) -> None:
    time.sleep(GOODBYE)
    end(f"ended by SIGINT; {hint}")


def end(line: str) -> None:
    """End the process now, also if the main thread computes."""
    stream = sys.stderr
    cursor = SHOW_CURSOR if stream.isatty() else ""
    # Not through the buffer of the stream: the main thread may hold its lock.
    os.write(stream.fileno(), f"{cursor}{line}\n".encode())
    os._exit(STATUS)
