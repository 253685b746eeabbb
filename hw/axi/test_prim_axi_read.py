"""prim_axi_read in front of a memory of cocotbext-axi."""

import random
from typing import Any

import cocotb
from bench import Memory, any_pauses, begin, cycles, near_page, offer_run, reset, until, value, watch
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiReadBus, AxiSlaveRead

SIZE = 1 << 16


class Bench:
    """The port, the memory, and what leaves the port."""

    def __init__(self, dut: Any, draw: random.Random) -> None:
        self.dut = dut
        self.draw = draw
        self.word = len(dut.axi_rdata) // 8
        self.memory = Memory(draw, SIZE)
        self.slave = AxiSlaveRead(
            AxiReadBus.from_prefix(dut, "axi"), dut.clk_i, dut.rst_ni, target=self.memory, reset_active_level=False
        )
        self.words: list[tuple[int, bool]] = []

    async def start(self) -> None:
        """Ends the reset and begins to take words."""
        await begin(self.dut, clear_i=0, run_valid_i=0, run_addr_i=0, run_words_i=0, out_ready_i=0)
        cocotb.start_soon(watch(self.dut, "axi_arvalid", "axi_arready", "axi_araddr", "axi_arlen"))
        cocotb.start_soon(watch(self.dut, "out_valid_o", "out_ready_i", "out_data_o", "out_last_o", ends="clear_i"))
        cocotb.start_soon(self.take())
        cocotb.start_soon(self.constants())
        self.pause()

    def pause(self) -> None:
        """Other pauses of the memory."""
        self.slave.ar_channel.set_pause_generator(any_pauses(self.draw))
        self.slave.r_channel.set_pause_generator(any_pauses(self.draw))

    async def take(self) -> None:
        """Takes words, with pauses."""
        pause = any_pauses(self.draw)
        while True:
            self.dut.out_ready_i.value = not next(pause)
            await RisingEdge(self.dut.clk_i)
            if value(self.dut.out_valid_o) and value(self.dut.out_ready_i):
                self.words.append((value(self.dut.out_data_o), bool(value(self.dut.out_last_o))))

    async def constants(self) -> None:
        """What never changes: the port has room for each word that comes, and bursts are INCR, of whole words."""
        while True:
            await RisingEdge(self.dut.clk_i)
            assert value(self.dut.axi_rready) == 1
            assert (1 << value(self.dut.axi_arsize), value(self.dut.axi_arburst)) == (self.word, 1)

    def expected(self, address: int, words: int) -> list[tuple[int, bool]]:
        """The words of a run, as the memory has them."""
        places = range(address, address + words * self.word, self.word)
        data = [int.from_bytes(self.memory.bytes[place : place + self.word], "little") for place in places]
        return [(one, place == places[-1]) for one, place in zip(data, places, strict=True)]


@cocotb.test()
async def runs_arrive_in_order(dut: Any) -> None:
    """Whatever pauses: the memory's addresses, its words, or the reader."""
    bench = Bench(dut, random.Random(1))
    await bench.start()
    assert value(dut.idle_o) == 1
    expected = []
    for _ in range(60):
        address, words = near_page(bench.draw, bench.word, SIZE)
        # The bits within a word do not count.
        await offer_run(dut, address + bench.draw.randrange(bench.word), words)
        expected += bench.expected(address, words)
        if bench.draw.random() < 0.3:
            bench.pause()
        await cycles(dut, bench.draw.choice([0, 0, 3, 40]))
    await until(dut, "idle_o")
    await cycles(dut, 2)
    assert bench.words == expected
    assert value(dut.error_o) == 0


@cocotb.test()
async def an_error_response_is_reported_until_clear(dut: Any) -> None:
    """And the words of the run arrive in number."""
    bench = Bench(dut, random.Random(2))
    await bench.start()
    for place in (0, 17, 39):
        bench.words.clear()
        address = 4096 - 20 * bench.word
        bench.memory.bad = range(address + place * bench.word, address + (place + 1) * bench.word)
        await offer_run(dut, address, 40)
        await until(dut, "idle_o")
        await cycles(dut, 10)
        assert value(dut.error_o) == 1, f"word {place}"
        good = [one for number, one in enumerate(bench.words) if number != place]
        assert good == [one for number, one in enumerate(bench.expected(address, 40)) if number != place]
        dut.clear_i.value = 1
        await cycles(dut, 1)
        dut.clear_i.value = 0
        await until(dut, "idle_o")
        assert value(dut.error_o) == 0


@cocotb.test()
async def clear_drops_a_run_and_the_next_one_is_whole(dut: Any) -> None:
    """At any time of a run."""
    bench = Bench(dut, random.Random(3))
    await bench.start()
    for _ in range(40):
        bench.pause()
        address, words = near_page(bench.draw, bench.word, SIZE)
        await offer_run(dut, address, words)
        await cycles(dut, bench.draw.randrange(120))
        dut.clear_i.value = 1
        await cycles(dut, 1)
        dut.clear_i.value = 0
        await until(dut, "idle_o")
        await cycles(dut, 2)
        bench.words.clear()
        address, words = near_page(bench.draw, bench.word, SIZE)
        await offer_run(dut, address, words)
        await until(dut, "idle_o")
        await cycles(dut, 2)
        assert bench.words == bench.expected(address, words)
        assert value(dut.error_o) == 0


@cocotb.test()
async def a_reset_ends_everything(dut: Any) -> None:
    """The memory is reset with the port."""
    bench = Bench(dut, random.Random(4))
    await bench.start()
    for _ in range(10):
        address, words = near_page(bench.draw, bench.word, SIZE)
        await offer_run(dut, address, words)
        await cycles(dut, bench.draw.randrange(120))
        await reset(dut)
        assert value(dut.idle_o) == 1
        bench.words.clear()
        address, words = near_page(bench.draw, bench.word, SIZE)
        await offer_run(dut, address, words)
        await until(dut, "idle_o")
        await cycles(dut, 2)
        assert bench.words == bench.expected(address, words)
