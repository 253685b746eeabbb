"""Which choices hls_choices.py maps, and its record: python -m unittest discover hw/flow/tests."""

import json
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import hls_choices


def point(name: str, q: int, b: int, interval: int, cycles: int, luts: int, dsps: int = 2) -> dict[str, Any]:
    """A compiled point of 12 bits, with the banks of partition 1."""
    found = {"cycles": cycles, "interval": interval, "estimate": {"luts": luts, "dsps": dsps}}
    return {"module": name, "bits": 12, "q": q, "b": b, "partition": 1, "requested": interval, "found": found}


class Chosen(unittest.TestCase):
    """The points to map."""

    def test_a_point_is_beaten_only_by_one_of_its_modulus(self) -> None:
        points = [point("a", 7681, 1, 1, 100, 10), point("b", 7681, 4, 2, 110, 10), point("c", 12289, 1, 1, 200, 20)]
        self.assertEqual([one["module"] for one in hls_choices.unbeaten(points)], ["a", "c"])

    def test_equal_points_are_all_unbeaten(self) -> None:
        points = [point("a", 7681, 1, 1, 100, 10), point("b", 7681, 1, 1, 100, 10)]
        self.assertEqual(len(hls_choices.unbeaten(points)), 2)

    def test_the_least_interval_is_mapped_though_it_is_beaten(self) -> None:
        beaten = [point("b", 7681, 4, 2, 110, 11), point("c", 7681, 4, 3, 120, 11)]
        points = [point("a", 7681, 1, 1, 100, 10), *beaten]
        self.assertEqual([one["module"] for one in hls_choices.chosen(points)], ["a", "b"])

    def test_the_papers_modulus_and_butterflies_are_mapped_at_all_intervals(self) -> None:
        points = [point(f"i{interval}", 3329, 2, interval, 500 * interval, 1000) for interval in (1, 2, 3, 4)]
        self.assertEqual(len(hls_choices.chosen(points)), 4)

    def test_refused_and_large_points_are_not_mapped(self) -> None:
        refused = point("r", 3329, 2, 1, 500, 1000) | {"found": None}
        large = point("l", 3329, 2, 1, 500, hls_choices.LUTS_SMALLEST + 1)
        self.assertEqual(hls_choices.chosen([refused, large]), [])

    def test_limits_of_moduli(self) -> None:
        self.assertEqual(hls_choices.limit(12, 7), hls_choices.LUTS_SMALLEST)
        self.assertEqual(hls_choices.limit(60, 7), 7)


class Record(unittest.TestCase):
    """The committed record."""

    def setUp(self) -> None:
        self.record = json.loads(hls_choices.REPORT.read_text())
        self.mapped = [one for one in self.record["points"] if "mapped" in one]

    def test_every_choice_is_mapped(self) -> None:
        self.assertGreaterEqual(len(self.mapped), 24)
        self.assertEqual({one["bits"] for one in self.mapped}, set(hls_choices.MODULI))
        self.assertEqual({one["b"] for one in self.mapped}, set(hls_choices.BUTTERFLIES))
        self.assertEqual({one["partition"] for one in self.mapped}, set(hls_choices.PARTITIONS))
        self.assertEqual({one["found"]["interval"] for one in self.mapped}, set(hls_choices.INTERVALS))

    def test_no_point_is_below_its_floor(self) -> None:
        for one in self.mapped:
            self.assertGreater(one["found"]["cycles"], 128 * 8 * one["found"]["interval"] // one["b"], one["module"])

    def test_a_point_is_compiled_or_refused(self) -> None:
        for one in self.record["points"]:
            self.assertNotEqual(one["found"] is None, one["refusal"] is None, one["module"])

    def test_the_estimate_orders_the_points(self) -> None:
        """Estimates of DSP are exact, those of LUT within a third."""
        for one in self.mapped:
            estimate, cost = one["found"]["estimate"], one["mapped"]
            self.assertEqual(estimate["dsps"], cost["dsp"], one["module"])
            self.assertLess(abs(estimate["luts"] / cost["lut"] - 1), 1 / 3, one["module"])

    def test_all_units_are_in_it(self) -> None:
        self.assertEqual([one["case"] for one in self.record["units"]], [f"hls/{name}" for name in hls_choices.CASES])


if __name__ == "__main__":
    unittest.main()
