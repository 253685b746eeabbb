"""Runs a command with a limit on its time that holds for all that it starts, too."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO


class TimeUp(Exception):
    """The command did not end in time; nothing of it runs any more."""


def run(
    command: Sequence[str], seconds: float, output: IO[str], environment: Mapping[str, str], folder: Path | None = None
) -> int:
    """The command's exit status; it writes to `output`."""
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise TimeUp(f"not done after {seconds:.0f} s") from None
