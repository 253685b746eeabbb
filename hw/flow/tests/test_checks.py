"""Tests of what the flow reads and counts: python -m unittest discover hw/flow/tests."""

import dataclasses
import json
import re
import sys
import tempfile
import unittest
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import axi
import coverage
import lint
import mutate
import prove
import report
import stale
import units

HW = Path(__file__).resolve().parent.parent.parent


def entry(what: str, kind: str, count: int, top: str = "TOP.a") -> str:
    """A line as Verilator writes it."""
    fields = {"f": "/x/hw/rtl/unit/unit.sv", "l": "7", "n": "3", "page": f"v_{kind}/unit", "o": what, "h": top}
    return "C '" + "".join(f"\x01{name}\x02{value}" for name, value in fields.items()) + f"' {count}"


def saying(text: str, status: int) -> Callable[..., int]:
    """In the place of process.run: a command that writes this."""

    def run(_command: object, _seconds: float, output: IO[str], *_: object) -> int:
        output.write(text)
        return status

    return run


def leaving(results: str | None) -> Callable[..., int]:
    """In the place of process.run: a simulation that leaves these results, or none."""

    def run(command: list[str], *_: object) -> int:
        if results is not None:
            (Path(command[command.index("--simulate") + 1]) / "results.xml").write_text(results)
        return 0

    return run


class Coverage(unittest.TestCase):
    """Points, exclusions, percentages."""

    def test_points_of_instances_are_one(self) -> None:
        """Instances differ in their path only."""
        text = (
            "# SystemC::Coverage-3\n"
            + entry("x[0]:0->1", "toggle", 2)
            + "\n"
            + entry("x[0]:0->1", "toggle", 3, "TOP.b")
        )
        points = list(coverage.points([text]))
        self.assertEqual([count for _, count in points], [2, 3])
        self.assertEqual([count for _, count in coverage.points([text, text])], [4, 6])
        self.assertEqual(points[0][0], points[1][0])
        self.assertEqual(points[0][0], coverage.Point("unit/unit.sv", 7, "toggle", "x[0]:0->1"))

    def test_lines_and_branches_are_lines(self) -> None:
        """Both are code that ran or did not."""
        kinds = [point.kind for kind in ("line", "branch") for point, _ in coverage.points([entry("block", kind, 1)])]
        self.assertEqual(kinds, ["line", "line"])

    def test_percentages_leave_out_what_is_excluded(self) -> None:
        """What is excluded counts neither as covered nor as missing."""
        covered = {coverage.Point("unit/unit.sv", 1, "toggle", f"x[{bit}]"): int(bit < 2) for bit in range(4)}
        exclusion = coverage.Exclusion("unit/unit.sv", "constant", r"x\[3\]")
        units, missing, wrong = coverage.count(covered, [exclusion])
        self.assertEqual(units["unit"]["toggle"], {"covered": 2, "of": 3, "excluded": 1, "percent": 66.67})
        self.assertEqual([point.what for point in missing], ["x[2]"])
        self.assertEqual(wrong, [])

    def test_an_exclusion_of_what_is_covered_is_wrong(self) -> None:
        """So is one of nothing."""
        covered = {coverage.Point("unit/unit.sv", 1, "toggle", "x"): 1}
        for what in ("x", "y"):
            _, _, wrong = coverage.count(covered, [coverage.Exclusion("unit/unit.sv", "", what)])
            self.assertEqual(len(wrong), 1)

    def test_an_exclusion_of_something_that_is_covered_is_wrong(self) -> None:
        """However much else of it is not."""
        covered = {coverage.Point("unit/unit.sv", 1, "toggle", f"x[{bit}]"): int(bit == 2) for bit in range(4)}
        _, _, wrong = coverage.count(covered, [coverage.Exclusion("unit/unit.sv", "", ".*")])
        self.assertEqual(len(wrong), 1)

    def test_bits_of_signals_are_excluded_and_no_others(self) -> None:
        """Both ways of changing, first and last with them."""
        names = [f"x[1][{bit}]:{change}" for bit in range(5) for change in ("0->1", "1->0")]
        covered = {coverage.Point("unit/unit.sv", 1, "toggle", name): 0 for name in [*names, "x[0][2]:0->1", "x:0->1"]}
        exclusion = coverage.Exclusion("unit/unit.sv", "zeros", bits={"x[1]": [[0, 1], [3, 3]]})
        _, missing, wrong = coverage.count(covered, [exclusion])
        self.assertEqual(wrong, [])
        left = {"x[1][2]:0->1", "x[1][2]:1->0", "x[1][4]:0->1", "x[1][4]:1->0", "x[0][2]:0->1", "x:0->1"}
        self.assertEqual({point.what for point in missing}, left)

    def test_a_signal_of_one_bit_has_bit_zero(self) -> None:
        """Its toggles have no number."""
        covered = {coverage.Point("unit/unit.sv", 1, "toggle", f"y:{change}"): 0 for change in ("0->1", "1->0")}
        exclusion = coverage.Exclusion("unit/unit.sv", "zeros", bits={"y": [[0, 0]]})
        self.assertEqual(coverage.count(covered, [exclusion])[1:], ([], []))

    def test_a_signal_that_no_module_has_is_wrong(self) -> None:
        """Even if another signal of the exclusion is there."""
        covered = {coverage.Point("unit/unit.sv", 1, "toggle", "x[0]:0->1"): 0}
        exclusion = coverage.Exclusion("unit/unit.sv", "zeros", bits={"x": [[0, 0]], "y": [[0, 1]]})
        _, _, wrong = coverage.count(covered, [exclusion])
        self.assertEqual(len(wrong), 1)
        self.assertIn("no signal y", wrong[0])

    def test_bits_that_follow_one_another_are_one_line(self) -> None:
        """For each way of changing; lines and single bits are themselves."""
        whats = ["x[0]:0->1", "x[1]:0->1", "x[3]:0->1", "x[1]:1->0", "y:0->1"]
        points = [coverage.Point("u/u.sv", 7, "toggle", what) for what in whats]
        points.append(coverage.Point("u/u.sv", 9, "line", "if"))
        expected = {
            "u/u.sv:7: toggle x[1:0] 0->1",
            "u/u.sv:7: toggle x[3] 0->1",
            "u/u.sv:7: toggle x[1] 1->0",
            "u/u.sv:7: toggle y:0->1",
            "u/u.sv:9: line if",
        }
        self.assertEqual(set(coverage.in_ranges(points)), expected)

    def test_units_of_an_earlier_run_stay_in_the_report(self) -> None:
        """A unit that is counted again loses its old points."""
        known = {"units": {"a": {"old": 1}, "c": {"old": 1}}, "not_covered": ["a/a.sv:1: line if", "c/c.sv:1: line if"]}
        with tempfile.TemporaryDirectory() as name:
            report_of = Path(name) / "coverage.json"
            report_of.write_text(json.dumps(known))
            with unittest.mock.patch.object(coverage, "REPORT", report_of):
                units, missing = coverage.merged({"b": {"new": 1}, "c": {"new": 1}}, ["b/b.sv:2: line if"])
        self.assertEqual(units, {"a": {"old": 1}, "b": {"new": 1}, "c": {"new": 1}})
        self.assertEqual(missing, ["a/a.sv:1: line if", "b/b.sv:2: line if"])


class Lint(unittest.TestCase):
    """What Verilator looks at beyond the configurations."""

    def test_a_module_that_no_configuration_contains_is_linted_alone(self) -> None:
        """With the modules that it contains, which are not linted again."""
        with tempfile.TemporaryDirectory() as name:
            files = []
            for module, text in (
                ("top", "used u();"),
                ("used", ""),
                ("port", "part u();"),
                ("part", ""),
                ("a_pkg", ""),
            ):
                files.append(Path(name) / f"prim/{module}.sv")
                files[-1].parent.mkdir(exist_ok=True)
                files[-1].write_text(text)
            (found,) = lint.alone(["top"], files)
        self.assertEqual((str(found), found.top, found.parameters), ("prim/port", "port", {}))

    def test_a_warning_about_such_a_module_is_reported(self) -> None:
        """The one of its own check of a parameter."""
        (found,) = [one for one in lint.alone([], units.sources()) if one.top == "prim_reset_sync"]
        self.assertEqual(lint.elaborate(found), "")
        self.assertIn("Stages must be at least 2", lint.elaborate(dataclasses.replace(found, parameters={"Stages": 1})))


class Mutate(unittest.TestCase):
    """Faults and the lines that they replace."""

    def test_every_listed_line_is_there_once(self) -> None:
        """With its catcher known."""
        proofs = {proof["name"] for proof in prove.proofs(HW)}
        configurations = {str(configuration) for configuration in units.configurations()}
        benches = {bench.name for bench in axi.benches(HW)}
        for mutation in mutate.mutations(HW):
            text = (HW / "rtl" / mutation.file).read_text()
            self.assertNotEqual(mutate.with_fault(text, mutation), text)
            if mutation.proof:
                self.assertIn(mutation.proof, proofs)
            elif mutation.bench:
                self.assertIn(mutation.bench, benches)
            else:
                assert mutation.configuration is not None
                self.assertIn(mutation.configuration, configurations)
                tests = HW.parent / f"crates/cosim/tests/{mutate.test_file(mutation.configuration)}.rs"
                for name in mutation.tests:
                    self.assertIn(f"fn {name}()", tests.read_text())

    def test_a_fault_keeps_the_indentation(self) -> None:
        """And every other line."""
        mutation = mutate.Mutation("f.sv", "b", "c", "why", proof="p")
        self.assertEqual(mutate.with_fault("a\n  b\nbb\n", mutation), "a\n  c\nbb\n")

    def test_a_line_that_is_missing_or_twice_is_refused(self) -> None:
        """A fault must say where it is."""
        mutation = mutate.Mutation("f.sv", "b", "c", "why", proof="p")
        for text in ("a\n", "b\nb\n"):
            with self.assertRaises(ValueError):
                mutate.with_fault(text, mutation)

    def test_a_fault_has_one_catcher(self) -> None:
        """Not two, and not none."""
        entry = '[[mutation]]\nfile = "f"\nline = "l"\nfault = "x"\nwhy = "w"\n'
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "mutations.toml"
            for catchers in ("", 'proof = "p"\nbench = "b"\n', 'configuration = "c"\nbench = "b"\n'):
                path.write_text(entry + catchers)
                with self.assertRaisesRegex(ValueError, "must name one"):
                    mutate.mutations(Path(name))
            path.write_text(f'{entry}bench = "b"\n')
            (found,) = mutate.mutations(Path(name))
        self.assertEqual(found.catcher, "bench b")

    def test_a_bench_that_gives_no_verdict_catches_nothing(self) -> None:
        """Only a test that failed does: not a fault that does not build, nor a missing environment."""
        said = {
            0: ("passed    1.0 s  b: 4 tests\n", (True, True)),
            1: ("FAILED    1.0 s  b: 4 tests\n    failed: one, two; /log\n", (False, True)),
            2: ("NOT RUN b: it does not build or it crashed; /log\n", (False, False)),
        }
        with tempfile.TemporaryDirectory() as name:
            for status, (text, verdict) in said.items():
                with unittest.mock.patch("mutate.process.run", saying(text, status)):
                    outcome = mutate.ask_bench("b", Path(name), Path(name))
                self.assertEqual((outcome.content, outcome.built), verdict)
            with unittest.mock.patch("mutate.process.run", side_effect=FileNotFoundError("no python")):
                self.assertFalse(mutate.ask_bench("b", Path(name), Path(name)).built)

    def test_a_verdict_needs_a_failed_test_or_a_failed_assertion(self) -> None:
        ended = mutate.of_tests(True, "test result: ok. 3 passed; 0 failed;")
        self.assertTrue(ended.content and ended.built)
        self.assertFalse(mutate.of_tests(True, "test result: ok. 0 passed; 0 failed;").built)
        failed = mutate.of_tests(False, "failures:\n    second\n    first\n\ntest result: FAILED. 3 passed; 2 failed;")
        self.assertEqual((failed.content, failed.built, failed.said), (False, True, "first, second"))
        broken = mutate.of_tests(
            False, "...[82] %Error: f.sv:36: Assertion failed in a_l4.a.u_b: a word is left\nAborting"
        )
        self.assertEqual((broken.content, broken.built), (False, True))
        self.assertEqual(broken.said, "assertion of f.sv: a word is left")
        self.assertFalse(mutate.of_tests(False, "signal: 9, SIGKILL").built)

    def test_the_tests_of_an_arithmetic_unit_are_found(self) -> None:
        """By the name in their first line."""
        self.assertEqual(mutate.test_file("ntt_cg_r4/n1024_a34_b27"), "ntt_cg")
        self.assertEqual(mutate.test_file("mod_addsub/w32"), "arithmetic")
        self.assertEqual(mutate.test_names("arithmetic", "mod_addsub"), ["sums_and_differences_are_modular"])


class Axi(unittest.TestCase):
    """Benches of AXI ports, and what their tests say."""

    def test_each_bench_has_its_files(self) -> None:
        """Its module, which is what it is called after, and its tests."""
        listed = axi.benches(HW)
        self.assertEqual(len({bench.name for bench in listed}), len(listed))
        for bench in listed:
            files = [path.stem for path in axi.sources(HW, bench)]
            self.assertIn(bench.name.split("/")[0], files)
            self.assertRegex((HW / f"axi/{bench.tests}.py").read_text(), r"(?m)^@cocotb\.test\(\)$")

    def test_every_axi_port_has_a_bench(self) -> None:
        """And a fault that the bench must catch, in one of the files that it is made of."""
        caught = {mutation.bench: mutation.file for mutation in mutate.mutations(HW) if mutation.bench}
        modules = {bench.name.split("/")[0] for bench in axi.benches(HW)}
        inside = {path.stem for bench in axi.benches(HW) for path in axi.sources(HW, bench)}
        ports = [
            path.stem for path in units.sources() if re.search(r"put +logic .*\b(aw|ar)_valid_[io]\b", path.read_text())
        ]
        self.assertGreaterEqual(len(ports), 3)
        self.assertLessEqual(set(ports), inside)
        for module in modules:
            self.assertIn(module, caught)
        for bench in axi.benches(HW):
            if bench.name in caught:
                self.assertIn(Path(caught[bench.name]).name, [path.name for path in axi.sources(HW, bench)])

    def test_names_choose_benches(self) -> None:
        """A module's name chooses all of its benches, unless the name is to be exact."""
        listed = [axi.Bench(name, "", "", "") for name in ("a", "a/wide", "b")]
        for names, exact, expected in (([], False, "a a/wide b"), (["a"], False, "a a/wide"), (["a"], True, "a")):
            found = axi.chosen(listed, names, exact)
            self.assertEqual(" ".join(bench.name for bench in found), expected)
        self.assertEqual(axi.chosen(listed, ["c"]), [])

    def test_only_tests_that_passed_count(self) -> None:
        """A skipped test is a failed one, and no test at all is no result."""
        cases = {"a": "", "b": "<failure/>", "c": "<error/>", "d": "<skipped/>"}
        text = "".join(f'<testcase name="{name}">{body}</testcase>' for name, body in cases.items())
        self.assertEqual(axi.results(f"<s><t>{text}</t></s>"), axi.Result(3, ["b", "c", "d"]))
        bench = axi.Bench("b", "", "", "")
        for written, status in (
            ('<s><testcase name="a"/></s>', 0),
            ('<s><testcase name="a"><failure/></testcase></s>', 1),
            ("<s/>", 2),
            (None, 2),
        ):
            run = unittest.mock.patch("axi.process.run", leaving(written))
            with tempfile.TemporaryDirectory() as name, run:
                self.assertEqual(axi.check(HW, bench, Path(name))[0], status)

    def test_both_environments_have_the_same_verilator(self) -> None:
        """What is checked here is simulated there."""
        lists = [(HW / name).read_text().splitlines() for name in ("python-tools.txt", "python-tools-cocotb.txt")]
        first, second = ({line for line in one if line.startswith("verilator==")} for one in lists)
        self.assertEqual(len(first), 1)
        self.assertEqual(first, second)


class ProofRecord(unittest.TestCase):
    """The record of some proofs."""

    def test_proofs_that_did_not_run_stay_in_the_record(self) -> None:
        """In the order of the list; those that are listed no more go, and so do those of other tools."""
        listed = [{"name": name, "unit": "unit"} for name in ("one", "two")]
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "proofs.json"
            old = [{**proof, "proved": True, "seconds": 1.0} for proof in [*listed, {"name": "gone", "unit": "unit"}]]
            prove.report(old, [*listed, {"name": "gone"}], path)
            prove.report([{**listed[0], "proved": True, "seconds": 2.0}], listed, path)
            record = json.loads(path.read_text())
            self.assertEqual([(one["name"], one["seconds"]) for one in record["proofs"]], [("one", 2.0), ("two", 1.0)])
            path.write_text(json.dumps({**record, "tool_versions": {}}))
            prove.report(old[1:2], listed, path)
            self.assertEqual([one["name"] for one in json.loads(path.read_text())["proofs"]], ["two"])


class Prove(unittest.TestCase):
    """What is proved is there."""

    def test_names_are_unique_and_modules_exist(self) -> None:
        """Stand-ins too."""
        listed = prove.proofs(HW)
        self.assertEqual(len({proof["name"] for proof in listed}), len(listed))
        for proof in listed:
            self.assertTrue((HW / f"formal/{proof['top']}.sv").exists())
            self.assertTrue((HW / f"rtl/{proof['unit']}").is_dir())
            for path in prove.sources(HW, proof.get("cut", [])):
                self.assertTrue(path.exists(), path)

    def test_a_stand_in_replaces_its_module(self) -> None:
        """And packages come first."""
        files = [path.relative_to(HW).as_posix() for path in prove.sources(HW, ["prim_mul"])]
        self.assertIn("formal/cut/prim_mul.sv", files)
        self.assertNotIn("rtl/prim/prim_mul.sv", files)
        self.assertTrue(files[0].endswith("_pkg.sv"))

    def test_a_record_is_of_the_files_that_a_proof_reads(self) -> None:
        """Those that its module reaches, without their comments, and of what is asked about them."""
        proof = {"name": "p", "top": "proof_p", "method": "bmc", "depth": 2}
        with tempfile.TemporaryDirectory() as name:
            hw = Path(name)
            for path, text in (("formal/proof_p", "unit u();"), ("rtl/a/unit", "assign x = y;"), ("rtl/a/other", "")):
                (hw / path).parent.mkdir(parents=True, exist_ok=True)
                (hw / f"{path}.sv").write_text(text)
            before = prove.proof_sources(hw, proof)
            (hw / "rtl/a/other.sv").write_text("assign z = y;")
            (hw / "rtl/a/unit.sv").write_text("// why\nassign x = y;")
            self.assertEqual(prove.proof_sources(hw, proof), before)
            self.assertNotEqual(prove.proof_sources(hw, proof | {"depth": 3}), before)
            (hw / "rtl/a/unit.sv").write_text("assign x = z;")
            self.assertNotEqual(prove.proof_sources(hw, proof), before)


class Stale(unittest.TestCase):
    """What the reports say of other sources is named."""

    def test_an_entry_of_other_sources_is_stale(self) -> None:
        """So is one that is missing."""
        listed = units.configurations()
        with tempfile.TemporaryDirectory() as name:
            summary = Path(name) / "summary.json"
            entries = [{"case": str(one), "sources": report.sources(one)} for one in listed]
            entries[0]["sources"] = "another"
            summary.write_text(json.dumps(entries[:-1]))
            with unittest.mock.patch.object(report, "SUMMARY", summary):
                self.assertEqual(stale.figures(), [str(listed[0]), str(listed[-1])])

    def test_a_unit_that_was_counted_in_other_files_is_stale(self) -> None:
        """And no other."""
        folders = [path.name for path in (HW / "rtl").iterdir() if path.is_dir()]
        with tempfile.TemporaryDirectory() as name:
            counted = Path(name) / "coverage.json"
            entries = {unit: {"sources": coverage.unit_sources(unit)} for unit in folders}
            entries["butterfly"]["sources"] = "another"
            counted.write_text(json.dumps({"units": entries}))
            with unittest.mock.patch.object(coverage, "REPORT", counted):
                self.assertEqual(stale.counted(), ["butterfly"])


if __name__ == "__main__":
    unittest.main()
