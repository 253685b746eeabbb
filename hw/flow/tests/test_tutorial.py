"""The tutorial of RTL parameters: its entry of hw/units.toml, its lint, and the names in its commands."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lint
import units

ROOT = units.HW.parent
PAGE = (ROOT / "docs/tutorials/rtl-parameter.md").read_text()
ABOVE, ADDED = "w32_s9_a2", "butterfly/w32_s9_a0"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Tutorial(unittest.TestCase):
    """A reader can follow the page."""

    def added(self, **parameters: int) -> units.Configuration:
        """The entry of the page, below the one that the page names, with other parameters."""
        (entry,) = blocks("toml")
        for name, value in parameters.items():
            entry, count = re.subn(rf"\b{name} = \d+", f"{name} = {value}", entry)
            self.assertEqual(count, 1, name)
        self.assertIn(f"below `{ABOVE}`", PAGE)
        text, count = re.subn(
            rf'(?<=name = "{ABOVE}"\n)(.*\n)', lambda line: f"{line[1]}{entry}", units.UNITS.read_text()
        )
        self.assertEqual(count, 1, f"hw/units.toml has one entry {ABOVE}")
        (added,) = units.select(units.parse(text), ADDED)
        return added

    def test_the_entry_passes_the_lint(self) -> None:
        """Verilator elaborates it without a warning."""
        self.assertNotIn(ADDED, [str(configuration) for configuration in units.configurations()])
        self.assertEqual(lint.elaborate(self.added()), "")

    def test_the_mistake_of_the_page_has_the_message_of_the_page(self) -> None:
        """The page names the parameter and quotes the message."""
        found = re.search(r"write\s+`(\w+) = (\d+)`: it reports `([^`]+)`", PAGE)
        assert found
        name, value, message = found.groups()
        self.assertIn(message, lint.elaborate(self.added(**{name: int(value)})))

    def test_the_commands_exist(self) -> None:
        """Targets of the Makefile, scripts, and the test of co-simulation. The page states that they are not run here."""
        commands = [line for block in blocks("sh") for line in block.splitlines()]
        targets = [line.split()[1] for line in commands if line.startswith("make ")]
        self.assertEqual(targets, ["hw-waves", "hw"])
        makefile = (ROOT / "Makefile").read_text()
        for target in targets:
            self.assertRegex(makefile, rf"(?m)^{target}:")
        scripts = re.findall(r"(?:scripts|hw/flow)/[\w.-]+", "\n".join(commands))
        self.assertEqual(scripts, ["scripts/setup.sh", "hw/flow/lint.py"])
        for script in scripts:
            self.assertTrue((ROOT / script).is_file(), script)
        found = re.search(r"-p ciphermill-cosim --test (\w+) (\w+)$", "\n".join(commands), re.MULTILINE)
        assert found
        tests = (ROOT / f"crates/cosim/tests/{found[1]}.rs").read_text()
        self.assertRegex(tests, rf"#\[test\]\nfn \w*{found[2]}")
