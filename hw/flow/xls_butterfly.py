"""Has XLS make a pipelined butterfly: python hw/flow/xls_butterfly.py FUNCTION STAGES > butterfly.v

The function is one of hw/hls/peers/butterfly.x. XLS interprets it on random words first; wrong results end this with 1. It
runs in the environment of hw/python-tools-peers.txt, which hw/flow/hls_peers.py calls.
"""

import random
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "hls/peers/butterfly.x"
Q = 3329
# Of XLS's delay models, the one of a process in silicon; it has none of an FPGA. It decides only where registers go.
DELAYS = "asap7"
WORDS = 2000


def reference(u: int, v: int, w: int) -> tuple[int, int]:
    """The butterfly."""
    return (u + v) % Q, (u - v) * w % Q


def samples() -> list[tuple[int, int, int]]:
    """The ends of the range, and random words."""
    ends = (0, 1, Q - 1)
    generator = random.Random(1)
    drawn = [(generator.randrange(Q), generator.randrange(Q), generator.randrange(Q)) for _ in range(WORDS)]
    return [(u, v, w) for u in ends for v in ends for w in ends] + drawn


def main() -> int:
    """Checks the function, writes its Verilog."""
    # Here, so that the flow can have the samples without XLS.
    from xls import c_api  # type: ignore[import-not-found]

    if len(sys.argv) != 3 or not sys.argv[2].isdigit() or not 1 <= int(sys.argv[2]) <= 64:
        print("usage: xls_butterfly.py by_remainder|by_barrett STAGES (1 to 64)", file=sys.stderr)
        return 2
    name, stages = sys.argv[1], int(sys.argv[2])
    top = c_api.mangle_dslx_name("butterfly", name)
    ir = c_api.optimize_ir(c_api.convert_dslx_path_to_ir(str(SOURCE)), top)
    package = c_api.parse_ir_package(ir)
    function = package.get_function(top)
    for words in samples():
        value = function.interpret([c_api.Value.make_ubits(12, word) for word in words])
        found = tuple(value.get_element(i).get_bits().to_uint64() for i in range(2))
        if found != reference(*words):
            print(f"xls_butterfly: {name}{words} is {found}, not {reference(*words)}", file=sys.stderr)
            return 1
    package.set_top(top)
    made = package.schedule_and_codegen(
        with_delay_model=True,
        delay_model=DELAYS,
        generator="pipeline",
        pipeline_stages=stages,
        module_name="butterfly",
        flop_inputs=True,
        flop_outputs=True,
        use_system_verilog=True,
    )
    print(made.get_verilog_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
