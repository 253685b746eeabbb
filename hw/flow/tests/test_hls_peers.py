"""What hls_peers.py reads, and its record: python -m unittest discover hw/flow/tests."""

import json
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import hls_peers


class Parts(unittest.TestCase):
    """The parts of the record."""

    def test_moduli_of_the_transform_by_hand(self) -> None:
        self.assertEqual(hls_peers.smallest_modulus(256), (12289, 13, 12))
        q, a, b = hls_peers.smallest_modulus(4096)
        self.assertEqual((q - 1) % 8192, 0)
        self.assertGreaterEqual(2 * b, a + 2)

    def test_primes(self) -> None:
        self.assertEqual([n for n in range(30) if hls_peers.is_prime(n)], [2, 3, 5, 7, 11, 13, 17, 19, 23, 29])

    def test_ranks_of_registers(self) -> None:
        text = "\n".join(f"  // Registers for pipe stage {i}:\n  reg [11:0] p{i}_x;" for i in range(5))
        self.assertEqual(hls_peers.ranks(text, 4), 5)
        with self.assertRaisesRegex(ValueError, "XLS made 5"):
            hls_peers.ranks(text, 5)

    def test_results_in_the_upper_and_the_lower_half(self) -> None:
        hls_peers.check([0x001002, 0x003004, 0xFFFFFF], [(1, 2), (3, 4)])
        for wrong in ([0x001002, 0x003005], [0x001002], [0x003004, 0x001002]):
            with self.assertRaisesRegex(ValueError, "wrong"):
                hls_peers.check(wrong, [(1, 2), (3, 4)])

    def test_samples_of_a_butterfly_have_the_ends(self) -> None:
        samples = hls_peers.xls_butterfly.samples()
        self.assertIn((0, 3328, 3328), samples)
        self.assertEqual(hls_peers.xls_butterfly.reference(0, 3328, 3328), (3328, 3328))

    def test_the_case_by_hand_must_exist_and_be_of_the_modulus(self) -> None:
        with self.assertRaisesRegex(ValueError, "make hw UNIT=ntt_cg/n256_b2"):
            hls_peers.by_hand([{"case": "ntt_cg/n256_b1"}])
        with self.assertRaisesRegex(ValueError, "another modulus"):
            hls_peers.by_hand([{"case": hls_peers.NTT_CG, "parameters": {"HighBit": 34, "LowBit": 27}}])

    def test_without_xls_it_says_how_to_install_it(self) -> None:
        with mock.patch.object(hls_peers, "XLS", Path("/nowhere")), mock.patch("sys.stderr") as errors:
            self.assertEqual(hls_peers.main(), 2)
        self.assertIn("setup.sh hls-peers", "".join(call.args[0] for call in errors.write.call_args_list))


class Record(unittest.TestCase):
    """The committed record."""

    def test_all_peers_are_there(self) -> None:
        record = json.loads(hls_peers.REPORT.read_text())
        xls = [one for one in record["peers"] if one["peer"] == "XLS"]
        self.assertEqual(
            [(one["function"], one["stages"]) for one in xls],
            [(function, stages) for function in hls_peers.FUNCTIONS for stages in hls_peers.STAGES],
        )
        for one in xls:
            self.assertEqual(one["latency"], one["stages"] + 1)
            self.assertEqual(len(one["ecp5_fmax_mhz"]), 3)
            self.assertGreaterEqual(one["dsp"], 1)
        self.assertIn(hls_peers.AMD, record["peers"])
        self.assertEqual(record["peers"][-1]["cycles"], 512)


if __name__ == "__main__":
    unittest.main()
