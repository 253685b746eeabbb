"""What hls_arm.py reads out of tools' output, and its sources on this machine: python -m unittest discover hw/flow/tests."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import hls_arm

LOG = """\
Trace 0: 0x7fa5000000c0 [00800480/00010500/00000000/00000201]
qemu: a line of another kind
Trace 0: 0x7fa5000000c0 [0000000001009331/0000000000010504/00000001/00000201] main
"""
ARM = """\
00010860 <transform.constprop.0>:
   10860:      \tldr\tr12, [pc, #448]         @ 0x10a28 <$d+0x10>
   10864:      \tvmvn.i16\tq11, #0xd00
   10868:      \tbne\t0x10860 <transform.constprop.0+0x34> @ imm = #-120
   1086c:      \tbl\t0x10860 <transform.constprop.0>
"""
ARM64 = """\
  400674:      \tadrp\tx1, 0x497000 <transform.constprop.0+0xb0>
  400678:      \tldp\tx29, x30, [sp], #16
  40067c:      \tcbz\tx0, 0x400714 <call_weak_fn+0x10>
  400680:      \tb.ne\t0x400674 <x>
  400684:      \tand\tw2, w2, #0xffff
"""
SUMMARY = "Iterations:        1\nInstructions:      9\nTotal Cycles:      1234\nTotal uOps:        9\n"


class Parsing(unittest.TestCase):
    """The tools' output."""

    def test_addresses_of_a_trace(self) -> None:
        self.assertEqual(hls_arm.trace(LOG.splitlines()), [0x10500, 0x10504])
        with self.assertRaisesRegex(hls_arm.FlowError, "another form"):
            hls_arm.trace(["Trace 0: something else"])

    def test_the_region_ends_before_its_second_label(self) -> None:
        self.assertEqual(hls_arm.between([1, 5, 6, 7, 9, 5, 9], 5, 9), [5, 6, 7])
        for begin, end in ((4, 9), (9, 1)):
            with self.assertRaisesRegex(hls_arm.FlowError, "did not run"):
                hls_arm.between([1, 5, 9], begin, end)

    def test_symbols(self) -> None:
        table = "00010c14 T transform_begin\n         U memcpy\n"
        self.assertEqual(hls_arm.symbols(table), {"transform_begin": 0x10C14})

    def test_instructions_without_comments_and_with_a_label_for_targets(self) -> None:
        self.assertEqual(
            list(hls_arm.disassembly(ARM).values()),
            ["ldr r12, [pc, #448]", "vmvn.i16 q11, #0xd00", "bne target", "bl target"],
        )
        self.assertEqual(
            list(hls_arm.disassembly(ARM64).values()),
            ["adrp x1, target", "ldp x29, x30, [sp], #16", "cbz x0, target", "b.ne target", "and w2, w2, #0xffff"],
        )

    def test_an_instruction_that_is_not_listed_is_an_error(self) -> None:
        instructions = hls_arm.disassembly(ARM)
        self.assertEqual(hls_arm.assembly([0x10868, 0x1086C], instructions), "bne target\nb target\n")
        with self.assertRaisesRegex(hls_arm.FlowError, "0x2"):
            hls_arm.assembly([2], instructions)

    def test_moves_of_several_registers_are_single_ones(self) -> None:
        self.assertEqual(hls_arm.modelled("pop {r4, pc}"), ["ldr r4, [sp, #0]", "ldr lr, [sp, #4]", "add sp, sp, #8"])
        self.assertEqual(hls_arm.modelled("ldm r0, {r1, r2}"), ["ldr r1, [r0, #0]", "ldr r2, [r0, #4]"])
        self.assertEqual(hls_arm.modelled("vstmia r3!, {d8}"), ["vstr d8, [r3, #0]", "add r3, r3, #8"])
        self.assertEqual(hls_arm.modelled("add r0, r1, r2"), ["add r0, r1, r2"])

    def test_the_loop_with_most_instructions(self) -> None:
        short, long = [100, 104] * 9, [200, 204, 208, 212] * 6
        self.assertEqual(hls_arm.hottest_loop([*short, 108, *long, 216]), ([200, 204, 208, 212], 5))
        with self.assertRaisesRegex(hls_arm.FlowError, "no loop"):
            hls_arm.hottest_loop([4, 8, 12])

    def test_a_jump_out_and_back_is_no_turn_of_the_loop(self) -> None:
        self.assertEqual(hls_arm.hottest_loop([100, 104, 300, 100, 104, 100, 104]), ([100, 104], 1))

    def test_a_body_is_straight(self) -> None:
        skipping = [100, 104, 112] * 3
        self.assertEqual(hls_arm.hottest_loop([*skipping, *[200, 204] * 3]), ([200, 204], 2))
        self.assertEqual(hls_arm.hottest_loop([100, 100, 100, 104]), ([100], 2))

    def test_cycles_of_a_summary(self) -> None:
        self.assertEqual(hls_arm.total_cycles(SUMMARY), 1234)
        with self.assertRaisesRegex(hls_arm.FlowError, "no cycles"):
            hls_arm.total_cycles("error: unknown cpu")


class Figures(unittest.TestCase):
    """Times and ratios."""

    def test_the_port_limits_the_transfer(self) -> None:
        self.assertEqual(hls_arm.transfer(100.0)["mb_per_s"], 800.0)
        self.assertEqual(hls_arm.transfer(100.0)["us"], 1.28)
        self.assertEqual(hls_arm.transfer(500.0)["mb_per_s"], 1200.0)

    def test_ratios_of_the_best_and_the_worst_build(self) -> None:
        runs = [
            {"form": form, "instructions": instructions, "analytic_cycles": cycles}
            for form in hls_arm.FORMS
            for instructions, cycles in ((2000, 1500), (4000, 3000))
        ]
        found = hls_arm.speed_up({"cycles": 100, "mhz": 100.0}, [{"core": "c", "mhz": 100.0, "width": 2, "runs": runs}])
        self.assertEqual(found["us"], 1.0)
        self.assertEqual(found["rows"][0]["without_moving"], [10.0, 15.0, 30.0])
        self.assertEqual(found["rows"][0]["with_moving"], [4.39, 6.58, 13.16])

    def test_options_that_change_the_code(self) -> None:
        self.assertEqual(
            hls_arm.build_options(["-O2", *hls_arm.FREESTANDING]),
            "-O2 -march=rv64im -mabi=lp64 -mcmodel=medlow -mno-relax -ffreestanding",
        )


class Failures(unittest.TestCase):
    """Nothing passes in silence."""

    def test_missing_tools_name_their_packages(self) -> None:
        with mock.patch("hls_arm.shutil.which", return_value=None):
            self.assertEqual(hls_arm.missing(["qemu-arm", "qemu-aarch64", "llvm-mca"]), ["llvm", "qemu-user"])
            with mock.patch("sys.argv", ["hls_arm"]), mock.patch("sys.stderr") as errors:
                self.assertEqual(hls_arm.main(), 2)
            self.assertIn("apt-get install", "".join(call.args[0] for call in errors.write.call_args_list))

    def test_a_failing_command_is_an_error(self) -> None:
        with self.assertRaisesRegex(hls_arm.FlowError, "ended with 3"):
            hls_arm.output([sys.executable, "-c", "raise SystemExit(3)"])

    def test_wrong_words_are_an_error(self) -> None:
        right = b"".join(word.to_bytes(2, "little") for word in hls_arm.expected(hls_arm.driver_words()))
        hls_arm.check(right, 1, "right")
        for wrong in (right[:-2], right[2:] + right[:2], b""):
            with self.assertRaisesRegex(hls_arm.FlowError, "words are wrong"):
                hls_arm.check(wrong, 1, "wrong")


class Software(unittest.TestCase):
    """The two forms of the transform, compiled for this machine."""

    def words(self, form: str, *options: str) -> list[int]:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / form
            command = ["cc", "-O1", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all", f'-DVARIANT="{form}.c"']
            subprocess.run([*command, *options, hls_arm.SOFTWARE / "driver.c", "-o", program], check=True)
            written = subprocess.run([program], check=True, capture_output=True).stdout
        return [int.from_bytes(written[i : i + 2], "little") for i in range(0, len(written), 2)]

    def test_both_forms_are_the_transform(self) -> None:
        for form in hls_arm.FORMS:
            for seed, least in ((1, 0), (2, 0), (3, hls_arm.Q - 1), (4, hls_arm.Q - 2)):
                expected = hls_arm.expected(hls_arm.driver_words(seed, least))
                self.assertEqual(self.words(form, f"-DSEED={seed}", f"-DLEAST={least}"), expected, (form, seed, least))

    def test_a_second_transform_is_of_the_first_ones_words(self) -> None:
        expected = hls_arm.expected(hls_arm.driver_words(), 2)
        for form in hls_arm.FORMS:
            self.assertEqual(self.words(form, "-DREPEATS=2"), expected)

    def test_reductions_of_the_tuned_form(self) -> None:
        """All 2^16 words by Barrett's method; Montgomery's at the ends of its range and in between."""
        source = f"""
        #include <stdlib.h>
        #include "{hls_arm.SOFTWARE}/tuned.c"
        int main(void) {{
          for (int32_t x = -32768; x < 32768; x++) {{
            int32_t r = barrett((int16_t)x);
            if (r < 0 || r > Q || (x - r) % Q) abort();
            int32_t least = reduced((int16_t)x);
            if (least < 0 || least >= Q || (x - least) % Q) abort();
          }}
          for (int64_t x = -(int64_t)Q * 32768 + 1; x < (int64_t)Q * 32768; x += 911) {{
            int64_t r = montgomery((int32_t)x);
            if (r <= -Q || r >= Q || (r * 65536 - x) % Q) abort();
          }}
          (void)prepare, (void)transform, (void)place;
          return 0;
        }}"""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "reductions"
            command = ["cc", "-O2", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-x", "c", "-", "-o"]
            subprocess.run([*command, program], check=True, input=source.encode())
            self.assertEqual(subprocess.run([program], check=False).returncode, 0)


class Record(unittest.TestCase):
    """The committed record."""

    def test_all_cores_forms_and_builds_are_there_and_right(self) -> None:
        found = json.loads(hls_arm.REPORT.read_text())
        for core, processor in zip(hls_arm.CORES, found["processors"], strict=True):
            runs = [(run["form"], run["name"]) for run in processor["runs"]]
            self.assertEqual(runs, [(form, build) for form in hls_arm.FORMS for build in core.builds])
            for run in processor["runs"]:
                self.assertTrue(run["correct"])
                # A butterfly takes more than its two loads, two stores and a product, unless NEON works on several.
                self.assertGreater(run["instructions"], 1024 if "NEON" in run["name"] else 5 * 1024)
                self.assertGreaterEqual(run["analytic_cycles"], run["instructions"] / processor["width"])
        self.assertEqual(len(found["rocket"]["runs"]), len(hls_arm.FORMS) * len(hls_arm.RISCV))

    def test_ratios_are_those_of_the_figures(self) -> None:
        found = json.loads(hls_arm.REPORT.read_text())
        for one in found["speed_up"]:
            self.assertEqual(one, hls_arm.speed_up(one["accelerator"], found["processors"]))


if __name__ == "__main__":
    unittest.main()
