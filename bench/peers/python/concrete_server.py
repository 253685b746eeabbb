"""Concrete, in a conversation (lines.py) with bench/peers/src/concrete.rs.

`table LOG2_P V0 V1 …` compiles a look-up in these values for that failure probability, makes keys and answers with their
bytes; `inputs X…` encrypts numbers; `run I` looks number I up; `result` is the last look-up, decrypted.
"""

import sys
from unittest.mock import MagicMock

# Concrete imports PyTorch, which has gigabytes, for convolutions in the clear. Nothing here has one.
sys.modules["torch"] = MagicMock()

from concrete import fhe
from lines import serve


class Server:
    """One table with its keys, its inputs, and the last result."""

    def __init__(self) -> None:
        """Holds nothing yet."""
        self.circuit: fhe.Circuit = None
        self.inputs: list[fhe.Value] = []
        self.result: fhe.Value = None

    def compile(self, log2_p: int, values: list[int]) -> str:
        """Compiles the table and makes keys."""
        table = fhe.LookupTable(values)
        compiler = fhe.Compiler(lambda x: table[x], {"x": "encrypted"})
        self.circuit = compiler.compile([0, len(values) - 1], fhe.Configuration(p_error=2.0**log2_p))
        self.circuit.keygen()
        return str(self.circuit.size_of_bootstrap_keys + self.circuit.size_of_keyswitch_keys)

    def answer(self, line: str) -> str:
        """What follows `ok`."""
        command, *arguments = line.split()
        numbers = [int(argument) for argument in arguments]
        if command == "table":
            return self.compile(numbers[0], numbers[1:])
        if command == "inputs":
            self.inputs = [self.circuit.encrypt(x) for x in numbers]
        elif command == "run":
            self.result = self.circuit.run(self.inputs[numbers[0]])
        elif command == "result":
            return str(self.circuit.decrypt(self.result))
        else:
            raise ValueError(command)
        return ""


if __name__ == "__main__":
    serve(Server().answer)
