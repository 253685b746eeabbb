"""prim_axi_write in front of a memory of cocotbext-axi."""

import random
from typing import Any

import cocotb
from bench import Memory, any_pauses, begin, cycles, near_page, offer_run, reset, until, value, watch
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiSlaveWrite, AxiWriteBus

SIZE = 1 << 16


class Bench:
    """The port, the memory, and what enters the port."""

    def __init__(self, dut: Any, draw: random.Random) -> None:
        self.dut = dut
        self.draw = draw
        self.word = len(dut.axi_wdata) // 8
        self.memory = Memory(draw, SIZE)
        # What the memory must hold.
        self.model = bytearray(self.memory.bytes)
        self.slave = AxiSlaveWrite(
            AxiWriteBus.from_prefix(dut, "axi"), dut.clk_i, dut.rst_ni, target=self.memory, reset_active_level=False
        )
        # Where the words that enter belong.
        self.places: list[int] = []

    async def start(self) -> None:
        """Ends the reset and begins to offer words."""
        inputs = ("clear_i", "run_valid_i", "run_addr_i", "run_words_i", "in_valid_i", "in_data_i", "in_strobe_i")
        await begin(self.dut, **dict.fromkeys(inputs, 0))
        cocotb.start_soon(watch(self.dut, "axi_awvalid", "axi_awready", "axi_awaddr", "axi_awlen"))
        cocotb.start_soon(watch(self.dut, "axi_wvalid", "axi_wready", "axi_wdata", "axi_wstrb", "axi_wlast"))
        cocotb.start_soon(self.offer())
        cocotb.start_soon(self.constants())
        self.pause()

    def pause(self) -> None:
        """Other pauses of the memory."""
        for channel in (self.slave.aw_channel, self.slave.w_channel, self.slave.b_channel):
            channel.set_pause_generator(any_pauses(self.draw))

    async def offer(self) -> None:
        """Offers words, with pauses; those that the port takes go to the places of the runs, in order."""
        pause = any_pauses(self.draw)
        offered = False
        while True:
            if not offered and not next(pause):
                offered = True
                data = self.draw.randbytes(self.word)
                strobe = self.draw.choice([(1 << self.word) - 1, self.draw.getrandbits(self.word), 0])
                self.dut.in_data_i.value = int.from_bytes(data, "little")
                self.dut.in_strobe_i.value = strobe
            self.dut.in_valid_i.value = offered
            await RisingEdge(self.dut.clk_i)
            if offered and value(self.dut.in_ready_o):
                offered = False
                assert self.places, "a word was taken for which there is no run"
                place = self.places.pop(0)
                for byte in range(self.word):
                    if strobe >> byte & 1 and place + byte not in self.memory.bad:
                        self.model[place + byte] = data[byte]

    async def constants(self) -> None:
        """What never changes: responses are taken at once, and bursts are INCR, of whole words."""
        while True:
            await RisingEdge(self.dut.clk_i)
            assert value(self.dut.axi_bready) == 1
            assert (1 << value(self.dut.axi_awsize), value(self.dut.axi_awburst)) == (self.word, 1)

    async def run(self, address: int, words: int) -> None:
        """Offers a run until it is taken."""
        self.places += range(address, address + words * self.word, self.word)
        # The bits within a word do not count.
        await offer_run(self.dut, address + self.draw.randrange(self.word), words)

    async def settle(self) -> None:
        """Waits for the last response; then the memory holds what it must, and nothing else changed."""
        await until(self.dut, "idle_o")
        assert self.memory.bytes == self.model

    async def clear(self) -> None:
        """Ends all runs."""
        self.dut.clear_i.value = 1
        await cycles(self.dut, 1)
        self.dut.clear_i.value = 0
        self.places.clear()


@cocotb.test()
async def runs_reach_the_memory(dut: Any) -> None:
    """Whatever pauses: addresses, words, responses, or the writer. Bytes without a strobe stay."""
    bench = Bench(dut, random.Random(1))
    await bench.start()
    assert value(dut.idle_o) == 1
    for number in range(60):
        await bench.run(*near_page(bench.draw, bench.word, SIZE))
        if bench.draw.random() < 0.3:
            bench.pause()
        await cycles(dut, bench.draw.choice([0, 0, 3, 40]))
        if number % 10 == 9:
            await bench.settle()
            assert not bench.places
    assert value(dut.error_o) == 0


@cocotb.test()
async def an_error_response_is_reported_until_clear(dut: Any) -> None:
    """In the first burst of a run, in the middle, and in the last one."""
    bench = Bench(dut, random.Random(2))
    await bench.start()
    for place in (0, 17, 39):
        address = 4096 - 20 * bench.word
        bench.memory.bad = range(address + place * bench.word, address + (place + 1) * bench.word)
        for _ in range(100):
            await bench.run(address, 40)
            await until(dut, "idle_o")
            if value(dut.error_o):
                break
        # The word that fails may have had no byte to write; not a hundred times.
        assert value(dut.error_o) == 1, f"word {place}"
        bench.memory.bad = range(0)
        await bench.run(address, 40)
        await until(dut, "idle_o")
        assert value(dut.error_o) == 1, "it stays"
        await bench.clear()
        await until(dut, "idle_o")
        assert value(dut.error_o) == 0
        bench.model[:] = bench.memory.bytes


@cocotb.test()
async def clear_ends_a_run_and_writes_nothing_more(dut: Any) -> None:
    """At any time of a run. The next one is whole."""
    bench = Bench(dut, random.Random(3))
    await bench.start()
    for _ in range(40):
        bench.pause()
        await bench.run(*near_page(bench.draw, bench.word, SIZE))
        await cycles(dut, bench.draw.randrange(120))
        await bench.clear()
        await bench.settle()
        await bench.run(*near_page(bench.draw, bench.word, SIZE))
        await bench.settle()
        assert not bench.places
        assert value(dut.error_o) == 0


@cocotb.test()
async def a_reset_ends_everything(dut: Any) -> None:
    """The memory is reset with the port; how much of the run it has then is not determined."""
    bench = Bench(dut, random.Random(4))
    await bench.start()
    for _ in range(10):
        await bench.run(*near_page(bench.draw, bench.word, SIZE))
        await cycles(dut, bench.draw.randrange(120))
        bench.places.clear()
        await reset(dut)
        assert value(dut.idle_o) == 1
        bench.model[:] = bench.memory.bytes
        await bench.run(*near_page(bench.draw, bench.word, SIZE))
        await bench.settle()
        assert not bench.places
