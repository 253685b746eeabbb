"""Figures of the pages of schemes, arithmetic and models."""

from .papers import CHAM_TABLE_3
from .records import Record, load, one, ratio, row, rows_of, runs
from .text import MISSING, block, digits, duration, gain, listed, of, ours, source, spread, table, theirs, wrapped


@block("tfhe-operations")
def tfhe_operations() -> str:
    kernels, device = load("evidence/kernels.json"), load("evidence/tfhe-device.json")

    def median(record: Record, case: str, threads: int) -> str:
        found = runs(record, case, threads=threads)
        return ours(found[0]) if found else MISSING

    def both(record: Record, case: str) -> list[str]:
        return [median(record, case, threads) for threads in (1, 2)]

    paper = "NVME_TFHE_PAPER"
    fft, ntt = (f"pbs/{paper}/big/{backend}" for backend in ("fft", "ntt"))
    lines = [
        ["bootstrap with its key switch, FFT", f"`{paper}`", *both(kernels, fft)],
        ["the same, 8 ciphertexts at a time, each", f"`{paper}`", *both(kernels, f"{fft}/batch8")],
        ["bootstrap with its key switch, exact NTT", f"`{paper}`", *both(kernels, ntt)],
        ["key switch", f"`{paper}`", median(kernels, f"ks/{paper}", 1), ""],
        ["generation of both server keys, seeded", f"`{paper}`", "", median(kernels, f"keygen/{paper}", 2)],
    ]
    for aim in ("2M64", "2M128"):
        for bits in range(1, 7):
            case = f"pbs/MESSAGE_{bits}_{aim}/big/fft"
            if runs(device, case, threads=1):
                lines.append(["bootstrap, FFT", f"`MESSAGE_{bits}_{aim}`", median(device, case, 1), ""])
    peaks = [one(runs(kernels, case, threads=1), case)["peak_rss_bytes"] / 1e9 for case in (fft, ntt)]
    memory = wrapped(
        f"Key generation, loading and bootstraps at the paper's dimensions need {peaks[0]:.2f} GB at their peak by FFT, "
        f"{peaks[1]:.2f} GB by NTT."
    )
    path = one(runs(kernels, fft, threads=1), fft)["isa"]
    compared, _ = rows_of(load("bench/results.json"), f"ks-pbs/{paper}/fft")
    again = [found for t in (1, 2) if (found := row(compared, f"ks-pbs/{paper}/fft", "tfhe", t))]
    pairs = [(found, runs(kernels, fft, threads=found["threads"])[0]) for found in again]
    note = wrapped(
        f"In `make bench` ([bench.md](bench.md#figures)), the first case takes {listed([ours(found) for found in again])}. "
        f"{spread(pairs)}"
    )
    head = ["operation", "set", "one thread", "two threads"]
    return f"{table(head, lines, 'llrr')}\n\n{note}\n\n{memory}\n\n{source(kernels, device, path=path)}"


@block("tfhe-floor")
def tfhe_floor() -> str:
    bench = load("bench/results.json")
    forward, path = rows_of(bench, "fft-fwd/n16384")
    inverse, _ = rows_of(bench, "fft-inv/n16384")
    each = [one(rows, "FFT of 16384")["median_ns"] for rows in (forward, inverse)]
    text = wrapped(
        f"8,000 forward transforms of {duration(each[0])} and 1,600 inverse ones of {duration(each[1])} take "
        f"{duration(8000 * each[0] + 1600 * each[1])} on one thread."
    )
    return f"{text}\n\n{source(bench, path=path)}"


@block("math-ntt")
def math_ntt() -> str:
    bench = load("bench/results.json")
    rows, path = rows_of(bench, "ntt-")
    primes = {
        "q31": "2^31, 32-bit words",
        "q46": "2^46",
        "q50": "2^50",
        "q60": "2^60",
        "q62": "2^62",
        "goldilocks": "2^64 − 2^32 + 1",
        "p38-23": "2^38 + 2^23 + 1",
    }

    def hardest(family: str, n: int, prime: str) -> Record | None:
        """The row with the fastest peer."""
        found = [r for r in rows if r["case"] == f"{family}/n{n}/{prime}"]
        return min(found, key=lambda r: r["peer_median_ns"], default=None)

    lines = []
    for prime, text in primes.items():
        cells: list[list[str]] = [[], [], []]
        peers = set()
        for family in ("ntt-fwd", "ntt-inv"):
            found = [hardest(family, n, prime) for n in (1024, 2048, 4096, 8192, 16384, 32768, 65536)]
            at_4096 = found[2]
            cells[0].append(of(at_4096, ours))
            cells[1].append(of(at_4096, gain))
            cells[2].append(digits(min(ratio(r) for r in found if r)))
            peers |= {f"{r['peer']} {r['peer_version']}" for r in found if r}
        lines.append([text, *[", ".join(pair) for pair in cells], ", ".join(sorted(peers))])
    head = [
        "primes below (or equal)",
        "forward, inverse, N = 4096",
        "fastest peer ÷ ours",
        "least ratio, N = 1024 … 65536",
        "fastest peer",
    ]
    return table(head, lines, "lrrrl") + "\n\n" + source(bench, path=path)


@block("math-fft")
def math_fft() -> str:
    bench = load("bench/results.json")
    forward, path = rows_of(bench, "fft-fwd/")
    inverse, _ = rows_of(bench, "fft-inv/")
    lines = []
    for n in (256, 1024, 4096, 16384, 65536, 131072):
        cells = [str(n)]
        for rows, family in ((forward, "fft-fwd"), (inverse, "fft-inv")):
            same, bare = (row(rows, f"{family}/n{n}", peer) for peer in ("tfhe", "tfhe-fft"))
            cells += [of(same, ours), of(same, gain), of(bare, gain)]
        lines.append(cells)
    head = ["N"]
    for direction in ("forward", "inverse"):
        head += [direction, "tfhe-rs, the same work, ÷ ours", "bare tfhe-fft ÷ ours"]
    return table(head, lines, "rrrrrrr") + "\n\n" + source(bench, path=path)


@block("paillier-operations")
def paillier_operations() -> str:
    bench = load("bench/paillier.json")
    rows, path = rows_of(bench, "paillier/2048/")
    lines = []
    for name, text in (
        ("encrypt", "encrypt, DJN; phe: r^n"),
        ("encrypt_strict", "encrypt, strict"),
        ("encrypt_owner", "encrypt by the owner, DJN; phe: r^n"),
        ("encrypt_owner_strict", "encrypt by the owner, strict"),
        ("decrypt", "decrypt"),
        ("add", "add"),
        ("mul64", "multiply by 64 bits"),
        ("matvec/64x64", "64 × 64 public 64-bit weights"),
    ):
        phe, gmp, terms = (row(rows, f"paillier/2048/{name}", peer) for peer in ("phe", "GMP", "ours term by term"))
        found = gmp or phe
        lines.append(
            [text, of(found, ours), of(found, lambda r: f"{1e9 / r['median_ns']:,.0f}"), of(phe, gain), of(gmp, gain)]
        )
        if terms:
            lines.append(
                ["the same, term by term", theirs(terms), f"{1e9 / terms['peer_median_ns']:,.0f}", "", ""],
            )
    head = ["operation", "ours", "per second", "phe 1.5 (gmpy2) ÷ ours", "formula in GMP ÷ ours"]
    return table(head, lines) + "\n\n" + source(bench, path=path)


@block("bigint-modexp")
def bigint_modexp() -> str:
    bench = load("bench/paillier.json")
    rows, best = rows_of(bench, "modexp/")
    columns = [
        ("ifma", "modexp", "`ifma`, of eight"),
        ("ifma-single", "modexp-single", "`ifma-single`"),
        ("adx", "modexp", "`adx`"),
        ("portable", "modexp", "`portable`"),
    ]
    offered = {r["isa"] for r in bench["rows"]}
    peers = {
        "mpz_powm": "GMP `mpz_powm`",
        "BN_mod_exp_mont_consttime": "OpenSSL, constant-time",
        "crypto_mb": "crypto_mb, of eight",
    }
    # crypto_mb needs AVX-512 IFMA.
    peers = {peer: text for peer, text in peers.items() if any(r["peer"] == peer for r in rows)}
    lines = []
    for bits in (512, 1024, 2048, 3072, 4096, 6144):
        cells = [str(bits)]
        for path, family, _ in columns:
            if path in offered:
                found = [r for r in bench["rows"] if r["case"] == f"{family}/{bits}" and r["isa"] == path]
                cells.append(of(found[0] if found else None, ours))
        for peer in peers:
            compared = row(rows, f"modexp/{bits}", peer)
            cells.append(gain(compared) if compared else "–")
        lines.append(cells)
    head = ["bits", *[text for path, _, text in columns if path in offered]]
    head += [f"{text} ÷ `{best}`" for text in peers.values()]
    lacking = [f"`{path}`" for path, _, _ in columns if path not in offered]
    note = f"Not measured, as this CPU lacks the instructions: {', '.join(lacking)}.\n\n" if lacking else ""
    return table(head, lines, "r" * len(head)) + f"\n\n{note}" + source(bench)


@block("hmvp-paper")
def hmvp_paper() -> str:
    evidence, bench = load("evidence/hmvp.json"), load("bench/hmvp.json")
    rows, _ = rows_of(bench, "hmvp/")
    lines, pairs = [], []
    others: dict[str, list[str]] = {}
    for count, times in CHAM_TABLE_3.items():
        cells = [str(count)]
        for strategy in ("row-packed", "algorithm1"):
            case = f"hmvp/{strategy}/{count}x256"
            found = one(runs(evidence, case, threads=1), case)
            cells.append(digits(found["median_ns"] / 1e6))
            if again := row(rows, case, "lattigo"):
                pairs.append((found, again))
                others.setdefault(strategy, []).append(ours(again))
        cells += [f"{time:.2f}" for time in times]
        cells += [
            of(row(rows, f"hmvp/{strategy}/{count}x256", "lattigo"), gain) for strategy in ("row-packed", "diagonal")
        ]
        lines.append(cells)
    head = ["rows × 256, ms", "row-packed", "algorithm 1", "paper: CPU", "paper: GPU", "paper: FPGA"]
    head += ["Lattigo ÷ row-packed", "Lattigo ÷ diagonal"]
    times_there = "; ".join(f"`{strategy}` {listed(times)}" for strategy, times in others.items())
    note = wrapped(
        f"Times are of `make evidence`, ratios of `make bench` ([bench.md](bench.md#figures)). Our times there: "
        f"{times_there}. {spread(pairs)}"
    )
    return f"{table(head, lines, 'r' * len(head))}\n\n{note}\n\n" + source(
        evidence, bench, path=evidence["results"]["isa"]
    )


@block("hmvp-cases")
def hmvp_cases() -> str:
    record = load("evidence/hmvp.json")

    def median(case: str, **params: object) -> Record:
        return one(runs(record, f"hmvp/row-packed/{case}", **params), f"row-packed {case}, {params}")

    large = median("8192x8192", threads=2)
    memory = f"{large['peak_rss_bytes'] / 1e9:.2f} GB of memory at most"
    lines = [
        ["1024 × 256, matrix fresh", ours(median("1024x256/fresh", threads=1))],
        ["1024 × 256, 16-bit entries on both sides", ours(median("1024x256", threads=1, matrix_bits=16))],
        ["1024 × 256, each of 8 vectors in one pass", ours(median("1024x256", threads=1, vectors=8))],
        ["2048 × 4096", ours(median("2048x4096", threads=1))],
        ["8192 × 8192", ours(median("8192x8192", threads=1))],
        [f"8192 × 8192, two threads; {memory}", ours(large)],
    ]
    return table(["case, `row-packed`", "time"], lines) + "\n\n" + source(record, path=record["results"]["isa"])


@block("arch-speed")
def arch_speed() -> str:
    record = load("evidence/arch.json")
    lines, slow = [], []
    for found in record["results"]["simulation_speed_million_cycles_per_second"]:
        size = f"2^{found['polynomial_size'].bit_length() - 1}"
        flight = "one transform after the other" if found["in_flight"] == 1 else f"{found['in_flight']} in flight"
        lines.append([f"{size}, {flight}", digits(found["median"]), digits(1000 / found["median"] / 16)])
        if found["median"] < 1:
            slow.append(f"{size}, {flight}")
    if len(slow) == len(lines):
        missed = "No workload reaches the aim of one million cycles per second."
    else:
        missed = wrapped(f"Below the aim of one million cycles per second: {'; '.join(slow) or 'none'}.")
    head = ["workload", "million cycles of the 16 cores per second", "ns per cycle of a core"]
    return f"{table(head, lines)}\n\n{missed}\n\n{source(record)}"
