"""What the benches of engines share: register accesses, the ring of jobs, and one memory behind all AXI4 ports.

Names of registers and statuses, and their numbers, come from the packages that hw/flow writes from hw/rdl.
"""

import random
import re
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cocotb
from bench import Memory, any_pauses, begin, cycles, until, watch
from cocotb.triggers import with_timeout
from cocotbext.axi import (
    AxiBurstType,
    AxiLiteBus,
    AxiLiteMaster,
    AxiReadBus,
    AxiResp,
    AxiSlaveRead,
    AxiSlaveWrite,
    AxiWriteBus,
)

RTL = Path(__file__).resolve().parents[1] / "rtl"
PAGE = 4096
# Above 4 GiB, so that both words of an address matter.
MEMORY = 0x1_0000_0000
# Bytes of a descriptor.
DESCRIPTOR = 64
# Descriptors of the ring, few enough that it wraps, and its first byte: it crosses a page.
RING_SIZE = 7
RING = MEMORY + PAGE - 3 * DESCRIPTOR
# Bits of registers.
RUN = 1
JOB_ERROR, FETCH_ERROR, REPORT_ERROR = 1, 2, 4
IRQ_ENABLE, IRQ_PENDING = 1, 2


def constants(path: str) -> dict[str, int]:
    """All constants of a file of hw/rtl that are sized numbers."""
    found = re.findall(r"localparam [^=;]*\b(\w+) = \d+'([hd])(\w+);", (RTL / path).read_text())
    return {name: int(number, 16 if base == "h" else 10) for name, base, number in found}


REGISTERS = constants("engine_ring/engine_ring_registers_pkg.sv")
STATUSES = {
    number: name.removeprefix("StatusCode")
    for name, number in constants("engine_job/engine_job_registers_pkg.sv").items()
    if name.startswith("StatusCode")
}


def job(verb: int, length: int, *operands: int, status: int = 0) -> bytes:
    """A descriptor."""
    return struct.pack("<4I6Q", verb, status, length, 0, *operands, *[0] * (6 - len(operands)))


class Window(Memory):
    """Bytes from MEMORY on. Reads and writes of words in `bad_reads` and `bad_writes` fail."""

    def __init__(self, draw: random.Random, size: int) -> None:
        super().__init__(draw, size)
        self.bad_reads: range = range(0)
        self.bad_writes: range = range(0)

    def place(self, address: int, length: int) -> slice:
        """Where the bytes of an access are."""
        first = address - MEMORY
        if not 0 <= first <= len(self.bytes) - length:
            raise ValueError(f"{address:#x} is outside of the memory")
        return slice(first, first + length)

    async def read(self, address: int, length: int) -> bytes:
        """Called for each word that is read."""
        if address in self.bad_reads:
            raise ValueError("refused")
        return bytes(self.bytes[self.place(address, length)])

    async def write(self, address: int, data: bytes) -> None:
        """Called for bytes that follow one another."""
        if address in self.bad_writes:
            raise ValueError("refused")
        self.bytes[self.place(address, len(data))] = data


class Port:
    """One direction of an AXI4 port with a memory behind it. All bursts must be INCR, of whole words, and within a page."""

    def __init__(self, dut: Any, prefix: str, write: bool, memory: Window, index: int | None = None) -> None:
        self.name = f"{'writes' if write else 'reads'} of {prefix}{'' if index is None else index}"
        self.kind = "aw" if write else "ar"
        bus, slave = (AxiWriteBus, AxiSlaveWrite) if write else (AxiReadBus, AxiSlaveRead)
        side = bus.from_prefix(dut, prefix, array_idx=index)
        self.slave = slave(side, dut.clk_i, dut.rst_ni, target=memory, reset_active_level=False)
        self.word = self.slave.byte_lanes
        if write:
            self.channels = [self.slave.aw_channel, self.slave.w_channel, self.slave.b_channel]
        else:
            self.channels = [self.slave.ar_channel, self.slave.r_channel]
        # The response to an access that fails, and the addresses of all words since the last `take`.
        self.refusal = AxiResp.SLVERR
        self.words: list[int] = []
        self.bursts = 0
        self.look_at_addresses()
        self.refuse_as_told("b" if write else "r")

    def look_at_addresses(self) -> None:
        """Checks each burst before the memory sees it."""
        channel = self.channels[0]
        receive = channel.recv

        async def recv() -> Any:
            burst = await receive()
            first, words, size, kind = (
                int(getattr(burst, self.kind + name)) for name in ("addr", "len", "size", "burst")
            )
            last = first + (words + 1) * self.word - 1
            assert kind == AxiBurstType.INCR, f"{self.name}: a burst at {first:#x} is not INCR"
            assert 1 << size == self.word, f"{self.name}: a burst at {first:#x} is not of whole words"
            assert first % self.word == 0, f"{self.name}: a burst at {first:#x} is not aligned"
            assert first // PAGE == last // PAGE, f"{self.name}: a burst at {first:#x} crosses a page"
            self.words += range(first, last, self.word)
            self.bursts += 1
            return burst

        channel.recv = recv

    def refuse_as_told(self, kind: str) -> None:
        """Gives the error response of `refusal`, where cocotbext-axi has SLVERR only."""
        channel = self.channels[-1]
        transmit = channel.send

        async def send(response: Any) -> None:
            if getattr(response, kind + "resp") == AxiResp.SLVERR:
                setattr(response, kind + "resp", self.refusal)
            await transmit(response)

        channel.send = send

    def take(self) -> tuple[list[int], int]:
        """The addresses of all words since the last call, in order, and the number of bursts."""
        taken = (self.words, self.bursts)
        self.words, self.bursts = [], 0
        return taken


class Engine:
    """An engine, its host, and their memory."""

    def __init__(self, dut: Any, draw: random.Random, size: int, key_ports: int = 0) -> None:
        self.dut = dut
        self.draw = draw
        self.memory = Window(draw, size)
        # What the memory must hold.
        self.model = bytearray(self.memory.bytes)
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "regs"), dut.clk_i, dut.rst_ni, reset_active_level=False)
        self.ports = {
            f"{prefix} {kind}": Port(dut, prefix, kind == "writes", self.memory)
            for prefix in ("ring", "data")
            for kind in ("reads", "writes")
        }
        self.keys = [Port(dut, "key", False, self.memory, index) for index in range(key_ports)]
        self.tail = 0
        self.free = RING + 2 * PAGE

    async def start(self) -> None:
        """Ends the reset, begins to pause, and starts the ring."""
        await begin(self.dut)
        channels = {"regs_b": ("resp",), "regs_r": ("data", "resp")}
        for prefix in ("ring", "data"):
            channels |= {f"{prefix}_{channel}": ("addr", "len", "size", "burst") for channel in ("ar", "aw")}
            channels[f"{prefix}_w"] = ("data", "strb", "last")
        for name, payload in channels.items():
            offer = watch(self.dut, f"{name}valid", f"{name}ready", *(name + field for field in payload))
            cocotb.start_soon(offer)
        self.pause()
        await self.start_ring()

    def watch_keys(self) -> None:
        """Watches the offers of the key ports also."""
        signals = ("arvalid", "arready", "araddr", "arlen", "arsize", "arburst")
        for index in range(len(self.keys)):
            port = {name: getattr(self.dut, f"key_{name}")[index] for name in signals}
            side = SimpleNamespace(clk_i=self.dut.clk_i, rst_ni=self.dut.rst_ni, **port)
            cocotb.start_soon(watch(side, *signals))

    async def start_ring(self) -> None:
        """Sets the ring, and the engine to run."""
        await self.write("RingBase", RING % 2**32)
        await self.write("RingBaseHigh", RING >> 32)
        await self.write("RingSize", RING_SIZE)
        await self.write("Irq", IRQ_ENABLE | IRQ_PENDING)
        await self.write("Control", RUN)
        self.tail = 0

    def register_channels(self) -> list[Any]:
        """The channels of the register port."""
        write, read = self.host.write_if, self.host.read_if
        return [write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel]

    def pause(self) -> None:
        """Draws other pauses for each channel of each port."""
        channels = [channel for port in (*self.ports.values(), *self.keys) for channel in port.channels]
        for channel in channels + self.register_channels():
            channel.set_pause_generator(any_pauses(self.draw))

    def hurry(self) -> None:
        """Ends all pauses of the register port."""
        for channel in self.register_channels():
            channel.clear_pause_generator()
            channel.pause = False

    def refuse(self, refusal: AxiResp) -> None:
        """Chooses the response to accesses that fail."""
        for port in (*self.ports.values(), *self.keys):
            port.refusal = refusal

    async def try_write(self, address: int, data: bytes) -> AxiResp:
        """Writes bytes of one register; returns the response."""
        return AxiResp((await with_timeout(self.host.write(address, data), 100, "us")).resp)

    async def try_read(self, address: int) -> tuple[AxiResp, int]:
        """Reads a register; returns the response and the data."""
        done = await with_timeout(self.host.read(address, 4), 100, "us")
        return AxiResp(done.resp), int.from_bytes(done.data, "little")

    async def write(self, register: str, data: int) -> None:
        """Writes a register of the head."""
        response = await self.try_write(REGISTERS[register], data.to_bytes(4, "little"))
        assert response == AxiResp.OKAY, f"the write of {register} is refused"

    async def read(self, register: str) -> int:
        """Reads a register of the head."""
        response, data = await self.try_read(REGISTERS[register])
        assert response == AxiResp.OKAY, f"the read of {register} is refused"
        return data

    def allocate(self, words: int, word: int, before: int | None = None) -> int:
        """The address of some words near the end of a page: `before` of them are in the page, or any number."""
        in_page = self.draw.randint(0, min(words, PAGE // word)) if before is None else before
        address = (self.free // PAGE + 2) * PAGE - in_page * word
        self.free = address + words * word
        return address

    def put(self, address: int, data: bytes) -> None:
        """Writes to memory for the engine."""
        self.expect(address, data)
        self.memory.bytes[self.memory.place(address, len(data))] = data

    def expect(self, address: int, data: bytes) -> None:
        """Bytes that the engine must write."""
        self.model[self.memory.place(address, len(data))] = data

    def accept(self, address: int, length: int) -> None:
        """The model has these bytes as the memory has them now."""
        place = self.memory.place(address, length)
        self.model[place] = self.memory.bytes[place]

    def descriptor(self, index: int) -> int:
        """The address of a descriptor of the ring."""
        return RING + index % RING_SIZE * DESCRIPTOR

    async def submit(self, jobs: list[bytes]) -> list[int]:
        """Puts jobs into the ring; returns the addresses of their descriptors."""
        assert len(jobs) < RING_SIZE
        places = [self.descriptor(self.tail + number) for number in range(len(jobs))]
        for place, one in zip(places, jobs, strict=True):
            self.put(place, one)
        self.tail = (self.tail + len(jobs)) % RING_SIZE
        await self.write("Tail", self.tail)
        return places

    async def finish(self) -> None:
        """Waits for the interrupt until HEAD reaches TAIL."""
        while await self.read("Head") != self.tail:
            await with_timeout(until(self.dut, "irq_o"), 100, "us")
            await self.write("Irq", IRQ_ENABLE | IRQ_PENDING)

    async def run(self, jobs: list[bytes]) -> list[str]:
        """Runs jobs; returns the names of their statuses, which the model then has."""
        places = await self.submit(jobs)
        await self.finish()
        statuses = []
        for place in places:
            written = bytes(self.memory.bytes[self.memory.place(place + 4, 4)])
            self.expect(place + 4, written)
            statuses.append(STATUSES[int.from_bytes(written, "little")])
        return statuses

    def check(self) -> None:
        """The memory holds all results, and nothing else changed."""
        if self.memory.bytes == self.model:
            return
        pairs = zip(self.memory.bytes, self.model, strict=True)
        wrong = [MEMORY + place for place, (found, expected) in enumerate(pairs) if found != expected]
        raise AssertionError(f"{len(wrong)} bytes are wrong, the first one at {wrong[0]:#x}")


async def registers_keep_their_rules(engine: Engine, refused: list[int]) -> None:
    """Accesses with idle cycles between their channels, of registers that exist or do not, and of parts of a register."""
    engine.hurry()
    host, draw = engine.host, engine.draw
    base, size = REGISTERS["RingBase"], REGISTERS["RingSize"]
    for gap in (0, 1, 2, 3, 7, 30):
        for late in (host.write_if.aw_channel, host.write_if.w_channel, host.write_if.b_channel):
            number = draw.getrandbits(32) & ~(DESCRIPTOR - 1)
            late.pause = True
            write = host.init_write(base, number.to_bytes(4, "little"))
            await cycles(engine.dut, gap)
            assert not write.is_set(), "a write ends without a channel"
            late.pause = False
            await with_timeout(write.wait(), 20, "us")
            assert AxiResp(write.data.resp) == AxiResp.OKAY
            for slow in (host.read_if.ar_channel, host.read_if.r_channel):
                slow.pause = True
                read = host.init_read(base, 4)
                await cycles(engine.dut, gap)
                assert not read.is_set(), "a read ends without a channel"
                slow.pause = False
                await with_timeout(read.wait(), 20, "us")
                assert (AxiResp(read.data.resp), bytes(read.data.data)) == (AxiResp.OKAY, number.to_bytes(4, "little"))
    await engine.write("RingSize", 9)
    for address in refused:
        assert await engine.try_read(address) == (AxiResp.SLVERR, 0), hex(address)
        assert await engine.try_write(address, bytes(4)) == AxiResp.SLVERR, hex(address)
    for name in ("Id", "Version", "Parameters", "Status", "Cycles", "Stalls", "Head"):
        before = await engine.read(name)
        assert await engine.try_write(REGISTERS[name], b"\xff\xff\xff\xff") == AxiResp.SLVERR, name
        assert await engine.read(name) == before, name
    for length in (1, 2, 3):
        assert await engine.try_write(size, bytes([5] * length)) == AxiResp.SLVERR, f"{length} bytes"
    assert await engine.read("RingSize") == 9
