"""Counts clauses and phrases that make a text hard to read, in pages, doc comments, messages and RTL comments.

    python scripts/prose.py             # everything; exit status 1 if a limit is exceeded
    python scripts/prose.py PATH…       # only texts below these paths
    python scripts/prose.py --count     # a table of counts, no places

A page (`*.md`) is one text, and so are the Markdown cells of a notebook, the doc comments and messages of a crate, and the
comments of a hardware unit. A message is a string literal of `#[error(…)]`, or any other of four words or more outside of tests. Limits:
free relative clauses ("what is stored", "those that are listed") 0.5 per 1,000 words of a text; none of the phrases below;
no sentence over 40 words; in pages and notebooks no prose line over 100 columns and no empty header cell. The guard catches a
slip; it does not make a good page.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FREE_RELATIVES_PER_1000 = 0.5
SENTENCE_WORDS = 40
LINE_COLUMNS = 100
# Pages whose wording is not ours to choose, or that quote.
EXEMPT = {"LICENSE"}

VERBS = (
    "is|are|was|were|isn't|has|have|had|does|do|did|can|could|must|may|might|would|will|comes?|came|goes|went|follows?|"
    "stands?|stood|remains?|needs?|holds?|makes?|takes?|gives?|gave|says?|said|tells?|reads?|writes?|computes?|asks?|calls?|"
    "belongs?|fits?|lies|changes?|happens?|runs?|uses?|sends?|sent|arrives?|matters?"
)
SUBJECTS = "it|they|he|she|we|you|one|each|every|all|ours|this|that|these|those|the|a|an|its|their|other|others"
FREE_RELATIVE = re.compile(
    rf"\bwhat (?:{VERBS}|{SUBJECTS})\b"
    rf"|(?:^|[,;:.(] |\b(?:and|or|but|by|for|of|to|from|than|as|with) )who (?:{VERBS})\b"
    r"|\bthe ones? (?:that|which|who|of)\b|\bthose (?:that|which|who|whose)\b|\bthat which\b"
    r"|\b(?:all|anything|nothing|everything|something) that (?:is|are|was|were|has|have|it|they|there)\b",
    re.IGNORECASE,
)
# A pattern; fragments in lower case, one of which every match has; the advice. The fragments are a fast first look.
PHRASES = [
    (
        r"(?<!there )\b(?:is|are|was|were|be) no (?!longer|more|less|fewer|later|earlier|larger|smaller|greater)",
        " no ",
        "is no X: write 'is not a X'",
    ),
    (
        r"\bof (?:its|their|his|one's) own(?=[.,;:)]|$| (?:and|or|in|on|by|for|with|that|which|to|is|are|from)\b)",
        " own",
        "of its own: write 'its own' or 'separate'",
    ),
    (r"\bbeside\b", "beside", "beside: write 'next to', 'compared with' or 'in addition to'"),
    (r"\banew\b", "anew", "anew: write 'again' or 'new'"),
    (
        r"\bso (?:many|much) (?!faster|slower|more|less|larger|smaller|that)",
        "so m",
        "so many: write 'as many … as' or 'the number of'",
    ),
    (r"\bwhoever\b|\bnobody\b|\bsomebody\b", "whoever|nobody|somebody", "whoever, nobody: name the caller"),
    (
        r"\b(?:is|are|was|were) (?:not |already |still )?there(?=[.,;:)]|$)",
        " there",
        "is there: write 'exists' or 'is present'",
    ),
    (r"\bunder way\b", "under way", "under way: write 'in progress'"),
    (r"\bother than in\b", "other than in", "other than in: write 'unlike'"),
    (r"\bwants?\b", "want", "wants: write 'requires' or 'expects'"),
    (r"\btells?\b|\btold\b", "tell|told", "tells: write 'reports'"),
    (r", too(?=[.,;:)]|$)", ", too", ", too: write 'also' before the verb"),
    (r"\bof ours\b|\bof yours\b|\bof theirs\b", "of ours|of yours|of theirs", "of ours: name the thing"),
    (
        r"\b(?:has|have|had|needs?) not(?=[.,;:)]|$)|\bwhich (?:\w+ ){1,4}(?:has|have) not\b",
        " not",
        "has not: write 'does not have'",
    ),
    (r"\bwith it means nothing\b|\bmeans nothing there\b", "means nothing", "say which option is refused"),
    (r"\bin its turn\b|\bin their turn\b", " turn", "in its turn: name the order"),
    (
        r"\bfrom within\b|\bwhence\b|\bthereof\b|\btherein\b|\bwherein\b|\bwhereof\b|\bhitherto\b|\bthereby\b",
        "from within|whence|thereof|therein|wherein|whereof|hitherto|thereby",
        "archaic",
    ),
    (r"\bthe latter's\b|\bthe former's\b", "the latter's|the former's", "repeat the noun"),
    (r"\bis to be\b|\bare to be\b", " to be", "is to be: write 'must be' or name who does it"),
    (
        r"\bfor what\b|\bof what\b|\bto what (?!extent)|\bby what\b|\bfrom what\b|\bthan what\b|\bin what\b",
        " what",
        "name the noun in place of 'what'",
    ),
    (r"\bnone of (?:fft|them)\b", "none of", "none of: write 'not used by'"),
    (r"\bif any at all\b|\bat all events\b", "any at all|at all events", "filler"),
    (r"\bnot but\b|\ball but (?:what|for)\b", "not but|all but", "all but: write 'except'"),
    (r"\bmay not be \w+ed what\b", "may not be", "free relative"),
    (r"\bas it were\b|\bso to speak\b", "as it were|so to speak", "filler"),
    (r"\bwhich is why\b", "which is why", "start a new sentence"),
    (r"\bthe said\b", "the said", "the said: name it"),
    (r"\bwhat of\b|\bwhat's\b", "what of|what's", "name the noun"),
]
COMPILED = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, _, advice in PHRASES]
KEYS = [(key, index) for index, (_, keys, _) in enumerate(PHRASES) for key in keys.split("|")]
RELATIVE_WORDS = ("what ", "who ", "the one", "those ", "that ")
SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!\bFig\.)(?<!Figs\.)(?<!vs\.)(?<=[.!?])[)\"']*\s+")


@dataclass
class Text:
    """The prose of one page, crate or unit."""

    name: str
    words: int = 0
    relatives: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, place: str, paragraph: str) -> None:
        """Judges one paragraph."""
        prose = plain(paragraph)
        words = len(prose.split())
        self.words += words
        lower = prose.lower()
        if any(word in lower for word in RELATIVE_WORDS):
            for match in FREE_RELATIVE.finditer(prose):
                self.relatives.append((place, around(prose, match)))
        for index in sorted({index for key, index in KEYS if key in lower}):
            pattern, advice = COMPILED[index]
            for match in pattern.finditer(prose):
                self.faults.append((place, advice, around(prose, match)))
        for sentence in SENTENCE_END.split(prose) if words > SENTENCE_WORDS else []:
            count = len([word for word in sentence.split() if re.search(r"[A-Za-z]", word)])
            if count > SENTENCE_WORDS:
                self.faults.append((place, f"a sentence of {count} words", sentence[:90] + "…"))

    def exceeds(self) -> bool:
        # A text of a few hundred words may have none.
        return len(self.relatives) > FREE_RELATIVES_PER_1000 * self.words / 1000


def plain(text: str) -> str:
    """A paragraph without code, link targets and marks."""
    if "`" in text:
        text = re.sub(r"``.*?``|`[^`]*`", "code", text)
    if "[" in text:
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
        text = re.sub(r"\[([^\]]*)\](?:\[[^\]]*\])?", r"\1", text)
    if "<" in text:
        text = re.sub(r"<[^>\s][^>]*>", "", text)
    if "*" in text or "_" in text:
        text = re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", text)
    return " ".join(text.split())


def around(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 40) : match.end() + 30].strip()


# The mark of an item of a list.
ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")


def paragraphs(lines: list[tuple[int, str]], indent: int = 4) -> Iterator[tuple[int, str]]:
    """Markdown as paragraphs: list items, cells of tables and headings are paragraphs, code is none.

    After an empty line, a line indented by `indent` columns is code.
    """
    fenced = False
    held: list[str] = []
    begun = 0
    for number, line in [*lines, (0, "")]:
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
            bare = ""
        elif fenced:
            continue
        elif bare.startswith("<!--") and bare.endswith("-->"):
            bare = ""
        elif not held and line.startswith(" " * indent) and not ITEM.match(bare):
            continue
        item = ITEM.match(bare)
        if held and (not bare or item or bare.startswith(("|", "#"))):
            yield begun, " ".join(held)
            held = []
        if bare.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                if cell.strip(" :-"):
                    yield number, cell.strip()
        elif bare.startswith("#"):
            yield number, bare.lstrip("# ")
        elif bare:
            if not held:
                begun = number
            held.append(bare[item.end() :] if item else bare.lstrip("> "))


def pages() -> Iterator[Path]:
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]):
        if path.name not in EXEMPT:
            yield path


def page(path: Path) -> Text:
    text = Text(str(path.relative_to(ROOT)))
    markdown(text, text.name, path.read_text())
    return text


def notebook(path: Path) -> Text:
    """The Markdown cells; a place is that of a cell and of a line in it."""
    text = Text(str(path.relative_to(ROOT)))
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        if cell["cell_type"] == "markdown":
            markdown(text, f"{text.name}:cell {number}", "".join(cell["source"]))
    return text


def markdown(text: Text, place: str, content: str) -> None:
    """Adds the prose of a page or cell, and judges its lines."""
    lines = list(enumerate(content.splitlines(), 1))
    for number, paragraph in paragraphs(lines):
        text.add(f"{place}:{number}", paragraph)
    fenced = False
    for number, line in lines:
        if line.strip().startswith(("```", "~~~")):
            fenced = not fenced
        head = lines[number - 2][1] if number > 1 else ""
        if not fenced and re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line.strip()) and re.search(r"\|\s*\|", head):
            text.faults.append((f"{place}:{number - 1}", "an empty header cell", head[:60]))
        # A line that is one link or one word cannot be broken.
        breakable = len(line.strip().split()) > 2 and not line.lstrip().startswith(("|", "#", "<!--"))
        if len(line) > LINE_COLUMNS and not fenced and breakable:
            text.faults.append((f"{place}:{number}", f"a line of {len(line)} columns", line[:60] + "…"))


def comments(text: Text, path: Path, marks: str, indent: int = 4) -> None:
    """Adds the comment blocks of a source file whose lines begin with one of `marks`."""
    relative = str(path.relative_to(ROOT))
    block: list[tuple[int, str]] = []
    lines = path.read_text().splitlines()
    comment = re.compile(rf"\s*(?:{marks}) ?(.*)")
    for number, line in enumerate([*lines, ""], 1):
        match = comment.match(line) if "//" in line else None
        if match:
            block.append((number, match.group(1)))
        elif block and line.strip().startswith("#[doc = include_str!("):
            # The comment goes on, perhaps inside the code that the file begins.
            continue
        elif block:
            for at, paragraph in paragraphs(block, indent):
                text.add(f"{relative}:{at}", paragraph)
            block = []


# Comments, raw strings and characters; then strings, whose content is the second group. Each alternative begins with its
# own letter, which makes the search fast.
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|'(?:\\[^\n']+|\\'|[^'\\\n])'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
TESTS = re.compile(r"^#\[cfg\((?:test|all\(test\b.*)\)\]\n(?:#\[.*\]\n)*mod \w+ \{", re.MULTILINE)
# Panics and assertions speak to programmers.
INTERNAL = re.compile(
    r"(?:\.expect|\.expect_err|\b(?:debug_)?assert\w*!|\b(?:panic|unreachable|todo|unimplemented)!)\((?:[^;\"]*,)?\s*$"
)
MESSAGE_WORDS = 4


def messages(text: Text, path: Path) -> None:
    """Adds the errors of a source file, and its string literals of four words or more outside of tests."""
    source = path.read_text()
    tests = TESTS.search(source)
    if tests:
        source = source[: tests.start()]
    for match in TOKEN.finditer(source):
        literal = match.group(2)
        if not literal or " " not in literal or source[match.start() - 1] == "b":
            continue
        message = re.sub(r"\\\n\s*", "", literal).replace('\\"', '"').replace("\\n", "\n")
        message = re.sub(r"\{[^{}]*\}", "X", message)
        before = source[max(0, match.start() - 200) : match.start()]
        is_error = before.rstrip().endswith("#[error(")
        if not is_error and (len(re.findall(r"[A-Za-z]{2,}", message)) < MESSAGE_WORDS or INTERNAL.search(before)):
            continue
        line = source.count("\n", 0, match.start()) + 1
        for shown in message.split("\n"):
            if shown.strip() and not shown.lstrip().startswith("$ "):
                text.add(f"{path.relative_to(ROOT)}:{line}", shown)


def texts() -> Iterator[Text]:
    for path in pages():
        yield page(path)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        yield notebook(path)
    for folder in sorted((ROOT / "crates").iterdir()):
        text = Text(str(folder.relative_to(ROOT)))
        for path in sorted([*(folder / "src").rglob("*.rs"), *(folder / "examples").rglob("*.rs")]):
            comments(text, path, r"//[/!]")
            if path.name not in ("tests.rs", "golden_tests.rs") and "tests" not in path.relative_to(folder).parts:
                messages(text, path)
        yield text
    for folder in sorted((ROOT / "hw" / "rtl").iterdir()):
        text = Text(str(folder.relative_to(ROOT)))
        for path in sorted(folder.glob("*.sv")):
            comments(text, path, r"//", indent=2)
        yield text


def main() -> int:
    arguments = sys.argv[1:]
    count = "--count" in arguments
    chosen = [str(Path(a).resolve()) for a in arguments if not a.startswith("--")]
    failed = False
    for text in texts():
        here = str(ROOT / text.name)
        if chosen and not any(here == c or here.startswith(c + "/") or c.startswith(here + "/") for c in chosen):
            continue
        below = [c for c in chosen if c.startswith(here + "/")]

        def shown(place: str, below: list[str] = below) -> bool:
            return not below or any(str(ROOT / place.rsplit(":", 1)[0]).startswith(c) for c in below)

        if count:
            rate = 1000 * len(text.relatives) / max(1, text.words)
            print(
                f"{text.name:40} {text.words:6} words, {rate:5.1f} free relatives per 1,000, {len(text.faults):4} other faults"
            )
        if text.exceeds():
            failed = True
            for place, words in text.relatives if not count else []:
                if shown(place):
                    print(f"{place}: a free relative clause: …{words}…")
        for place, advice, words in text.faults:
            failed = True
            if not count and shown(place):
                print(f"{place}: {advice}: …{words}…")
    if not failed:
        print("prose: no limit is exceeded")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
