"""What the benches share: clock and reset, pauses, memories that fail on purpose, and rules of valid/ready.

cocotbext-axi is the other side of each port. It fails a test at a burst across 4 KiB and at a wrong `wlast`. It does not see
an offer that goes away or changes before it is accepted; `watch` does.
"""

import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

# A test that takes longer has lost something.
CYCLES = 200_000


def pauses(draw: random.Random, share: float) -> Iterator[bool]:
    """Pauses of one to eight cycles, which are about this share of all cycles."""
    while True:
        busy = draw.random() >= share
        for _ in range(draw.randint(1, 8)):
            yield not busy


def any_pauses(draw: random.Random) -> Iterator[bool]:
    """Pauses of a share that may be any: rarely, often, or never."""
    share = draw.choice([0.0, 0.2, 0.5, 0.9])
    return pauses(draw, share)


def value(signal: Any) -> int:
    """A signal as a number."""
    return int(signal.value)


async def watch(dut: Any, valid: str, ready: str, *payload: str, ends: str = "") -> None:
    """Fails if an offer goes away or changes before it is accepted, other than by a reset or by `ends`."""
    held: tuple[int, ...] | None = None
    while True:
        await RisingEdge(dut.clk_i)
        if not value(dut.rst_ni) or (ends and value(getattr(dut, ends))):
            held = None
            continue
        now = tuple(value(getattr(dut, name)) for name in payload)
        offered = value(getattr(dut, valid)) == 1
        if held is not None:
            assert offered, f"{valid} fell before {ready} rose"
            assert now == held, f"{', '.join(payload)} changed before {ready} rose"
        held = now if offered and not value(getattr(dut, ready)) else None


async def begin(dut: Any, **inputs: int) -> None:
    """Starts the clock, sets inputs and ends the reset."""
    for name, start in {"rst_ni": 0, **inputs}.items():
        getattr(dut, name).value = start
    cocotb.start_soon(Clock(dut.clk_i, 2, unit="ns").start())
    await cycles(dut, 5)
    dut.rst_ni.value = 1
    await cycles(dut, 2)


async def reset(dut: Any) -> None:
    """Resets for some cycles."""
    dut.rst_ni.value = 0
    await cycles(dut, 4)
    dut.rst_ni.value = 1
    await cycles(dut, 2)


async def cycles(dut: Any, count: int) -> None:
    """Waits."""
    for _ in range(count):
        await RisingEdge(dut.clk_i)


async def until(dut: Any, name: str) -> None:
    """Waits for a signal to be high at a clock edge, and no longer than a test may take."""
    for _ in range(CYCLES):
        await RisingEdge(dut.clk_i)
        if value(getattr(dut, name)):
            return
    raise AssertionError(f"{name} did not rise in {CYCLES} cycles")


class Memory:
    """Bytes behind an AXI port of cocotbext-axi. Accesses to addresses in `bad` fail: the port answers them with an error."""

    def __init__(self, draw: random.Random, size: int) -> None:
        self.bytes = bytearray(draw.randbytes(size))
        self.bad: range = range(0)

    async def read(self, address: int, length: int) -> bytes:
        """Called for each word that is read."""
        if address in self.bad:
            raise ValueError("refused")
        return bytes(self.bytes[address : address + length])

    async def write(self, address: int, data: bytes) -> None:
        """Called for bytes that follow one another."""
        if address in self.bad:
            raise ValueError("refused")
        self.bytes[address : address + len(data)] = data


def near_page(draw: random.Random, word: int, size: int) -> tuple[int, int]:
    """The first byte and the number of words of a run that begins near the end of a page and often crosses it."""
    page = 4096 // word
    words = draw.choice([1, 2, draw.randint(1, 20), draw.randint(page // 2, 2 * page)])
    start = draw.randrange(1, size // 4096 - 3) * page + draw.randint(-20, 20)
    return start * word, words


async def offer_run(dut: Any, address: int, words: int) -> None:
    """Offers a run until it is taken."""
    dut.run_addr_i.value = address
    dut.run_words_i.value = words
    dut.run_valid_i.value = 1
    await until(dut, "run_ready_o")
    dut.run_valid_i.value = 0
