"""prim_axil_regs with a file of registers, driven by a master of cocotbext-axi."""

import random
from typing import Any

import cocotb
from bench import any_pauses, begin, cycles, reset, until, value, watch
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

# Bytes of registers, and of addresses.
REGISTERS, SPACE = 64, 256


class Bench:
    """The port, the master, and what registers must hold."""

    def __init__(self, dut: Any, draw: random.Random) -> None:
        self.dut = dut
        self.draw = draw
        self.master = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "axil"), dut.clk_i, dut.rst_ni, reset_active_level=False
        )
        self.model = bytearray(REGISTERS)
        self.accesses = 0

    async def start(self) -> None:
        """Ends the reset."""
        await begin(self.dut)
        cocotb.start_soon(watch(self.dut, "axil_bvalid", "axil_bready", "axil_bresp"))
        cocotb.start_soon(watch(self.dut, "axil_rvalid", "axil_rready", "axil_rdata", "axil_rresp"))
        cocotb.start_soon(self.count())
        self.pause()

    async def count(self) -> None:
        """Counts what the user sees."""
        while True:
            await RisingEdge(self.dut.clk_i)
            self.accesses += value(self.dut.access_o)

    def channels(self) -> tuple[Any, ...]:
        """Those of the master."""
        write, read = self.master.write_if, self.master.read_if
        return write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel

    def pause(self) -> None:
        """Other pauses of the master, in each channel."""
        for channel in self.channels():
            channel.set_pause_generator(any_pauses(self.draw))

    async def write(self, address: int, data: bytes) -> AxiResp:
        """Writes bytes of one word."""
        return AxiResp((await with_timeout(self.master.write(address, data), 20, "us")).resp)

    async def read(self, address: int) -> tuple[AxiResp, bytes]:
        """Reads a word."""
        done = await with_timeout(self.master.read(address, 4), 20, "us")
        return AxiResp(done.resp), bytes(done.data)


@cocotb.test()
async def registers_hold_what_was_written(dut: Any) -> None:
    """Beyond them, and for less than a word, the response is an error and nothing changes."""
    bench = Bench(dut, random.Random(1))
    await bench.start()
    for number in range(600):
        address = bench.draw.randrange(0, SPACE, 4) if number % 4 == 0 else bench.draw.randrange(0, REGISTERS, 4)
        seen = bench.accesses
        if bench.draw.random() < 0.5:
            length = bench.draw.choice([4, 4, 4, 1, 2, 3])
            data = bench.draw.randbytes(length)
            right = address < REGISTERS and length == 4
            assert await bench.write(address, data) == (AxiResp.OKAY if right else AxiResp.SLVERR), hex(address)
            if right:
                bench.model[address : address + 4] = data
            assert bench.accesses - seen == (length == 4), "an access is shown once, and a wrong one is not"
        else:
            response, data = await bench.read(address)
            if address < REGISTERS:
                assert (response, data) == (AxiResp.OKAY, bytes(bench.model[address : address + 4]))
            else:
                assert (response, data) == (AxiResp.SLVERR, bytes(4))
            assert bench.accesses - seen == 1
        if number % 20 == 0:
            bench.pause()


@cocotb.test()
async def reads_and_writes_at_once_take_turns(dut: Any) -> None:
    """The master offers all of both from the start, so that the next one waits when an access ends."""
    bench = Bench(dut, random.Random(2))
    await bench.start()
    for channel in bench.channels():
        channel.clear_pause_generator()
        channel.pause = False
    order: list[str] = []

    async def note(kind: str, done: Any) -> None:
        await with_timeout(done.wait(), 20, "us")
        assert AxiResp(done.data.resp) == AxiResp.OKAY
        order.append(kind)

    # Of different words, so that what is read does not depend on the order.
    data = [bench.draw.randbytes(4) for _ in range(50)]
    waiting = [cocotb.start_soon(note("w", bench.master.init_write(0, one))) for one in data]
    waiting += [cocotb.start_soon(note("r", bench.master.init_read(8, 4))) for _ in data]
    for one in waiting:
        await one
    assert (await bench.read(0))[1] == data[-1]
    longest = max(len(part) for part in "".join(order).replace("wr", "w r").replace("rw", "r w").split())
    # The first or the last of a kind may have had no other to wait for.
    assert longest <= 2, "".join(order)


@cocotb.test()
async def an_address_within_a_word_is_refused(dut: Any) -> None:
    """The master of cocotbext-axi has no such accesses; the signals are driven without it."""
    offers = ("axil_awvalid", "axil_wvalid", "axil_bready", "axil_arvalid", "axil_rready")
    await begin(dut, **dict.fromkeys(offers, 0))
    for address in (1, 2, 4, 3, 8):
        dut.axil_araddr.value = address
        dut.axil_arvalid.value = 1
        await until(dut, "axil_arready")
        dut.axil_arvalid.value = 0
        dut.axil_rready.value = 1
        await until(dut, "axil_rvalid")
        assert value(dut.axil_rresp) == (AxiResp.SLVERR if address % 4 else AxiResp.OKAY)
        dut.axil_rready.value = 0


@cocotb.test()
async def a_reset_ends_an_access(dut: Any) -> None:
    """At any time of it; the next ones are answered."""
    bench = Bench(dut, random.Random(4))
    await bench.start()
    for delay in range(12):
        bench.master.init_write(0, bytes(4))
        bench.master.init_read(4, 4)
        await cycles(dut, delay)
        await reset(dut)
        assert (value(dut.axil_bvalid), value(dut.axil_rvalid)) == (0, 0)
        assert await bench.read(0) == (AxiResp.OKAY, bytes(4))
