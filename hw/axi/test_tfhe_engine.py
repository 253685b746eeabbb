"""tfhe_engine with memories and a host of cocotbext-axi."""

import random
import struct
from pathlib import Path
from typing import Any

import cocotb
from bench import pauses, value
from cocotbext.axi import AxiResp
from engine import FETCH_ERROR, JOB_ERROR, REPORT_ERROR, Engine, constants, job, registers_keep_their_rules

SIZE = 4 << 20
# Bytes of a word, and ciphertext elements in it.
WORD, ELEMENTS = 64, 16
STACK_PLACE = 4096
VERBS = constants("tfhe_engine/tfhe_engine_control.sv")
RUN, BOOTSTRAP, KEY = (VERBS["Verb" + name] for name in ("Run", "Bootstrap", "Key"))
CODES = constants("tfhe_engine/tfhe_engine_pkg.sv")
RETURN, MOVE, PUSH, POP, ADD, SUBTRACT, MULTIPLY = (
    CODES[name] for name in ("Return", "Move", "Push", "Pop", "HomAdd", "HomSub", "HomIntMult")
)
REGISTERS = constants("tfhe_engine/tfhe_engine_registers_pkg.sv")
# log2 of the base of a decomposition, and its digits: of the rotation, of the key switch.
ROTATION, SWITCH = (8, 1), (4, 1)

# The micro-operations of instructions and of a bootstrap, as crates/arch/src/tfhe_engine/micro.rs has them. The twiddle
# factors stay zero: no test depends on a product of the transforms.
END, JOIN, SCALE, STREAM, STREAM_SWITCH, ROTATE, SWITCHES, PUSHES, POPS, RETURNS = 0, 2, 4, 5, 0x105, 7, 8, 10, 11, 12
READ, WRITE, TEST, A, B, C, STACK = 1, 3, 6, 0, 0x10, 0x20, 0x30
ADDED, SUBTRACTED, MULTIPLICAND = 0x40, 0x80, 0xC0
MICRO = {
    RETURN: [READ | A, JOIN, WRITE | C, RETURNS],
    MOVE: [READ | B, JOIN, WRITE | A],
    PUSH: [READ | A, JOIN, WRITE | STACK, PUSHES],
    POP: [POPS, READ | STACK, JOIN, WRITE | A],
    ADD: [READ | A, READ | B | ADDED, JOIN, WRITE | A],
    SUBTRACT: [READ | A, READ | B | SUBTRACTED, JOIN, WRITE | A],
    MULTIPLY: [READ | A | MULTIPLICAND, JOIN, SCALE, JOIN, WRITE | A],
    CODES["EntrySmall"]: [STREAM, STREAM_SWITCH, READ | A, JOIN, TEST | B, JOIN, ROTATE, SWITCHES, WRITE | C],
}


def write_tables() -> None:
    """Writes the files that the simulation reads when it begins."""
    words = [[*MICRO.get(entry, []), *[END] * 16][:16] for entry in range(16)]
    Path("tfhe_engine.micro.hex").write_text("".join(f"{word:04x}\n" for entry in words for word in entry))
    for name in ("outer", "middle"):
        Path(f"ntt_goldilocks_shift.{name}.hex").write_text("0\n")


write_tables()


class Bench(Engine):
    """The engine, a key, and ciphertexts."""

    def __init__(self, dut: Any, draw: random.Random) -> None:
        super().__init__(dut, draw, SIZE, key_ports=len(dut.key_arvalid))
        # The values of ciphertexts by register, and their addresses.
        self.values: dict[int, list[int]] = {}
        self.places: dict[int, int] = {}
        self.dimension = 0

    async def start(self) -> None:
        """Also reads the parameters."""
        await super().start()
        assert (await self.read("Id")).to_bytes(4, "big") == b"TFHE"
        parameters = await self.read("Parameters")
        self.log_n = parameters & 0xFF
        assert parameters >> 16 == len(self.keys)

    @property
    def words(self) -> int:
        """Words of a ciphertext."""
        return self.dimension // ELEMENTS + 1

    def header(self, *slices: int, **changes: int) -> bytes:
        """The header of a key, with addresses and distances of its slices."""
        names = ("dimension", "log_n", "rotation", "switch", "reserved")
        right = (self.dimension, self.log_n, ROTATION[0] | ROTATION[1] << 8, SWITCH[0] | SWITCH[1] << 8, 0)
        fields = dict(zip(names, right, strict=True)) | changes
        return struct.pack("<4s5I5Q", b"TKEY", *fields.values(), *(*slices, 0, 0, 0, 0)[:4], 0)

    def key(self, slot: int, header: bytes) -> bytes:
        """The job that makes a key known."""
        place = self.allocate(1, WORD)
        self.put(place, header)
        return job(KEY, slot, place)

    async def load(self, dimension: int, *slices: int) -> None:
        """Makes a key of this dimension known in slot 0."""
        self.dimension = dimension
        assert await self.run([self.key(0, self.header(*slices))]) == ["Done"]

    def bytes_of(self, elements: list[int]) -> bytes:
        """A ciphertext in memory."""
        return struct.pack(f"<{len(elements)}I", *elements).ljust(self.words * WORD, b"\0")

    def put_sample(self, elements: list[int], before: int | None = None) -> int:
        """Writes a ciphertext near the end of a page; returns its address."""
        place = self.allocate(self.words, WORD, before)
        self.put(place, self.bytes_of(elements))
        return place

    def sample(self) -> list[int]:
        """Any ciphertext."""
        return [self.draw.getrandbits(32) for _ in range(self.dimension + 1)]

    async def set_register(self, number: int, before: int | None = None) -> None:
        """Makes a register stand for a ciphertext."""
        self.values[number] = self.sample()
        self.places[number] = self.put_sample(self.values[number], before)
        address = REGISTERS["Objects"] + 8 * number
        valid, slot = 1, 0
        halves = {4: self.places[number] >> 32, 0: self.places[number] % 2**32 | slot << 2 | valid}
        for offset, data in halves.items():
            assert await self.try_write(address + offset, data.to_bytes(4, "little")) == AxiResp.OKAY
        for offset, data in halves.items():
            assert await self.try_read(address + offset) == (AxiResp.OKAY, data)

    def set_value(self, number: int, elements: list[int]) -> None:
        """The ciphertext that a register must then have."""
        self.values[number] = elements
        self.expect(self.places[number], self.bytes_of(elements))

    def program(
        self, *instructions: tuple[int, int, int, int], before: int | None = None, fails: bool = False
    ) -> bytes:
        """The job of a program, whose instructions have an opcode, two registers and an integer, and its results."""
        place = self.allocate(-(-len(instructions) // 8), WORD)
        self.put(place, b"".join(struct.pack("<4Bi", *one[:3], 0, one[3]) for one in instructions))
        result, stack = self.allocate(self.words, WORD, before), self.allocate(2 * STACK_PLACE // WORD, WORD)
        made = job(RUN, len(instructions), place, result, stack, 2)
        pushed: list[list[int]] = []
        for opcode, first, second, integer in () if fails else instructions:
            x, y = self.values[first], self.values.get(second, [])
            if opcode == RETURN:
                self.expect(result, self.bytes_of(x))
            elif opcode == MOVE:
                self.set_value(first, y)
            elif opcode == PUSH:
                self.expect(stack + len(pushed) * STACK_PLACE, self.bytes_of(x))
                pushed.append(x)
            elif opcode == POP:
                self.set_value(first, pushed.pop())
            elif opcode == MULTIPLY:
                self.set_value(first, [one * integer % 2**32 for one in x])
            else:
                sign = 1 if opcode == ADD else -1
                self.set_value(first, [(one + sign * other) % 2**32 for one, other in zip(x, y, strict=True)])
        return made

    def draw_program(self, length: int) -> list[tuple[int, int, int, int]]:
        """Instructions of all kinds, and a return."""
        drawn: list[tuple[int, int, int, int]] = []
        pushed = 0
        while len(drawn) < length - 1:
            opcode = self.draw.choice([MOVE, PUSH, POP, ADD, SUBTRACT, MULTIPLY])
            if (opcode == PUSH and pushed == 2) or (opcode == POP and pushed == 0):
                continue
            pushed += (opcode == PUSH) - (opcode == POP)
            first, second = self.draw.choices(sorted(self.values), k=2)
            integer = self.draw.randint(-(2**31), 2**31 - 1) if opcode == MULTIPLY else 0
            drawn.append((opcode, first, second if opcode in (MOVE, ADD, SUBTRACT) else 0, integer))
        return [*drawn, (RETURN, self.draw.choice(sorted(self.values)), 0, 0)]


def operand(one: bytes, number: int) -> int:
    """The address of an operand of a job, from 0 on."""
    return int.from_bytes(one[16 + 8 * number :][:8], "little")


def span(place: int, words: int) -> list[int]:
    """The addresses of words in a row."""
    return list(range(place, place + words * WORD, WORD))


@cocotb.test()
async def programs_have_the_values_of_plain_arithmetic(dut: Any) -> None:
    """Whatever pauses: registers, the ring, programs, or ciphertexts."""
    bench = Bench(dut, random.Random(1))
    await bench.start()
    for dimension in (1, 15, 16, 300, 1023):
        bench.pause()
        await bench.load(dimension)
        for number in (0, 7, 255):
            await bench.set_register(number)
        jobs = [bench.program(*bench.draw_program(length)) for length in (1, bench.draw.randint(9, 17), 8)]
        assert await bench.run(jobs) == ["Done"] * 3
        bench.check()
    assert await bench.read("Error") == 0


@cocotb.test()
async def keys_and_jobs_that_are_wrong_have_a_status(dut: Any) -> None:
    """And the memory stays, and the next job runs."""
    bench = Bench(dut, random.Random(2))
    await bench.start()
    await bench.load(20)
    await bench.set_register(0)
    right = bench.program((RETURN, 0, 0, 0))
    place = operand(right, 0)
    for wrong, status in [
        (job(9, 1, place, place), "Unsupported"),
        (job(RUN | 1 << 8, 1, place, place), "Malformed"),
        (job(RUN, 1, place, place, status=1), "Malformed"),
        (job(RUN, 0, place, place), "WrongLength"),
        (job(RUN, 1, place + 8, place), "WrongAddress"),
        (job(RUN, 1, place, 1 << 40), "WrongAddress"),
        (job(BOOTSTRAP, 3, place, place, place), "NoKey"),
        (bench.key(4, bench.header()), "WrongLength"),
        (bench.key(1, b"t" + bench.header()[1:]), "Malformed"),
        (bench.key(1, bench.header(reserved=1)), "Malformed"),
        (bench.key(1, bench.header(dimension=0)), "WrongKey"),
        (bench.key(1, bench.header(dimension=1024)), "WrongKey"),
        (bench.key(1, bench.header(log_n=bench.log_n - 1)), "WrongKey"),
        (bench.key(1, bench.header(rotation=17 | 1 << 8)), "WrongKey"),
        (bench.key(1, bench.header(switch=5 | 1 << 8)), "WrongKey"),
        (bench.key(1, bench.header(8)), "WrongAddress"),
        (bench.key(1, bench.header((1 << 40) - WORD)), "WrongAddress"),
    ]:
        assert await bench.run([wrong, right]) == [status, "Done"], wrong.hex()
        bench.check()
    assert await bench.read("Error") == JOB_ERROR


@cocotb.test()
async def bursts_cover_the_objects_and_end_at_pages(dut: Any) -> None:
    """For many places at the end of a page, the data port reads and writes these words alone, in order."""
    bench = Bench(dut, random.Random(3))
    await bench.start()
    reads, writes = bench.ports["data reads"], bench.ports["data writes"]
    for dimension, before in [(300, 0), (300, 1), (300, 9), (300, 18), (300, 19), (1023, 1), (1023, 37), (1023, 63)]:
        await bench.load(dimension)
        for number in (1, 2):
            await bench.set_register(number, before)
        reads.take()
        writes.take()
        program = bench.program((ADD, 1, 2, 0), (RETURN, 1, 0, 0), before=before)
        assert await bench.run([program]) == ["Done"]
        first, second = (span(bench.places[number], bench.words) for number in (1, 2))
        split = 0 < before < bench.words
        words, bursts = reads.take()
        assert words == [operand(program, 0), *first, *second, *first]
        assert bursts == (7 if split else 4)
        words, bursts = writes.take()
        assert words == [*first, *span(operand(program, 1), bench.words)]
        assert bursts == (4 if split else 2)
        bench.check()


@cocotb.test()
async def an_error_response_ends_its_job_alone(dut: Any) -> None:
    """Of the header of a key, a program, a ciphertext, or a result. The next job runs."""
    bench = Bench(dut, random.Random(4))
    await bench.start()
    await bench.load(300)
    for number in range(8):
        bench.refuse(bench.draw.choice([AxiResp.SLVERR, AxiResp.DECERR]))
        bench.pause()
        for register in (1, 2, 3):
            await bench.set_register(register)
        untouched = bench.program((RETURN, 3, 0, 0))
        failing = bench.program((ADD, 1, 2, 0), (RETURN, 1, 0, 0), fails=True)
        places = [operand(failing, 0), bench.places[1], bench.places[2], bench.places[1], operand(failing, 1)]
        writes = number % 5 >= 3
        bad = places[number % 5] + (bench.draw.randrange(bench.words) * WORD if number % 5 else 0)
        bench.memory.bad_reads, bench.memory.bad_writes = range(0), range(0)
        if writes:
            bench.memory.bad_writes = range(bad, bad + WORD)
        else:
            bench.memory.bad_reads = range(bad, bad + WORD)
        assert await bench.run([failing, untouched]) == ["WriteFailed" if writes else "ReadFailed", "Done"]
        # After a failed write some words of its object may be there.
        for place in (bench.places[1], operand(failing, 1)) if writes else ():
            bench.accept(place, bench.words * WORD)
        bench.check()
        assert await bench.read("Error") == JOB_ERROR
        await bench.write("Error", JOB_ERROR)
    key = bench.key(1, bench.header())
    bench.memory.bad_reads = range(operand(key, 0), operand(key, 0) + WORD)
    assert await bench.run([key, key]) == ["ReadFailed"] * 2
    bench.memory.bad_reads = range(0)
    assert await bench.run([key]) == ["Done"]
    bench.check()


class Slices:
    """A key in memory, whose slices begin within pages: no selector has a key, so that no CMux changes the accumulator."""

    def __init__(self, bench: Bench) -> None:
        n, ports = 1 << bench.log_n, len(bench.keys)
        # Words of a port.
        self.rotation, self.switch = bench.dimension * ROTATION[1] * n // 16, n * SWITCH[1] * 8 // ports
        self.stride = (self.rotation + 3) * WORD, (self.switch + 5) * WORD
        self.base = tuple(bench.allocate(ports * stride // WORD, WORD, 7) for stride in self.stride)
        bench.put(self.base[0], bytes(ports * self.stride[0]))
        self.rows = [bench.sample() for _ in range(n)]
        for port in range(ports):
            words = (row[ELEMENTS * port : ELEMENTS * (port + 1)] for row in self.rows)
            data = b"".join(struct.pack(f"<{len(word)}I", *word).ljust(WORD, b"\0") for word in words)
            bench.put(self.base[1] + port * self.stride[1], data)

    def fields(self) -> tuple[int, int, int, int]:
        """As the header has them."""
        return self.base[0], self.stride[0], self.base[1], self.stride[1]

    def words(self, port: int) -> list[int]:
        """The addresses that a port reads, in order."""
        rotation, switch = (base + port * stride for base, stride in zip(self.base, self.stride, strict=True))
        return span(rotation, self.rotation) + span(switch, self.switch)


MODULUS = 2**64 - 2**32 + 1


def bootstrapped(sample: list[int], vector: list[int], rows: list[list[int]]) -> list[int]:
    """A bootstrap whose CMuxes change nothing: X^-b times the test vector, and the key switch of its sample."""
    n = len(rows)
    exponent = ((sample[-1] * 2 * n + 2**31) >> 32) % (2 * n)
    residues = [(x * MODULUS + 2**63) >> 64 for x in vector]

    def coefficient(component: int, place: int) -> int:
        turned = (place + exponent) % (2 * n)
        x = residues[component * n + turned % n]
        return x if turned < n else -x % MODULUS

    def torus(x: int) -> int:
        return (x + (x * (2**32 - 1) + MODULUS // 2) // MODULUS) % 2**64

    mask = [torus(coefficient(0, 0))] + [torus(-coefficient(0, n - i) % MODULUS) for i in range(1, n)]
    body = (torus(coefficient(1, 0)) + 2**31) >> 32
    result = [0] * (len(sample) - 1) + [body]
    half, shift = 1 << (SWITCH[0] - 1), 64 - SWITCH[0]
    for x, row in zip(mask, rows, strict=True):
        digit = ((x + (half << shift) + (1 << (shift - 1))) >> shift) % (2 * half) - half
        result = [(one - digit * other) % 2**32 for one, other in zip(result, row, strict=True)]
    return result


@cocotb.test()
async def key_ports_read_their_slices(dut: Any) -> None:
    """Bursts of key ports end at pages and cover the slices. An error response of any port ends the bootstrap alone."""
    bench = Bench(dut, random.Random(5))
    await bench.start()
    bench.watch_keys()
    # A key has many words; few pauses are enough.
    bench.hurry()
    for port in (*bench.keys, bench.ports["data reads"]):
        for channel in port.channels:
            channel.set_pause_generator(pauses(bench.draw, 0.1))
    bench.dimension = 2
    slices = Slices(bench)
    await bench.load(2, *slices.fields())
    await bench.set_register(0)
    n = 1 << bench.log_n
    vector = [bench.draw.getrandbits(64) for _ in range(2 * n)]
    order = [
        component * n + row + lane * (n // 32) for component in (0, 1) for row in range(n // 32) for lane in range(32)
    ]
    place = bench.allocate(2 * n // 8, WORD)
    bench.put(place, struct.pack(f"<{2 * n}Q", *(vector[i] for i in order)))
    sample = bench.sample()
    bootstrap = job(BOOTSTRAP, 0, bench.put_sample(sample), place, bench.allocate(bench.words, WORD))
    program = bench.program((RETURN, 0, 0, 0))
    for failing in range(len(bench.keys)):
        bench.refuse(bench.draw.choice([AxiResp.SLVERR, AxiResp.DECERR]))
        for one in bench.keys:
            one.take()
        bad = bench.draw.choice(slices.words(failing)[:200])
        bench.memory.bad_reads = range(bad, bad + WORD)
        assert await bench.run([bootstrap, program]) == ["ReadFailed", "Done"], f"port {failing}"
        for number, one in enumerate(bench.keys):
            words, _ = one.take()
            assert words == slices.words(number)[: len(words)]
            assert number != failing or bad in words
        bench.check()
    bench.memory.bad_reads = range(0)
    for one in bench.keys:
        one.take()
    assert await bench.run([program, bootstrap]) == ["Done", "Done"]
    for number, one in enumerate(bench.keys):
        words, bursts = one.take()
        assert words == slices.words(number)
        # A page has a burst, or a part of one.
        assert bursts > len(words) * WORD // 4096
    bench.expect(operand(bootstrap, 2), bench.bytes_of(bootstrapped(sample, vector, slices.rows)))
    bench.check()
    assert await bench.try_read(REGISTERS["Steps"]) == (AxiResp.OKAY, bench.dimension)


@cocotb.test()
async def the_ring_survives_error_responses(dut: Any) -> None:
    """A descriptor that cannot be read has a status for that; a status that cannot be written is reported, and HEAD moves."""
    bench = Bench(dut, random.Random(6))
    await bench.start()
    await bench.load(10)
    await bench.set_register(1)
    for refusal in (AxiResp.SLVERR, AxiResp.DECERR):
        bench.refuse(refusal)
        bench.pause()
        program = bench.program((RETURN, 1, 0, 0))
        descriptor = bench.descriptor(bench.tail)
        bench.memory.bad_reads = range(descriptor, descriptor + WORD)
        assert await bench.run([program]) == ["FetchFailed"]
        assert await bench.read("Error") == JOB_ERROR | FETCH_ERROR
        await bench.write("Error", JOB_ERROR | FETCH_ERROR)
        bench.memory.bad_reads = range(0)
        descriptor = bench.descriptor(bench.tail + 1)
        bench.memory.bad_writes = range(descriptor, descriptor + WORD)
        assert await bench.run([program, program, program]) == ["Done", "Pending", "Done"]
        assert await bench.read("Error") == REPORT_ERROR
        await bench.write("Error", REPORT_ERROR)
        bench.memory.bad_writes = range(0)
        bench.check()


@cocotb.test()
async def registers_answer_with_idle_cycles(dut: Any) -> None:
    """Between address, data and response; addresses without a register are refused. Then jobs run."""
    bench = Bench(dut, random.Random(7))
    await bench.start()
    await registers_keep_their_rules(bench, [0x24, 0x3C, 0x40, 0xFC, 0x104, 0x7FC])
    assert await bench.try_write(REGISTERS["Steps"], bytes(4)) == AxiResp.SLVERR
    # A reserved bit, and an address of 41 bits.
    assert await bench.try_write(REGISTERS["Objects"], b"\x10\0\0\0") == AxiResp.SLVERR
    assert await bench.try_write(REGISTERS["Objects"] + 4, b"\0\x01\0\0") == AxiResp.OKAY
    assert await bench.try_write(REGISTERS["Objects"], b"\x01\0\0\0") == AxiResp.SLVERR
    bench.pause()
    await bench.start_ring()
    assert value(dut.irq_o) == 0
    await bench.load(33)
    for number in (0, 254):
        await bench.set_register(number)
    assert await bench.run([bench.program((SUBTRACT, 0, 254, 0), (RETURN, 0, 0, 0))]) == ["Done"]
    bench.check()
