"""The figures that the hardware must reach, in the committed summary: python -m unittest discover hw/flow/tests."""

import json
import re
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import report

SUMMARY: dict[str, dict[str, Any]] = {one["case"]: one for one in json.loads(report.SUMMARY.read_text())}


class Figures(unittest.TestCase):
    """What hw/reports/summary.json says of them; stale.py names what it says of older sources. Simulation asserts the cycles."""

    def test_nothing_is_missing(self) -> None:
        """Every configuration is there, with figures or the reason why there are none."""
        self.assertEqual(list(SUMMARY), [str(one) for one in report.configurations()])
        for case, one in SUMMARY.items():
            self.assertTrue(one["lut"] is not None or one["xilinx_about"]["reason"], case)
            self.assertTrue(one["ecp5_fmax_mhz"] or one["ecp5_about"]["reason"], case)
            self.assertTrue(one["osu018_critical_path_ns"] or one["osu018_about"]["reason"], case)
            self.assertNotIn("not run", str(one), case)

    def test_pages_say_what_the_summary_says(self) -> None:
        """Numbers with a unit of resources are of some configuration, or of those whose figures are not ours."""
        others = {461_123, 1_549, 6_508, 1_300, 4_600, 195_000}
        ours = {one[kind] for one in SUMMARY.values() for kind in ("lut", "ff", "dsp", "bram", "uram")}
        ours |= {number for one in SUMMARY.values() for number in (one["ecp5_used"] or {}).values()}
        for page in sorted(report.TABLE.parent.glob("*.md")):
            for found in re.finditer(r"(\d+(?:,\d{3})*(?:\.5)?) (?:LUT|FF|DSP|BRAM|URAM)\b", page.read_text()):
                self.assertIn(float(found[1].replace(",", "")), ours | others, f"{page.name}: {found[0]}")

    def test_transforms_of_cham(self) -> None:
        """Radix 2 at its bound; radix 4 on as many multipliers, of four DSP each."""
        for case in ("ntt_cg/n4096_b4_a34_b27", "ntt_cg/n4096_b4_a34_b27_inverse"):
            self.assertLessEqual(SUMMARY[case]["cycles"], 6144)
            self.assertLessEqual(SUMMARY[case]["lut"], 6508)
        radix4 = SUMMARY["ntt_cg_r4/n4096_a34_b27"]
        self.assertLessEqual(radix4["cycles"], 4700)
        self.assertEqual(radix4["dsp"], SUMMARY["ntt_cg/n4096_b4_a34_b27"]["dsp"])
        self.assertLessEqual(radix4["lut"], 6508)

    def test_transforms_of_the_nvme_platform(self) -> None:
        """Two polynomials of 16384 points on 32 multipliers of 12 DSP each."""
        merged = SUMMARY["ntt_goldilocks/n16384_2x16"]
        self.assertLessEqual(merged["cycles"], 7232)
        by_shifts = SUMMARY["ntt_goldilocks_shift/n16384"]
        self.assertLessEqual(2 * by_shifts["cycles"], 3072)
        self.assertEqual((merged["dsp"], by_shifts["dsp"]), (384, 384))

    def test_montgomery_products(self) -> None:
        """Cycles, DSP times cycles, and the path beside that of the butterfly of six stages."""
        self.assertLessEqual(SUMMARY["mont_mul/b1024_latency"]["latency"], 38)
        for case, most in (("b1024_throughput", 5600), ("b1024_karatsuba", 3600)):
            one = SUMMARY[f"mont_mul/{case}"]
            self.assertLessEqual(one["cycles"] * one["dsp"], most, case)
        path = SUMMARY["mont_mul/b272_latency"]["osu018_critical_path_ns"]
        self.assertLessEqual(path, SUMMARY["butterfly/w32_s6"]["osu018_critical_path_ns"])

    def test_exponentiation(self) -> None:
        """On one multiplier and on two."""
        for case in ("mod_exp/b1024_window5", "mod_exp/b1024_ladder"):
            self.assertLessEqual(SUMMARY[case]["cycles"], 50_000)

    def test_butterflies(self) -> None:
        """The six stages are small, the nine fast: at every seed of the placement."""
        small, fast = SUMMARY["butterfly/w32_s6"], SUMMARY["butterfly/w32_s9_a2"]
        self.assertLessEqual(small["lut"], 480)
        self.assertLessEqual(max(small["dsp"], fast["dsp"]), 10)
        self.assertGreaterEqual(min(fast["ecp5_fmax_mhz"].values()), 130)


if __name__ == "__main__":
    unittest.main()
