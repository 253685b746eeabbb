"""No more than a few inputs on any bit of a mapped netlist: timing without buffers would be that of the widest fan-out.

A register or an inverter is copied as often as it takes, as placers do: what feeds the copies is before the register's
clock edge. Behind inputs and other gates are trees of buffers. Inverters get the size that their load asks for, and
count by it.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

# At most so many inputs of small gates hang on an output.
LIMIT = 16
BUFFER = "BUFX4"
REGISTER, INVERTER = "DFF", "INV"
# What is copied where too much hangs on it: the pin that it takes, and the one that it gives.
COPIED = ((REGISTER, "D", "Q"), (INVERTER, "A", "Y"))
# The size of an inverter for so many inputs; it is as many inputs for what drives it.
INVERTERS = ((2, 1), (4, 2), (8, 4), (LIMIT, 8))
OUTPUTS = {"Y", "Q", "YC", "YS"}
# The clock's tree is somebody else's, and so is the reset's. `S` of a multiplexer is no reset.
TREES = {"CLK", "R", "S"}


@dataclass(frozen=True)
class Input:
    """An input of a cell: the bit that it hangs on, in a list that is the netlist's own."""

    cell: dict[str, Any]
    bits: list[Any]


@dataclass(frozen=True)
class Driver:
    """A register or an inverter: its pin that takes a bit, and the one that gives one."""

    name: str
    cell: dict[str, Any]
    taken: str
    given: str

    @property
    def source(self) -> int | str:
        """The bit that it takes; a text for a constant."""
        bit: int | str = self.cell["connections"][self.taken][0]
        return bit


class Netlist:
    """A module as Yosys' `write_json` has it, with what hangs on each of its bits."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.module = module
        self.sinks: dict[int, list[Input]] = defaultdict(list)
        # By the bit that they give.
        self.drivers: dict[int, Driver] = {}
        self.highest = 1
        self.added = 0
        for name, cell in module["cells"].items():
            for kind, taken, given in COPIED:
                if cell["type"].startswith(kind):
                    self.drivers[cell["connections"][given][0]] = Driver(name, cell, taken, given)
            for pin, bits in cell["connections"].items():
                self._see(bits)
                if pin not in OUTPUTS | TREES or cell["type"].startswith("MUX") and pin == "S":
                    for bit in bits:
                        if isinstance(bit, int):
                            self.sinks[bit].append(Input(cell, bits))
        for net in module["netnames"].values():
            self._see(net["bits"])

    def _see(self, bits: list[Any]) -> None:
        self.highest = max([self.highest, *(bit for bit in bits if isinstance(bit, int))])

    def is_register(self, bit: int) -> bool:
        return bit in self.drivers and self.drivers[bit].cell["type"].startswith(REGISTER)

    def size(self, inverter: dict[str, Any]) -> int:
        """What its load asks for."""
        load = len(self.sinks[inverter["connections"]["Y"][0]])
        return next(size for limit, size in INVERTERS if load <= limit or limit == LIMIT)

    def parts(self, bit: int) -> list[list[Input]]:
        """What hangs on a bit, in groups that a driver can bear."""
        found: list[list[Input]] = [[]]
        room = LIMIT
        for one in self.sinks[bit]:
            weight = self.size(one.cell) if one.cell["type"].startswith(INVERTER) else 1
            if weight > room:
                found.append([])
                room = LIMIT
            found[-1].append(one)
            room -= weight
        return found

    def split(self, bit: int) -> int | None:
        """Spreads what hangs on a bit over copies or buffers; the bit on which these hang, if there are any."""
        parts = self.parts(bit)
        if len(parts) == 1:
            return None
        driver = self.drivers.get(bit)
        # One that holds its own value is the only one that can.
        if driver is not None and driver.source == bit:
            driver = None
        self.sinks[bit] = parts.pop(0) if driver else []
        # What copies hang on is what the original hangs on; buffers hang on the bit itself.
        source = driver.source if driver else bit
        for part in parts:
            self.highest += 1
            self.added += 1
            self.sinks[self.highest] = part
            for one in part:
                one.bits[:] = [self.highest if entry == bit else entry for entry in one.bits]
            added, hangs = self._copy(driver) if driver else self._buffer(bit)
            if isinstance(source, int):
                self.sinks[source].append(Input(added, hangs))
        # A constant has no limit.
        return source if isinstance(source, int) else None

    def _copy(self, driver: Driver) -> tuple[dict[str, Any], list[Any]]:
        data: list[Any] = [driver.source]
        pins = driver.cell["connections"] | {driver.taken: data, driver.given: [self.highest]}
        cell = driver.cell | {"connections": pins}
        self.module["cells"][f"{driver.name}_copy_{self.added}"] = cell
        return cell, data

    def _buffer(self, bit: int) -> tuple[dict[str, Any], list[Any]]:
        data: list[Any] = [bit]
        cell: dict[str, Any] = {"hide_name": 0, "type": BUFFER, "parameters": {}, "attributes": {}}
        cell["connections"] = {"A": data, "Y": [self.highest]}
        self.module["cells"][f"fanout_{self.added}"] = cell
        return cell, data

    def relieve(self) -> None:
        """Splits until nothing is left to split. Registers wait until what hangs on them is settled."""
        registers = {bit for bit in self.sinks if self.is_register(bit)}
        others = set(self.sinks) - registers
        while others or registers:
            source = self.split((others or registers).pop())
            if source is not None:
                (registers if self.is_register(source) else others).add(source)
        for cell in self.module["cells"].values():
            if cell["type"].startswith(INVERTER):
                cell["type"] = f"{INVERTER}X{self.size(cell)}"


def relieve(module: dict[str, Any]) -> None:
    """Lets no more than `LIMIT` small inputs hang on any bit of a module, changed in place."""
    Netlist(module).relieve()
