"""Runs the cases, prints a table and writes the record. `make bench CASES=python` and `CASES=federated` install the needed
packages and call it."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path

from ciphermill_bench import machine
from ciphermill_bench.harness import ResultsDiffer
from ciphermill_bench.record import Report, clean_commit

#: The packages that all cases need, by their modules.
NEEDED = {
    "ciphermill": "ciphermill",
    "numpy": "numpy",
    "sklearn": "scikit-learn",
    "phe": "phe",
    "gmpy2": "gmpy2",
}

#: Those of one family.
NEEDED_BY = {
    "python": {"tenseal": "tenseal", "heu": "sf-heu"},
    "federated": {"grpc": "grpcio"},
}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m ciphermill_bench", description=__doc__)
    parser.add_argument("--command", type=Path, required=True, help="the command `ciphermill`, built for release")
    parser.add_argument("--family", choices=list(NEEDED_BY), default="python", help="the cases; python by default")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="few samples: a check that everything works, not to quote")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the rows here")
    return parser.parse_args()


def require_packages(family: str) -> None:
    """End with the names of missing packages."""
    needed = NEEDED | NEEDED_BY[family]
    missing = [package for module, package in needed.items() if importlib.util.find_spec(module) is None]
    if missing:
        sys.exit(
            f"{', '.join(missing)} not installed in {sys.prefix}; run `make bench CASES={family}`, which installs all"
        )


def main() -> int:
    """Run the selected cases; 1 if any result is wrong."""
    options = arguments()
    require_packages(options.family)
    if not options.command.is_file():
        sys.exit(f"{options.command} does not exist; run `make bench CASES={options.family}`, which builds it")
    begun, started = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    report, cores = Report(machine.describe()), machine.cores()
    machine.pin()

    # The package and its peers start their threads when they are imported or first used.
    import ciphermill
    from ciphermill_bench.cases import Settings, families

    ciphermill.set_threads(1)
    settings = Settings.of(options.only, options.quick, options.command.resolve(), cores)
    commit = clean_commit()
    if not Path(ciphermill.__file__).is_relative_to(sys.prefix):
        commit += " with a package that is not an installed wheel"
    try:
        for family in families(options.family):
            family(settings, report)
    except ResultsDiffer as error:
        print(f"ciphermill_bench: {error}", file=sys.stderr)
        return 1
    if not report.rows:
        print(f"ciphermill_bench: no case contains {options.only!r}", file=sys.stderr)
        return 2
    print(f"\n{report.table()}\n")
    threads = max(row["threads"] for row in report.rows)
    where = "one core" if threads == 1 else f"one core, or {threads} where a note names them"
    print(f"Medians; ratio = peer ÷ ours, above 1 if ours is faster. {report.machine['cpu']}, {where}.")
    for note in report.notes:
        print(f"- {note}")
    if options.output:
        words = ["python -m ciphermill_bench", *(["--quick"] if options.quick else [])]
        words += [f"--family {options.family}"] if options.family != "python" else []
        words += [f"--only {options.only}"] if options.only else []
        command = " ".join([*words, f"--output {options.output.name}"])
        options.output.write_text(report.to_json(command, commit, started, round(time.monotonic() - begun)))
        print(f"Written: {options.output}")
    wrong = [row["case"] for row in report.rows if not row["correct"]]
    if wrong:
        print(f"ciphermill_bench: results differ: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
