"""paillier_engine with a memory and a host of cocotbext-axi."""

import random
from typing import Any

import cocotb
from bench import value
from cocotbext.axi import AxiResp
from engine import (
    FETCH_ERROR,
    JOB_ERROR,
    REPORT_ERROR,
    Engine,
    constants,
    job,
    registers_keep_their_rules,
)

SIZE = 1 << 20
CONSTANTS = constants("paillier_engine/paillier_engine_pkg.sv")
KEY, ENCRYPT, POWER, MULTIPLY = (CONSTANTS["Verb" + name] for name in ("Key", "Encrypt", "Power", "Multiply"))


def odd(draw: random.Random, bits: int) -> int:
    """An odd number of exactly these bits."""
    return 1 << (bits - 1) | draw.getrandbits(bits) | 1


class Bench(Engine):
    """The engine and its numbers."""

    def __init__(self, dut: Any, draw: random.Random) -> None:
        super().__init__(dut, draw, SIZE)
        self.word = self.ports["data reads"].word
        self.modulus = self.n = 0

    async def start(self) -> None:
        """Also reads the size of numbers."""
        await super().start()
        assert (await self.read("Id")).to_bytes(4, "big") == b"PAIL"
        parameters = await self.read("Parameters")
        self.bits, self.digit = parameters & 0xFFFF, parameters >> 16 & 0xFFF
        self.words = self.bits // 8 // self.word

    def put_numbers(self, numbers: list[int], before: int | None = None) -> int:
        """Writes numbers in a row near the end of a page; returns their address."""
        address = self.allocate(len(numbers) * self.words, self.word, before)
        self.put(address, b"".join(number.to_bytes(self.bits // 8, "little") for number in numbers))
        return address

    def key(self, modulus: int, n: int, before: int | None = None) -> bytes:
        """The job that loads a key, which the other jobs then use."""
        self.modulus, self.n = modulus, n
        base = 1 << self.digit
        u = -pow(modulus, -1, base) % base
        r = base ** -(-(self.bits + 4) // self.digit)
        numbers = [modulus, (modulus * u + 1) // base, r * r % modulus, n * r % modulus, u, n]
        return job(KEY, n.bit_length(), self.put_numbers(numbers, before))

    def private_key(self, bits: int) -> bytes:
        """The same, for encryptions with an n of these bits."""
        n = odd(self.draw, bits)
        return self.key(n * n, n)

    def work(self, verb: int, length: int, a: int, b: int, result: int, before: int | None = None) -> bytes:
        """A job, whose result the memory must then hold."""
        place = self.allocate(self.words, self.word, before)
        self.expect(place, result.to_bytes(self.bits // 8, "little"))
        return job(verb, length, self.put_numbers([a], before), self.put_numbers([b], before), place)

    def encryption(self) -> bytes:
        """(1 + m n) r^n modulo n^2."""
        r, m = self.draw.randrange(self.n), self.draw.randrange(self.n)
        return self.work(ENCRYPT, 0, r, m, (1 + m * self.n) * pow(r, self.n, self.modulus) % self.modulus)

    def power(self, length: int) -> bytes:
        """A power; bits of the exponent from LENGTH on do not count."""
        base, exponent = self.draw.randrange(self.modulus), self.draw.getrandbits(self.bits)
        result = pow(base, exponent % (1 << length), self.modulus)
        return self.work(POWER, length, base, exponent, result)

    def product(self, before: int | None = None) -> bytes:
        """A product."""
        a, b = self.draw.randrange(self.modulus), self.draw.randrange(self.modulus)
        return self.work(MULTIPLY, 0, a, b, a * b % self.modulus, before)


def operand(one: bytes, number: int) -> int:
    """The address of an operand of a job, from 0 on."""
    return int.from_bytes(one[16 + 8 * number :][:8], "little")


@cocotb.test()
async def jobs_have_the_values_of_the_definition(dut: Any) -> None:
    """Whatever pauses: registers, the ring, or the numbers."""
    bench = Bench(dut, random.Random(1))
    await bench.start()
    for number in range(4):
        bench.pause()
        half = bench.bits // 2
        if number % 2 == 0:
            jobs = [bench.private_key(bench.draw.choice([64, half])), bench.encryption(), bench.encryption()]
        else:
            jobs = [
                bench.key(odd(bench.draw, bench.bits), odd(bench.draw, half)),
                bench.power(1),
                bench.power(half + 3),
            ]
        jobs += [bench.power(bench.draw.randint(2, half)), bench.product(), bench.product()]
        assert await bench.run(jobs) == ["Done"] * len(jobs)
        bench.check()
    assert await bench.read("Error") == 0


@cocotb.test()
async def bursts_cover_the_numbers_and_end_at_pages(dut: Any) -> None:
    """For each place of numbers at the end of a page, the ports read and write these words alone, in order."""
    bench = Bench(dut, random.Random(2))
    await bench.start()
    reads, writes = bench.ports["data reads"], bench.ports["data writes"]
    for before in range(bench.words + 1):
        # A key has six numbers.
        key = bench.key(odd(bench.draw, bench.bits), odd(bench.draw, 64), 5 * before + 1)
        assert await bench.run([key]) == ["Done"]
        first = operand(key, 0)
        words, bursts = reads.take()
        assert words == list(range(first, first + 6 * bench.words * bench.word, bench.word))
        assert bursts >= 2
        product = bench.product(before)
        assert await bench.run([product]) == ["Done"]
        a, b, result = (
            list(range(place, place + bench.words * bench.word, bench.word))
            for place in (operand(product, number) for number in range(3))
        )
        split = 0 < before < bench.words
        words, bursts = reads.take()
        assert (words, bursts >= 4) == (a + b, split)
        words, bursts = writes.take()
        assert (words, bursts >= 2) == (result, split)
        bench.check()


@cocotb.test()
async def an_error_response_ends_its_job_alone(dut: Any) -> None:
    """Of each word of an operand or of a result. The jobs around it run."""
    bench = Bench(dut, random.Random(3))
    await bench.start()
    assert await bench.run([bench.key(odd(bench.draw, bench.bits), odd(bench.draw, 64))]) == ["Done"]
    for number in range(3 * bench.words):
        bench.refuse(bench.draw.choice([AxiResp.SLVERR, AxiResp.DECERR]))
        bench.pause()
        place, word = divmod(number, bench.words)
        jobs = [bench.product(), bench.product(), bench.product()]
        bad = operand(jobs[1], place) + word * bench.word
        span = range(bad, bad + bench.word)
        # Nothing is written there, and after a read nothing at all.
        unwritten = span if place == 2 else range(operand(jobs[1], 2), operand(jobs[1], 2) + bench.words * bench.word)
        bench.accept(unwritten.start, len(unwritten))
        bench.memory.bad_reads, bench.memory.bad_writes = (range(0), span) if place == 2 else (span, range(0))
        assert await bench.run(jobs) == ["Done", "WriteFailed" if place == 2 else "ReadFailed", "Done"]
        bench.check()
        assert await bench.read("Error") == JOB_ERROR
        await bench.write("Error", JOB_ERROR)
        assert await bench.read("Error") == 0


@cocotb.test()
async def a_key_with_an_error_response_is_not_used(dut: Any) -> None:
    """Nor the one before; the next one is."""
    bench = Bench(dut, random.Random(4))
    await bench.start()
    for refusal in (AxiResp.SLVERR, AxiResp.DECERR):
        bench.refuse(refusal)
        assert await bench.run([bench.private_key(64)]) == ["Done"]
        key = bench.private_key(64)
        product = bench.product()
        bad = operand(key, 0) + bench.draw.randrange(6 * bench.words) * bench.word
        bench.memory.bad_reads = range(bad, bad + bench.word)
        statuses = await bench.run([key, product])
        assert statuses == ["ReadFailed", "NoKey"]
        bench.memory.bad_reads = range(0)
        assert await bench.run([key, product]) == ["Done", "Done"]
        bench.check()


@cocotb.test()
async def the_ring_survives_error_responses(dut: Any) -> None:
    """A descriptor that cannot be read has a status for that; a status that cannot be written is reported, and HEAD moves."""
    bench = Bench(dut, random.Random(5))
    await bench.start()
    assert await bench.run([bench.private_key(64)]) == ["Done"]
    for number in range(6):
        bench.refuse(bench.draw.choice([AxiResp.SLVERR, AxiResp.DECERR]))
        bench.pause()
        descriptor = bench.descriptor(bench.tail + 1)
        bad = descriptor + bench.draw.randrange(0, 64, bench.word)
        fetch = number % 2 == 0
        if fetch:
            bench.memory.bad_reads, bench.memory.bad_writes = range(bad, bad + bench.word), range(0)
        else:
            bench.memory.bad_reads, bench.memory.bad_writes = range(0), range(descriptor, descriptor + 64)
        jobs = [bench.product(), bench.product(), bench.product()]
        if fetch:
            bench.accept(operand(jobs[1], 2), bench.words * bench.word)
        assert await bench.run(jobs) == ["Done", "FetchFailed" if fetch else "Pending", "Done"]
        bench.check()
        expected = JOB_ERROR | FETCH_ERROR if fetch else REPORT_ERROR
        assert await bench.read("Error") == expected
        await bench.write("Error", expected)


@cocotb.test()
async def registers_answer_with_idle_cycles(dut: Any) -> None:
    """Between address, data and response; addresses without a register are refused. Then jobs run."""
    bench = Bench(dut, random.Random(6))
    await bench.start()
    await registers_keep_their_rules(bench, [0x24, 0x3C, 0x40, 0xFC, 0x100, 0x800, 0xFFC])
    bench.pause()
    await bench.start_ring()
    assert value(dut.irq_o) == 0
    jobs = [bench.private_key(64), bench.product()]
    assert await bench.run(jobs) == ["Done", "Done"]
    bench.check()
