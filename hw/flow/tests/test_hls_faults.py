"""The faults of the compiler of C and their verdicts: python -m unittest discover hw/flow/tests."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import hls_faults
import process

FAULT = hls_faults.Fault("a.rs", "let x = 1;", "let x = 2;", "a wrong number", "ports")
ENTRY = 'top = "proof_hls_{}"\nmethod = "bmc"\ndepth = {}\n'


class Faults(unittest.TestCase):
    """The list, and a change of a file."""

    def test_each_text_occurs_once_in_its_file(self) -> None:
        listed = hls_faults.faults([])
        self.assertTrue(listed)
        for fault in listed:
            text = (hls_faults.ROOT / hls_faults.SOURCES / fault.file).read_text()
            self.assertEqual(text.count(fault.find), 1, f"{fault.file}: {fault.find}")

    def test_the_file_is_whole_after_a_fault(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / FAULT.file
            path.write_text(FAULT.find)
            with FAULT.put_into(Path(folder)):
                self.assertEqual(path.read_text(), FAULT.replace)
            self.assertEqual(path.read_text(), FAULT.find)


class Verdicts(unittest.TestCase):
    """Which faults count as caught."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        for name in (f"{hls_faults.SOURCES}/{FAULT.file}", hls_faults.PROOFS):
            (self.tree / name).parent.mkdir(parents=True)
        (self.tree / hls_faults.SOURCES / FAULT.file).write_text(FAULT.find)

    def run_of(self, caught_by: str, *calls: tuple[bool, str] | Exception) -> str:
        """The verdict after these results of commands."""
        with mock.patch.object(hls_faults, "call", side_effect=calls):
            return hls_faults.run(caught_by, "", self.tree, self.tree / "build").verdict

    def test_only_a_failed_test_is_a_catch(self) -> None:
        self.assertEqual(self.run_of("ports", (True, ""), (False, "test a ... FAILED")), hls_faults.FAILS)
        self.assertEqual(self.run_of("ports", (True, ""), process.TimeUp()), hls_faults.FAILS)
        self.assertEqual(self.run_of("ports", (True, ""), (True, "running 3 tests")), hls_faults.PASSES)
        self.assertEqual(self.run_of("ports", (True, ""), (True, "running 0 tests")), hls_faults.UNDECIDED)

    def test_a_build_without_end_is_no_catch(self) -> None:
        self.assertEqual(self.run_of("ports", process.TimeUp()), hls_faults.UNDECIDED)
        self.assertEqual(self.run_of("ports", (False, "error")), hls_faults.UNDECIDED)

    def test_only_the_solver_decides_a_proof(self) -> None:
        refused, missed = (False, "not true: a_right"), (False, ENTRY.format("sums", 40))
        self.assertEqual(self.run_of("proofs", (True, ""), missed, missed), hls_faults.UNDECIDED)
        self.assertEqual(self.run_of("proofs", (True, ""), missed, (True, ""), (True, "")), hls_faults.PASSES)
        self.assertEqual(self.run_of("proofs", (True, ""), missed, (True, ""), refused), hls_faults.FAILS)
        self.assertEqual(self.run_of("proofs", (True, ""), (True, ""), process.TimeUp()), hls_faults.UNDECIDED)

    def test_a_depth_that_the_test_misses_is_listed(self) -> None:
        listed = ENTRY.format("sums", 37) + ENTRY.format("banks", 21)
        said = "hw/formal/proofs.toml lacks\n" + ENTRY.format("sums", 40)
        self.assertEqual(hls_faults.with_depths(listed, said), ENTRY.format("sums", 40) + ENTRY.format("banks", 21))

    def test_a_text_that_is_missing_does_not_end_the_run(self) -> None:
        (self.tree / hls_faults.SOURCES / FAULT.file).write_text("")
        with mock.patch("builtins.print"):
            record = hls_faults.tried(FAULT, self.tree, self.tree / "build")
        self.assertFalse(record["caught"])
        self.assertIn("occurs 0 times", record["said"])


if __name__ == "__main__":
    unittest.main()
