"""The listings of the paper on high-level synthesis: python -m unittest discover scripts/tests."""

import sys
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import hlspaper as paper

N = 256
ROOT = paper.root_of_order(N)
VALUES = [(17 * i * i + 5) % paper.Q for i in range(N)]
EVERY = frozenset(paper.MENDS)


class Definitions(unittest.TestCase):
    """What the listings are compared with."""

    def test_the_transform_of_a_unit_vector_is_a_row_of_powers(self) -> None:
        unit = [int(i == 3) for i in range(16)]
        root = paper.root_of_order(16)
        self.assertEqual(paper.transform(unit, root), [pow(root, 3 * i, paper.Q) for i in range(16)])

    def test_orders_of_roots(self) -> None:
        self.assertEqual((pow(ROOT, N, paper.Q), pow(ROOT, N // 2, paper.Q)), (1, paper.Q - 1))
        with self.assertRaises(StopIteration):
            paper.root_of_order(2 * N)

    def test_reversals_and_rotations(self) -> None:
        self.assertEqual(paper.reversed_bits(0b0000_0110, 8), 0b0110_0000)
        self.assertEqual(paper.rotated(0b1000_0001, 1, 8), 0b0000_0011)
        self.assertEqual(paper.rotated(5, 8, 8), 5)

    def test_a_negacyclic_transform_is_one(self) -> None:
        psi = paper.root_of_order(32)

        def twisted(values: list[int]) -> list[int]:
            scaled = [v * pow(psi, i, paper.Q) for i, v in enumerate(values)]
            return paper.transform(scaled, pow(psi, 2, paper.Q))

        self.assertTrue(paper.is_transform(twisted, 16))

    def test_a_map_that_is_no_transform_is_told_from_one(self) -> None:
        root = paper.root_of_order(16)
        self.assertTrue(paper.is_transform(lambda v: paper.transform(v, root), 16))
        self.assertFalse(paper.is_transform(lambda v: paper.transform(v, pow(root, 2, paper.Q)), 16))
        self.assertFalse(paper.is_transform(lambda v: paper.in_reverse(v), 16))
        self.assertFalse(paper.is_transform(lambda v: paper.transform(paper.in_reverse(v), root), 16))


class Algorithm1(unittest.TestCase):
    """Five mends, each of them needed."""

    def test_right_with_all_mends(self) -> None:
        self.assertEqual(paper.algorithm1(VALUES, ROOT), paper.transform(VALUES, ROOT))

    def test_as_printed_it_leaves_the_array_and_never_ends(self) -> None:
        with self.assertRaises(paper.OutsideError):
            paper.algorithm1(VALUES, ROOT, frozenset())
        with self.assertRaises(paper.NeverEndsError):
            paper.algorithm1(VALUES, ROOT, frozenset(), wrap=True)

    def test_one_reading_in_64_is_right(self) -> None:
        for wrap in (False, True):
            found = paper.outcomes1(wrap=wrap)
            self.assertEqual(found.right, [EVERY | {"line 1"}])
            self.assertEqual(1 + found.never_end + found.leave + found.wrong, 64)

    def test_the_sign_of_line_11_negates_words_and_changes_nothing_else(self) -> None:
        self.assertEqual(paper.negated_by_sign(), 128)


class Algorithm2(unittest.TestCase):
    """Rotation and twiddle index."""

    def test_mended_it_is_the_cyclic_transform_in_bit_reversed_order(self) -> None:
        found = paper.algorithm2(VALUES, paper.powers(ROOT, N // 2))
        self.assertEqual(found, paper.in_reverse(paper.transform(VALUES, ROOT)))

    def test_the_printed_rotation_fits_words_stored_two_bits_further(self) -> None:
        self.assertEqual(paper.pairing(paper.printed_rotation), [1, 0, 7, 6, 5, 4, 3, 2])
        self.assertEqual(paper.pairing(paper.mended_rotation), [7, 6, 5, 4, 3, 2, 1, 0])
        table = paper.powers(ROOT, N // 2)
        stored = [0] * N
        for x, value in enumerate(VALUES):
            stored[paper.rotated(x, 2, 8)] = value
        found = paper.algorithm2(stored, table, paper.printed_rotation)
        expected = paper.algorithm2(VALUES, table)
        self.assertEqual([found[paper.rotated(x, 2, 8)] for x in range(N)], expected)
        self.assertNotEqual(paper.algorithm2(VALUES, table, paper.printed_rotation), expected)

    def test_the_printed_twiddle_index_is_a_transform_in_no_reading(self) -> None:
        self.assertEqual(paper.readings2(paper.printed_twiddle), [])
        self.assertGreater(len(paper.readings2(paper.mended_twiddle)), 0)
        self.assertGreater(len(paper.readings2(paper.staged_twiddle)), 0)

    def test_no_table_can_serve_the_printed_twiddle_index(self) -> None:
        """The argument of `shared_entries`: each of the two stages alone fills a row of the matrix with its entries."""
        n, bits = 16, 4
        table = [(7 * i * i + 3 * i + 1) % paper.Q for i in range(n)]
        apply = lambda v: paper.algorithm2(v, table, index=paper.printed_twiddle)
        columns = [apply([int(i == j) for i in range(n)]) for j in range(n)]
        rows = list(zip(*columns, strict=True))
        for stage in (0, 1):
            # The row that takes the odd side in this stage only: its words lie where the stage's bit is set.
            row = rows[1 << (bits - 1 - stage)]
            count = n >> (stage + 1)
            entries = [table[paper.printed_twiddle(stage, k << stage, bits)] for k in range(count)]
            self.assertEqual(list(row[:count]), entries)
            self.assertEqual([-x % paper.Q for x in row[count : 2 * count]], entries)
        self.assertGreaterEqual(paper.shared_entries(n), 2)

    def test_the_table_has_the_entries_that_the_listing_states(self) -> None:
        used = {paper.printed_twiddle(i, s, 8) for i in range(8) for s in range(N // 2)}
        self.assertEqual((min(used), max(used)), (1, N // 2))


class Memories(unittest.TestCase):
    """Banks, dependences, latencies."""

    def test_words_have_places_of_their_own(self) -> None:
        self.assertEqual(len({(x >> 1, paper.parity(x)) for x in range(N)}), N)

    def test_parity_serves_one_butterfly_and_not_two(self) -> None:
        parity = paper.BANKS["parity"]
        self.assertEqual(paper.crowded_stages(parity, 1), [])
        self.assertEqual(paper.crowded_stages(parity, 2), list(range(8)))
        self.assertEqual(paper.crowded_stages(paper.BANKS["blocks and parity"], 2), [4, 5, 6, 7])
        self.assertEqual(paper.crowded_stages(paper.BANKS["even and odd bits"], 2), [])

    def test_a_block_holds_all_words_of_an_iteration(self) -> None:
        self.assertEqual(paper.most_in_a_bank(paper.BANKS["blocks"], 2), 4)

    def test_blocks_alone_are_crowded_where_both_words_of_a_pair_are_in_one(self) -> None:
        self.assertEqual(paper.crowded_stages(paper.BANKS["blocks"], 1), [3, 4, 5, 6, 7])
        self.assertEqual(paper.crowded_stages(paper.BANKS["blocks"], 2), [0, 3, 4, 5, 6, 7])

    def test_a_word_that_two_iterations_of_a_stage_touch_is_found(self) -> None:
        with mock.patch.object(paper, "pair", lambda _i, _s, _bits, _rotation: (0, 1)):
            self.assertEqual(paper.read_after_write(1), (1, True))

    def test_a_word_is_read_a_quarter_of_a_stage_after_its_write(self) -> None:
        for b in (1, 2, 4, 8, 16):
            for rotation in (paper.mended_rotation, paper.printed_rotation):
                self.assertEqual(paper.read_after_write(b, rotation), (N // (4 * b), False))

    def test_latencies_have_one_interval(self) -> None:
        self.assertEqual(paper.intervals(2094, 512), [(4, 50)])
        self.assertEqual(paper.intervals(2114, 512), [(4, 70)])
        self.assertEqual(paper.intervals(512, 512), [(1, 1)])


class Reversals(unittest.TestCase):
    """Algorithm 3 and the floors of table 3."""

    def test_masks_reverse_8_and_16_bits(self) -> None:
        for x in range(256):
            self.assertEqual(paper.algorithm3(x), paper.reversed_bits(x, 8))
        for x in range(1 << 16):
            self.assertEqual(paper.reversal_by_masks(x, 4), paper.reversed_bits(x, 16))
        for x in range(512):
            self.assertEqual(paper.reversal_by_masks(x, 4) >> 7, paper.reversed_bits(x, 9))

    def test_schedules_reach_the_floors(self) -> None:
        for bits, cycles in ((8, 30), (9, 60)):
            self.assertEqual(paper.reversal_floor(bits), cycles)
            groups = paper.reversal_schedule(bits)
            self.assertEqual(2 * len(groups), cycles)
            self.assertEqual(sorted(one for group in groups for one in group), sorted(paper.swaps(bits)))
            for group in groups:
                uses = Counter(x >> (bits - 3) for one in group for x in one)
                self.assertEqual(set(uses.values()), {paper.PORTS})

    def test_a_graph_that_is_not_regular_has_no_matching(self) -> None:
        with self.assertRaises(ValueError):
            paper.perfect_matching([(0, 1), (2, 1)])

    def test_tours_leave_as_often_as_they_arrive(self) -> None:
        edges = [(x >> 5, y >> 5) for x, y in paper.swaps(8)]
        directed = paper.euler_directions(edges)
        self.assertEqual(Counter(x for x, _ in directed), Counter(y for _, y in directed))
        self.assertTrue(all(set(one) == set(two) for one, two in zip(edges, directed, strict=True)))


class Products(unittest.TestCase):
    """Section 3.3."""

    def test_a_pair_of_transforms_needs_no_reversal(self) -> None:
        g = [(5 * i + 1) % paper.Q for i in range(N)]
        self.assertEqual(paper.product_without_reversals(VALUES, g), paper.cyclic_product(VALUES, g))


if __name__ == "__main__":
    unittest.main()
