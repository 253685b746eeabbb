"""A device in a directory, and a served one."""

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ciphermill as cm
from ciphermill import device, tfhe


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[device.Device]:
    with device.open(tmp_path / "store", insecure=True) as opened:
        yield opened


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A served device. `make test` names the command in `CIPHERMILL_COMMAND`."""
    command = [os.environ["CIPHERMILL_COMMAND"], "serve", "--json", "--store", str(tmp_path / "served")]
    command += ["--listen", "127.0.0.1:0", "--allow-host", "nqn.2026-01.io.github.ciphermill:host", "--insecure-params"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            assert process.wait(30) == 0


@pytest.fixture
def address(server: subprocess.Popen[bytes]) -> str:
    """Its address, which it prints once hosts can connect."""
    assert server.stdout is not None
    return str(json.loads(server.stdout.readline())["listening"])


def check_sum_on_write(dev: device.Device) -> None:
    """A program on a device adds two ciphertexts."""
    client = tfhe.keygen("TEST_SMALL_U64", insecure=True)
    bootstrapping, keyswitching = client.evaluation().parts()
    x, y = client.encrypt([1, 2], within=(0, 3)).to_bytes()
    dev.put("2:0:1", bootstrapping)
    dev.put("2:0:2", keyswitching)
    program = device.assemble("homadd y, x\nreturn y", {"y": "4:0:3", "x": "3:0:2"})
    assert program.registers == {"x": "3:0:2", "y": "4:0:3"}
    dev.put("0:0:0", program.code)
    dev.put("3:0:2", x)
    result = dev.put("4:0:3", y)
    assert result.computed
    total = tfhe.EncryptedIntegers.from_bytes([dev.get("4:0:3")])
    np.testing.assert_array_equal(client.decrypt(total), [3])


def test_a_program_runs_on_a_write(dev: device.Device) -> None:
    check_sum_on_write(dev)
    stored = {entry.register: entry for entry in dev.list()}
    assert set(stored) == {"0:0:0", "2:0:1", "2:0:2", "3:0:2", "4:0:3"}
    assert stored["4:0:3"] == dev.stat("4:0:3")
    assert stored["4:0:3"].nbytes == len(dev.get("4:0:3"))
    metrics = dev.metrics()
    assert metrics["ciphermill_device_objects"] == 5
    dev.delete("3:0:2")
    assert len(dev.list()) == 4


def test_a_program_runs_on_a_served_device(address: str) -> None:
    with device.connect(address) as dev:
        check_sum_on_write(dev)
        assert {entry.register for entry in dev.list()} == {"0:0:0", "2:0:1", "2:0:2", "3:0:2", "4:0:3"}
        with pytest.raises(cm.DeviceError, match="refused"):
            dev.put("0:0:1", b"no program")
        with pytest.raises(cm.ParameterError, match="metrics"):
            dev.metrics()
    with pytest.raises(cm.ClosedError, match="is closed"):
        dev.list()


def test_several_threads_share_a_connection(address: str) -> None:
    program = device.assemble("homadd 4:0:3, 3:0:2\nreturn 4:0:3").code
    registers = [f"0:{key}:0" for key in range(16)]
    with device.connect(address) as dev, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda register: dev.put(register, program), registers))
        assert list(pool.map(dev.get, registers)) == [program] * 16
        assert {entry.register for entry in dev.list()} == set(registers)


def test_the_async_form_of_a_served_device(address: str) -> None:
    program = device.assemble("homadd 4:0:3, 3:0:2\nreturn 4:0:3").code

    async def use() -> list[device.Object]:
        async with device.connect_async(address) as dev:
            await asyncio.gather(*(dev.put(f"0:{key}:0", program) for key in range(8)))
            assert await dev.get("0:3:0") == program
            return await dev.list()

    assert len(asyncio.run(use())) == 8


def test_a_stranger_is_refused(address: str) -> None:
    with pytest.raises(cm.PeerError, match="stranger"):
        device.connect(address, host="nqn.2026-01.io.github.ciphermill:stranger")


def test_a_server_that_ends(server: subprocess.Popen[bytes], address: str) -> None:
    with device.connect(address, give_up_after=0.5) as dev:
        assert dev.list() == []
        server.terminate()
        assert server.wait(30) == 0
        with pytest.raises(cm.PeerError):
            dev.list()


def test_programs_are_text_again() -> None:
    text = device.disassemble(device.assemble("homadd 4:0:3, 3:0:2\nreturn 4:0:3").code)
    assert device.assemble(text).code == device.assemble("homadd 4:0:3, 3:0:2\nreturn 4:0:3").code


@pytest.mark.parametrize(
    ("register", "data", "error", "words"),
    [
        ("4:0", b"x", cm.ParameterError, "register"),
        ("4:0:x", b"x", cm.ParameterError, "register"),
        ("0:0:0", b"", cm.ParameterError, "one byte"),
        ("0:0:0", b"no program", cm.DeviceError, "refused"),
        ("99:0:0", b"x", cm.DeviceError, "99"),
        ("4:0:3", b"no ciphertext", cm.DeviceError, "refused"),
    ],
)
def test_refusals_change_nothing(
    dev: device.Device, register: str, data: bytes, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        dev.put(register, data)
    assert dev.list() == []


def test_missing_objects_and_texts(dev: device.Device, tmp_path: Path) -> None:
    for call in [dev.get, dev.stat, dev.delete]:
        with pytest.raises(cm.ParameterError, match="not stored"):
            call("3:0:2")
    with pytest.raises(cm.ParameterError, match="mode"):
        dev.get("3:0:2", mode="now")
    with pytest.raises(cm.ParameterError, match="line 2"):
        device.assemble("return 4:0:3\nnonsense 1")
    with pytest.raises(cm.ParameterError):
        device.assemble("return a", {"a": "x"})
    with pytest.raises(cm.WireError):
        device.disassemble(b"no program")
    with pytest.raises(cm.DeviceError, match="open"):
        device.open(tmp_path / "store")


def test_a_closed_device(dev: device.Device, tmp_path: Path) -> None:
    assert not dev.closed
    dev.close()
    dev.close()
    assert dev.closed
    for call in [dev.list, dev.metrics, lambda: dev.get("3:0:2")]:
        with pytest.raises(cm.ClosedError, match="is closed"):
            call()
    # The store can be opened again at once.
    device.open(tmp_path / "store").close()


def test_arguments_out_of_range(tmp_path: Path) -> None:
    cases = [
        ({"space": -1}, "the space is -1; use 0 to 4294967295"),
        ({"space": 2**32}, "the space is 4294967296; use 0 to"),
        ({"memory": 10}, "memory is 10; use 4096 to"),
        ({"key_memory": -1}, "key_memory is -1; use 0 to"),
        ({"max_program_seconds": -1.0}, "seconds"),
    ]
    for arguments, message in cases:
        with pytest.raises(cm.ParameterError, match=message):
            device.open(tmp_path / "store", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "store").exists()
    for namespace in (0, 2**32 - 1):
        with pytest.raises(cm.ParameterError, match=f"the namespace is {namespace}; use 1 to 4294967294"):
            device.connect("127.0.0.1:4420", namespace=namespace)


def test_the_async_form(tmp_path: Path) -> None:
    program = device.assemble("homadd 4:0:3, 3:0:2\nreturn 4:0:3").code

    async def use() -> list[device.Object]:
        async with device.open_async(tmp_path / "store") as dev:
            await asyncio.gather(*(dev.put(f"0:{key}:0", program) for key in range(8)))
            assert await dev.get("0:3:0") == program
            assert (await dev.stat("0:3:0")).nbytes == len(program)
            assert dev.metrics()["ciphermill_device_objects"] == 8
            await dev.delete("0:7:0")
            return await dev.list()

    assert len(asyncio.run(use())) == 7
    with pytest.raises(cm.ClosedError, match="use it in an `async with` statement"):
        device.open_async(tmp_path / "store").metrics()


def test_no_server_answers() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with pytest.raises(cm.PeerError):
        device.connect(f"127.0.0.1:{port}")
    with pytest.raises(cm.ParameterError, match="HOST:PORT"):
        device.connect("nowhere")
    with pytest.raises(cm.ParameterError, match="give_up_after -1.*use a finite number of seconds from 0 on"):
        device.connect(f"127.0.0.1:{port}", give_up_after=-1.0)
