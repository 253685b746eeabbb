"""A plugin of pytest that runs the snippets of pages: pytest -p snippets PAGE…

Every block `python` of a page runs, in order, in one namespace and one empty folder. None is left out. A block that prints is
followed by a block `output` with its output, in which `…` stands for any text within a line, and a line `…` for any lines.

A block `console` is a session: each line that begins with `$ ` is a command, and its output follows. A command continues after
a line that ends with a backslash. All sessions of a page run in one bash in that folder. Its command `ciphermill` is that of
CIPHERMILL_COMMAND, `python` is this interpreter, and `ciphermill-party` is that of its package.

A block `toml` or `python` that begins with a comment `# NAME.toml` or `# NAME.py` is that file. A later block must use a file of
Python: a session runs it, or another file imports it.

A picture in a folder `pictures`, on a page with such blocks, must have been saved under its name by a block before it, and the
committed picture must have the same words. With CIPHERMILL_WRITE_PICTURES=1, the saved picture becomes the committed one.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
from sybil import Document, Example, Lexeme, Region, Sybil
from sybil.evaluators.python import PythonEvaluator

import ciphermill

ROOT = Path(__file__).resolve().parents[2]
# Commands of the package, which is not installed here.
SHIMS = Path(__file__).resolve().parent / "bin"
BLOCK = re.compile(r"^```(python|output|console|toml(?=\n# [\w-]+\.toml\n))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w-]+)\.(?:py|toml)\n")
PICTURE = re.compile(r"^!\[[^]]*\]\((pictures/[^)]+)\)", re.MULTILINE)
SVG_TEXT = re.compile(r"<text\b[^>]*>([^<]*)</text>")
KEY_TAG = re.compile(r"\b[0-9a-f]{16}\b")
Evaluator = Callable[[Example], None]
# Of a page of all pages, in its namespace.
STATE = "__page__"

matplotlib.use("Agg")
# Texts of pictures are texts, and the same picture is the same file.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "ciphermill"
os.environ["SOURCE_DATE_EPOCH"] = "0"


class Shell:
    """One bash for all sessions of a page."""

    MARK = "-- done with "
    LIMIT_SECONDS = 60
    # Reads a line, runs it without standard input, and reports its exit status after a mark.
    LOOP = f"""set -m; exec 3<&0 </dev/null 2>&1
while IFS= read -r line <&3; do eval "$line"; printf '\\n{MARK}%s\\n' $?; done"""

    def __init__(self) -> None:
        folders = [Path(os.environ["CIPHERMILL_COMMAND"]).resolve().parent, Path(sys.executable).parent, SHIMS]
        binaries = ":".join(map(str, folders))
        environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": os.getcwd()}
        command = ["bash", "--noprofile", "--norc", "-c", self.LOOP]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

        # A thread reads, so that a command that prints less than the page shows is noticed.
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)

    def run(self, command: str, lines: int) -> tuple[int, str]:
        """The exit status and the output of a command; of one in the background, the first lines of its output."""
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        output: list[str] = []
        status = None
        while status is None or (command.endswith("&") and len(output) < lines):
            try:
                line = self.lines.get(timeout=self.LIMIT_SECONDS)
            except queue.Empty:
                raise AssertionError(f"no end of {command}\n{''.join(output)}") from None
            if line.startswith(self.MARK):
                status = int(line.removeprefix(self.MARK))
                # The line feed before the mark.
                if output and output[-1] == "\n":
                    output.pop()
            else:
                output.append(line)
        return status, "".join(output)

    def close(self) -> None:
        """End the shell and its jobs."""
        assert self.process.stdin
        self.process.stdin.write("kill $(jobs -p) 2>/dev/null; wait; exit\n")
        self.process.stdin.close()
        self.process.wait(self.LIMIT_SECONDS)


@dataclass
class Page:
    """The state of a page while its blocks run."""

    path: Path
    # The kind of the block after each block, by the start of the latter.
    following: dict[int, str]
    printed: str = ""
    shells: list[Shell] = field(default_factory=list)

    def shell(self) -> Shell:
        if not self.shells:
            self.shells.append(Shell())
        return self.shells[0]


def require_output(shown: str, output: str) -> None:
    """Compare an output with its print in a page; key tags differ in every run."""
    lines = [
        r"[\s\S]*?" if line == "…" else "[^\n]*?".join(map(re.escape, line.split("…")))
        for line in KEY_TAG.sub("TAG", shown.rstrip()).split("\n")
    ]
    if not re.fullmatch("\n".join(lines), KEY_TAG.sub("TAG", output.rstrip())):
        raise AssertionError(f"the page shows\n{shown}\nbut the output is\n{output}")


def run_python(example: Example) -> None:
    page: Page = example.namespace[STATE]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        PythonEvaluator()(example)
    page.printed = output.getvalue()
    if page.printed and page.following[example.start] != "output":
        raise AssertionError(f"the page does not show the output\n{page.printed}")


def compare_output(example: Example) -> None:
    page: Page = example.namespace[STATE]
    require_output(example.parsed, page.printed)


def run_session(example: Example) -> None:
    shell = example.namespace[STATE].shell()
    for step in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more.lstrip()
        status, output = shell.run(command, len(shown.splitlines()))
        if status != 0:
            raise AssertionError(f"{command}\nends with status {status} and the output\n{output}")
        require_output(shown, output)
        if command.startswith("kill "):
            # A person leaves the server the time to end.
            shell.run("wait", 0)


def words(picture: Path) -> set[str]:
    """The words of a picture, without its numbers."""
    return {text for text in SVG_TEXT.findall(picture.read_text()) if re.search("[A-Za-z]", text)}


def compare_picture(example: Example) -> None:
    committed = example.namespace[STATE].path.parent / example.parsed
    saved = Path(committed.name)
    if not saved.exists():
        raise AssertionError(f"no block before this picture saves {saved}; there are {sorted(os.listdir())}")
    if os.environ.get("CIPHERMILL_WRITE_PICTURES"):
        committed.parent.mkdir(exist_ok=True)
        shutil.copy(saved, committed)
    elif not committed.exists() or words(committed) != words(saved):
        raise AssertionError(f"{committed} is not the picture that these blocks make; run scripts/docs.sh pictures")


def write_file(example: Example) -> None:
    head, _, _ = example.parsed.partition("\n")
    Path(head.removeprefix("# ")).write_text(example.parsed)


def refuse_unused(example: Example) -> None:
    head, _, _ = example.parsed.partition("\n")
    raise AssertionError(f"no later block uses {head.removeprefix('# ')}; run it in a session, or import it")


EVALUATORS = {"python": run_python, "output": compare_output, "console": run_session, "file": write_file}


def evaluator(kind: str, source: str, after: str) -> tuple[str, Evaluator]:
    """The kind of a block and its evaluator, from its fence, its source and the page after it."""
    file = FILE.match(source)
    if kind not in ("python", "toml") or not file:
        return kind, EVALUATORS[kind]
    used = re.search(rf"\bpython {file[1]}\.py\b|\bfrom {file[1]} import\b", after)
    return "file", write_file if kind == "toml" or used else refuse_unused


def parse(document: Document) -> Iterator[Region]:
    """The blocks and pictures of a page, in their order."""
    found = []
    for match in BLOCK.finditer(document.text):
        kind, run = evaluator(match[1], match[2], document.text[match.end() :])
        # The source begins one line below the fence.
        lexeme = Lexeme(match[2], match.start(2) - match.start(), 0)
        found.append((match.start(), kind, Region(match.start(), match.end(), lexeme, run)))
    draws = any(kind == "python" for _, kind, _ in found)
    for match in PICTURE.finditer(document.text) if draws else ():
        found.append((match.start(), "picture", Region(match.start(), match.end(), match[1], compare_picture)))
    found.sort(key=lambda entry: entry[0])
    kinds = [kind for _, kind, _ in found]
    following = dict(zip([start for start, _, _ in found], [*kinds[1:], ""], strict=False))
    document.namespace[STATE] = Page(Path(document.path), following)
    return (region for _, _, region in found)


def enter(namespace: dict[str, Any]) -> None:
    """An empty folder and the default number of threads for a page."""
    folder = tempfile.TemporaryDirectory(prefix="ciphermill-page-")
    namespace["__leave__"] = leave = contextlib.ExitStack()
    leave.enter_context(folder)
    leave.enter_context(contextlib.chdir(folder.name))
    leave.callback(ciphermill.set_threads, ciphermill.threads())


def leave(namespace: dict[str, Any]) -> None:
    for shell in namespace[STATE].shells:
        shell.close()
    namespace["__leave__"].close()


pytest_collect_file = Sybil([parse], path=str(ROOT), patterns=["*.md"], setup=enter, teardown=leave).pytest()
