"""phe, in a conversation (lines.py) with bench/integers/src/phe.rs.

Numbers are hexadecimal. `key P Q`, `plaintexts M…`, `ciphertexts C…` and `scalars W…` set the operands; `run OPERATION TIMES`
does the operation to all of them, that often; `results` tells what the last run computed; `versions` names the libraries.
"""

from collections.abc import Callable

import gmpy2
import phe
from lines import serve
from phe.paillier import EncryptedNumber, PaillierPrivateKey, PaillierPublicKey


class Server:
    """One key, its operands, and the last results."""

    public: PaillierPublicKey
    private: PaillierPrivateKey

    def __init__(self) -> None:
        """Holds nothing yet."""
        self.plaintexts: list[int] = []
        self.ciphertexts: list[EncryptedNumber] = []
        self.scalars: list[int] = []
        self.results: list[int] | list[EncryptedNumber] = []

    def encrypt(self) -> list[EncryptedNumber]:
        """Strict encryption, with numbers that phe draws."""
        return [self.public.encrypt(m) for m in self.plaintexts]

    def decrypt(self) -> list[int]:
        """Decryption by p and q."""
        return [self.private.decrypt(c) for c in self.ciphertexts]

    def add(self) -> list[EncryptedNumber]:
        """Sums of neighbours."""
        c = self.ciphertexts
        return [a + b for a, b in zip(c, c[1:] + c[:1], strict=True)]

    def multiply(self) -> list[EncryptedNumber]:
        """Products with the scalars."""
        return [c * w for c, w in zip(self.ciphertexts, self.scalars, strict=True)]

    def matvec(self) -> list[EncryptedNumber]:
        """The scalars, row by row, times the ciphertexts, term by term."""
        columns, sums = len(self.ciphertexts), []
        for start in range(0, len(self.scalars), columns):
            row = zip(self.ciphertexts, self.scalars[start : start + columns], strict=True)
            first, weight = next(row)
            total = first * weight
            for c, w in row:
                total = total + c * w
            sums.append(total)
        return sums

    def answer(self, line: str) -> str:
        """What follows `ok`."""
        command, *arguments = line.split()
        if command == "versions":
            return f"{phe.__version__}, gmpy2 {gmpy2.version()}, {gmpy2.mp_version()}"
        if command == "run":
            operation: Callable[[], list] = {
                "encrypt": self.encrypt,
                "decrypt": self.decrypt,
                "add": self.add,
                "multiply": self.multiply,
                "matvec": self.matvec,
            }[arguments[0]]
            for _ in range(int(arguments[1])):
                self.results = operation()
            return ""
        if command == "results":
            # Not made secure again: what was timed is looked at.
            plain = [r if isinstance(r, int) else r.ciphertext(be_secure=False) for r in self.results]
            return " ".join(f"{r:x}" for r in plain)
        numbers = [int(argument, 16) for argument in arguments]
        if command == "key":
            p, q = numbers
            self.public = PaillierPublicKey(p * q)
            self.private = PaillierPrivateKey(self.public, p, q)
        elif command == "plaintexts":
            self.plaintexts = numbers
        elif command == "ciphertexts":
            self.ciphertexts = [EncryptedNumber(self.public, c) for c in numbers]
        elif command == "scalars":
            self.scalars = numbers
        else:
            raise ValueError(command)
        return ""


if __name__ == "__main__":
    serve(Server().answer)
