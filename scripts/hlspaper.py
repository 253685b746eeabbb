"""The listings of "GS-type NTT by high-level synthesis" (section 4 of docs/papers.md), as printed and mended.

    python scripts/hlspaper.py          # prints a line for each statement of the page

T. Sasaki and Y. Hara, 高位合成を用いた Gentleman-Sande 型 NTT の高速化. Every mend is a switch, so that a listing can be run
in each of its readings. Indices count from 0; `bits` is the paper's l.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise, product
from typing import NamedTuple

Words = list[int]
Q = 3329


class NeverEndsError(Exception):
    """A loop is still running after more steps than any reading needs."""


class OutsideError(Exception):
    """An index leaves the array."""


def reversed_bits(value: int, bits: int) -> int:
    """The value with its lowest `bits` bits in reverse order."""
    return int(f"{value:0{bits}b}"[::-1], 2)


def in_reverse(words: Sequence[int]) -> Words:
    """The words in bit-reversed order."""
    bits = len(words).bit_length() - 1
    return [words[reversed_bits(i, bits)] for i in range(len(words))]


def rotated(value: int, by: int, bits: int) -> int:
    """The value rotated to the left within `bits` bits."""
    by %= bits
    return (value << by | value >> (bits - by)) & ((1 << bits) - 1)


def root_of_order(order: int, q: int = Q) -> int:
    """The smallest element of this order, a power of two."""
    return next(x for x in range(2, q) if pow(x, order // 2, q) == q - 1)


def transform(values: Sequence[int], root: int, q: int = Q) -> Words:
    """The cyclic transform by its definition."""
    n = len(values)
    powers = [pow(root, i, q) for i in range(n)]
    return [sum(v * powers[i * j % n] for j, v in enumerate(values)) % q for i in range(n)]


# Algorithm 1

MENDS = ("k++", "j += m", "l passes", "m = 2^i", "t2 - t1")
STEPS_MAX = 20_000


def algorithm1(
    values: Sequence[int],
    root: int,
    mends: frozenset[str] = frozenset(MENDS),
    *,
    reverse: bool = True,
    wrap: bool = False,
    q: int = Q,
) -> Words:
    """Algorithm 1 with these mends. `wrap` takes indices modulo n, where the listing leaves the array."""
    n, bits = len(values), len(values).bit_length() - 1
    a = in_reverse(values) if reverse else list(values)
    grows, all_passes = "m = 2^i" in mends, "l passes" in mends
    # With l passes, a growing m is 2^i for i = 1…l, and a shrinking one 2^(l−i) for i = 0…l−1.
    first = 1 if grows or not all_passes else 0
    steps = 0
    for i in range(first, first + (bits if all_passes else bits - 1)):
        m = 1 << (i if grows else bits - i)
        step = pow(root, n // m, q)
        for j in range(0, n, m if "j += m" in mends else 1):
            w, k, length = 1, 0, m
            while k < length // 2:
                steps += 1
                if steps > STEPS_MAX:
                    raise NeverEndsError
                low, high = k + j, k + j + length // 2
                if wrap:
                    low, high = low % n, high % n
                if high >= n:
                    raise OutsideError
                t1, t2 = w * a[high] % q, a[low]
                a[low], a[high] = (t1 + t2) % q, (t2 - t1 if "t2 - t1" in mends else t1 - t2) % q
                w = w * step % q
                if "k++" in mends:
                    k += 1
                else:
                    length += 1
    return a


class Outcome(NamedTuple):
    """How the readings of a listing end."""

    right: list[frozenset[str]]
    never_end: int
    leave: int
    wrong: int


def outcomes1(n: int = 16, *, wrap: bool = False) -> Outcome:
    """All sets of mends of algorithm 1, each with and without line 1, compared with the transform in either order."""
    root = root_of_order(n)
    values = [(17 * i * i + 5) % Q for i in range(n)]
    goals = [
        order for r in (root, pow(root, -1, Q)) for order in (transform(values, r), in_reverse(transform(values, r)))
    ]
    right, ends = [], Counter[str]()
    for count in range(len(MENDS) + 1):
        for chosen in combinations(MENDS, count):
            for reverse in (True, False):
                try:
                    found = algorithm1(values, root, frozenset(chosen), reverse=reverse, wrap=wrap)
                except NeverEndsError:
                    ends["never"] += 1
                except OutsideError:
                    ends["outside"] += 1
                else:
                    if found in goals:
                        right.append(frozenset(chosen) | ({"line 1"} if reverse else set()))
                    else:
                        ends["wrong"] += 1
    return Outcome(right, ends["never"], ends["outside"], ends["wrong"])


def negated_by_sign(n: int = 256) -> int:
    """How many words have the wrong sign, and are right otherwise, if only t1 − t2 stays as printed."""
    root = root_of_order(n)
    values = [(17 * i * i + 5) % Q for i in range(n)]
    found = algorithm1(values, root, frozenset(MENDS) - {"t2 - t1"})
    expected = transform(values, root)
    if any((x - y) % Q and (x + y) % Q for x, y in zip(found, expected, strict=True)):
        raise ValueError("a word is wrong by more than its sign")
    return sum((x - y) % Q != 0 for x, y in zip(found, expected, strict=True))


# Algorithm 2

Rotation = Callable[[int, int], int]
Index = Callable[[int, int, int], int]


def printed_rotation(i: int, bits: int) -> int:
    """Lines 7 and 8."""
    return bits - i + 1


def mended_rotation(i: int, bits: int) -> int:
    """The rotation that pairs bit l−1 first and bit 0 last."""
    return bits - i - 1


def printed_twiddle(i: int, s: int, _bits: int) -> int:
    """Line 9; s stands for s + b."""
    return (1 << i) + (s >> i)


def mended_twiddle(i: int, s: int, _bits: int) -> int:
    """The exponent of the root that the cyclic transform needs, from a table of n/2 powers."""
    return s >> i << i


def staged_twiddle(i: int, s: int, bits: int) -> int:
    """The nearest index to line 9 that is right: into a table of n entries, stage after stage."""
    return (1 << (bits - 1 - i)) + (s >> i)


def pair(i: int, s: int, bits: int, rotation: Rotation) -> tuple[int, int]:
    """The words of butterfly s in stage i."""
    return rotated(2 * s, rotation(i, bits), bits), rotated(2 * s + 1, rotation(i, bits), bits)


def algorithm2(
    values: Sequence[int],
    table: Sequence[int],
    rotation: Rotation = mended_rotation,
    index: Index = mended_twiddle,
    q: int = Q,
) -> Words:
    """Algorithm 2, whose step of s is B in every reading, over a table of twiddle factors."""
    bits = len(values).bit_length() - 1
    a = list(values)
    for i in range(bits):
        for s in range(len(values) // 2):
            even, odd = pair(i, s, bits, rotation)
            a[even], a[odd] = (a[even] + a[odd]) % q, (a[even] - a[odd]) * table[index(i, s, bits)] % q
    return a


def powers(root: int, count: int) -> Words:
    """The first powers of the root."""
    return [pow(root, i, Q) for i in range(count)]


def pairing(rotation: Rotation, bits: int = 8) -> list[int]:
    """The index bit in which the two words of a butterfly differ, by stage."""
    found = []
    for i in range(bits):
        even, odd = pair(i, 0, bits, rotation)
        found.append((even ^ odd).bit_length() - 1)
    return found


def is_transform(apply: Callable[[Words], Words], n: int) -> bool:
    """Whether the linear map, up to a factor of each output word, evaluates polynomials at n roots of x^n − 1 or x^n + 1.

    Each row of its matrix is then a geometric progression whose ratio is a root, and the ratios differ. That is any
    cyclic or negacyclic transform, whatever the root, the order and the scale of its outputs.
    """
    columns = [apply([int(i == j) for i in range(n)]) for j in range(n)]
    ratios = set()
    for row in zip(*columns, strict=True):
        if row[0] == 0:
            return False
        ratio = row[1] * pow(row[0], -1, Q) % Q
        if any((x * ratio - y) % Q for x, y in pairwise(row)) or pow(ratio, n, Q) not in (1, Q - 1):
            return False
        ratios.add(ratio)
    return len(ratios) == n


def tables(n: int) -> dict[str, Words]:
    """Orders of a table of twiddle factors, the printed one first."""
    bits = n.bit_length() - 1
    root, psi = root_of_order(n), root_of_order(2 * n)
    entries = range(n + 1)

    def by_stage(base: int) -> Words:
        # Entry h + k is the factor k of the stage with h factors.
        return [1, *(pow(base, k * (n // (2 * h)), Q) for h in (1 << b for b in range(bits)) for k in range(h)), 1]

    return {
        "w^i": [pow(root, i, Q) for i in entries],
        "w^-i": [pow(root, -i, Q) for i in entries],
        "psi^i": [pow(psi, i, Q) for i in entries],
        "psi^-i": [pow(psi, -i, Q) for i in entries],
        "w^rev(i)": [pow(root, reversed_bits(i % (n // 2), bits - 1), Q) for i in entries],
        "psi^rev(i)": [pow(psi, reversed_bits(i % n, bits), Q) for i in entries],
        "by stage": by_stage(root),
    }


def inputs(n: int) -> dict[str, list[int]]:
    """Orders in which a transform may expect its words: where word x lies."""
    bits = n.bit_length() - 1
    turned = {f"rotated by {r}": [rotated(x, r, bits) for x in range(n)] for r in range(1, bits)}
    return {"natural": list(range(n)), "bit-reversed": [reversed_bits(x, bits) for x in range(n)], **turned}


def readings2(index: Index, n: int = 16) -> list[tuple[str, str, str]]:
    """The readings of algorithm 2 with this twiddle index that are transforms: rotation, table, order of the input."""
    rotations = {"l-i+1": printed_rotation, "l-i-1": mended_rotation, "i": lambda i, _bits: i}
    right = []
    for (turn, rotation), (name, table), (order, places) in product(
        rotations.items(), tables(n).items(), inputs(n).items()
    ):

        def apply(
            values: Words, places: list[int] = places, table: Words = table, rotation: Rotation = rotation
        ) -> Words:
            stored = [0] * n
            for x, place in enumerate(places):
                stored[place] = values[x]
            return algorithm2(stored, table, rotation, index)

        if is_transform(apply, n):
            right.append((turn, name, order))
    return right


def shared_entries(n: int = 256) -> int:
    """How many table entries stages 0 and 1 both read by line 9.

    Stage 0 alone makes one row of the matrix, so its entries must be c·x^k with x of order n; stage 1 makes another, with
    y of order n/2. Two consecutive shared entries would have both ratios: no table serves both.
    """
    bits = n.bit_length() - 1
    read = [{printed_twiddle(i, s, bits) for s in range(n // 2)} for i in (0, 1)]
    return len(read[0] & read[1])


# Banks and dependences

Bank = Callable[[int], object]


def parity(x: int) -> int:
    """The sum of the bits modulo 2."""
    return x.bit_count() % 2


BANKS: dict[str, Bank] = {
    # a[index >> 1][parity]: the listing's two banks.
    "parity": parity,
    # Table 1's eight blocks of its rows, each with both parities in one memory, or in one memory each. n = 256.
    "blocks": lambda x: x >> 5,
    "blocks and parity": lambda x: (x >> 5, parity(x)),
    # Ours: parity of the even bits and of the odd bits.
    "even and odd bits": lambda x: (parity(x & 0x55), parity(x & 0xAA)),
}


def crowded_stages(bank: Bank, butterflies: int, rotation: Rotation = mended_rotation, bits: int = 8) -> list[int]:
    """The stages in which an iteration reads two words of one bank."""
    crowded = []
    for i in range(bits):
        for s in range(0, 1 << (bits - 1), butterflies):
            words = [x for b in range(butterflies) for x in pair(i, s + b, bits, rotation)]
            if len({bank(x) for x in words}) < len(words):
                crowded.append(i)
                break
    return crowded


def most_in_a_bank(bank: Bank, butterflies: int, rotation: Rotation = mended_rotation, bits: int = 8) -> int:
    """The most words of one bank that an iteration reads."""
    return max(
        max(Counter(bank(x) for b in range(butterflies) for x in pair(i, s + b, bits, rotation)).values())
        for i in range(bits)
        for s in range(0, 1 << (bits - 1), butterflies)
    )


def read_after_write(butterflies: int, rotation: Rotation = mended_rotation, bits: int = 8) -> tuple[int, bool]:
    """The shortest distance from a word's write to its next read, in iterations of the flattened nest, and whether any
    two iterations of one stage touch the same word."""
    written: dict[int, tuple[int, int]] = {}
    shortest, inside = 1 << bits, False
    iteration = 0
    for i in range(bits):
        for s in range(0, 1 << (bits - 1), butterflies):
            for x in (x for b in range(butterflies) for x in pair(i, s + b, bits, rotation)):
                if x in written:
                    when, stage = written[x]
                    shortest, inside = min(shortest, iteration - when), inside or stage == i
                written[x] = iteration, i
            iteration += 1
    return shortest, inside


def intervals(cycles: int, iterations: int) -> list[tuple[int, int]]:
    """Whole initiation intervals and depths that give this latency, with a pipeline shorter than the iterations."""
    fits = ((interval, cycles - (iterations - 1) * interval) for interval in range(1, 64))
    return [(interval, depth) for interval, depth in fits if 0 < depth < iterations]


# Algorithm 3 and Table 3

MASKS = ((2, 0x55555555, 0), (4, 0x33333333, 1), (8, 0x0F0F0F0F, 3), (16, 0x00FF00FF, 7))


def reversal_by_masks(value: int, steps: int) -> int:
    """Algorithm 3 line by line with so many steps: 3 reverse 8 bits, 4 reverse 16."""
    t = value
    for shift, mask, up in MASKS[:steps]:
        value &= mask << up
        t ^= value
        value = value << shift | t
        t = value
    return value >> ((1 << steps) - 1)


def algorithm3(value: int) -> int:
    """The paper's reversal of eight bits."""
    return reversal_by_masks(value, 3)


BLOCKS, PORTS = 8, 2


def swaps(bits: int) -> list[tuple[int, int]]:
    """The pairs of words that a reversal in place exchanges."""
    return [(x, reversed_bits(x, bits)) for x in range(1 << bits) if x < reversed_bits(x, bits)]


def reversal_floor(bits: int) -> int:
    """The cycles that the busiest of eight two-port block banks needs: a read and a write for each word that moves."""
    moved = Counter(x >> (bits - 3) for one in swaps(bits) for x in one)
    return -(-2 * max(moved.values()) // PORTS)


def reversal_schedule(bits: int) -> list[list[tuple[int, int]]]:
    """Swaps in groups that use each bank exactly twice: a cycle reads a group's words, the next one writes them.

    The swaps are the edges of a multigraph on the banks, in which each bank has the same even degree. It falls into
    2-factors (J. Petersen, 1891): an Euler tour directs the edges so that each bank has as many out as in; a perfect
    matching of outs to ins is a 2-factor, and what is left is again regular.
    """
    bank = bits - 3
    edges = euler_directions([(x >> bank, y >> bank) for x, y in swaps(bits)])
    left = list(zip(edges, swaps(bits), strict=True))
    groups = []
    while left:
        chosen = perfect_matching([edge for edge, _ in left])
        groups.append([left[i][1] for i in chosen])
        left = [one for i, one in enumerate(left) if i not in set(chosen)]
    return groups


def euler_directions(edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges directed along closed tours, so that each node has as many out as in."""
    around: dict[int, list[int]] = {}
    for i, (x, y) in enumerate(edges):
        around.setdefault(x, []).append(i)
        around.setdefault(y, []).append(i)
    directed: dict[int, tuple[int, int]] = {}
    for start in around:
        node = start
        while True:
            while around[node] and around[node][-1] in directed:
                around[node].pop()
            if not around[node]:
                break
            i = around[node].pop()
            x, y = edges[i]
            directed[i] = (x, y) if x == node else (y, x)
            node = directed[i][1]
    return [directed[i] for i in range(len(edges))]


def perfect_matching(edges: list[tuple[int, int]]) -> list[int]:
    """Indices of edges with one out of and one into each node, by augmenting paths."""
    into: dict[int, int] = {}

    def augment(out: int, seen: set[int]) -> bool:
        for i, (x, y) in enumerate(edges):
            if x == out and y not in seen:
                seen.add(y)
                if y not in into or augment(edges[into[y]][0], seen):
                    into[y] = i
                    return True
        return False

    for node in sorted({x for x, _ in edges}):
        if not augment(node, set()):
            raise ValueError("the graph is not regular")
    return list(into.values())


# Products


def product_without_reversals(f: Sequence[int], g: Sequence[int]) -> Words:
    """Section 3.3: Gentleman-Sande there, Cooley-Tukey back, no reversal of bits."""
    n = len(f)
    root = root_of_order(n)
    table = powers(root, n // 2)
    points = [x * y % Q for x, y in zip(algorithm2(f, table), algorithm2(g, table), strict=True)]
    back = algorithm1(points, pow(root, -1, Q), reverse=False)
    return [x * pow(n, -1, Q) % Q for x in back]


def cyclic_product(f: Sequence[int], g: Sequence[int]) -> Words:
    """The product modulo x^n − 1 by its definition."""
    n = len(f)
    return [sum(f[i] * g[(k - i) % n] for i in range(n)) % Q for k in range(n)]


def statements() -> Iterator[str]:
    """What the page says of the listings, with the figures found."""
    plain, wrapped = outcomes1(), outcomes1(wrap=True)
    yield (
        f"algorithm 1, n=16: of 64 readings {len(plain.right)} right, {plain.leave} leave the array, "
        f"{plain.wrong} wrong; with indices modulo n {wrapped.never_end} never end"
    )
    yield f"algorithm 1 with t1 - t2 alone as printed: {negated_by_sign()} of 256 words negated"
    yield f"algorithm 2: bits paired as printed {pairing(printed_rotation)}, mended {pairing(mended_rotation)}"
    for name, index in (("printed", printed_twiddle), ("mended", mended_twiddle), ("by stage", staged_twiddle)):
        yield f"algorithm 2, n=16, twiddle index {name}: right readings {readings2(index)}"
    yield f"line 9: stages 0 and 1 share {shared_entries()} entries"
    for name, bank in BANKS.items():
        for b in (1, 2):
            crowded, most = crowded_stages(bank, b), most_in_a_bank(bank, b)
            yield f"banks by {name}, B={b}: two reads meet in stages {crowded}, at most {most} in a bank"
    for b in (1, 2, 4, 8, 16):
        distance, inside = read_after_write(b)
        yield f"B={b}: shortest distance {distance} iterations; two iterations of a stage share a word: {inside}"
    for cycles in (2094, 2114):
        yield f"{cycles} cycles: intervals and depths {intervals(cycles, 512)}"
    yield f"algorithm 3 right for all 256: {all(algorithm3(x) == reversed_bits(x, 8) for x in range(256))}"
    nine = all(reversal_by_masks(x, 4) >> 7 == reversed_bits(x, 9) for x in range(512))
    yield f"9 bits as 16 reversed, >> 7: right for all 512: {nine}"
    for bits in (8, 9):
        yield f"reversal of {bits} bits: floor {reversal_floor(bits)} cycles, schedule {2 * len(reversal_schedule(bits))}"


def main() -> int:
    """Prints the statements."""
    for line in statements():
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
