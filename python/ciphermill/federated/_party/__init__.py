"""The command `ciphermill-party`: a party of a federated training, from a TOML file.

config   the TOML file                      metrics    Prometheus
data     data files                         progress   lines or a display on standard error
run      a training                         document   the report for JSON
predict  scores of new rows                 html       the report as a page
model    the file of the weights            signals    the end by SIGINT and SIGTERM
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ciphermill.errors import CiphermillError

#: Exit statuses.
DONE, FAILED, USAGE = 0, 1, 2

VERBS = ("run", "check", "predict")

DESCRIPTION = """\
Runs one party of a federated training: a guest, a host or an arbiter. Each party has its own TOML file.
"""

EXAMPLE = """\
verbs:
  run FILE        train, and write model.json, report.json and report.html (the verb may be left out)
  check FILE      read the file, the data and the certificates; connect to no peer
  predict FILE    score new rows with a trained model; all parties run it

example: bank.toml of a guest
  [party]
  name = "bank"                  # the DNS name in its certificate
  role = "guest"                 # guest, host or arbiter
  state = "state"                # a directory from which the training resumes
  output = "output"              # model.json, report.json, report.html

  [tls]
  certificate = "bank.pem"
  key = "bank.key"
  authority = "ca.pem"

  [[peers]]
  name = "shop"
  role = "host"
  address = "shop.example:7443"

  [data]
  file = "bank.csv"
  id = "customer"
  label = "default"

  $ ciphermill-party check bank.toml
  $ ciphermill-party run bank.toml

exit status: 0 done, 1 failed, 2 unsupported options, configuration, certificates or data
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] not in VERBS and not given[0].startswith("-"):
        given.insert(0, "run")
    options = _parser().parse_args(given)
    verb = {"run": _run, "check": _check, "predict": _predict}[options.verb]
    status = _Status()
    try:
        verb(options, status)
    except CiphermillError as error:
        print(f"error: {error}", file=sys.stderr)
        return status.value
    except MemoryError:
        print("error: there is not enough memory; use fewer rows or columns, or a larger machine", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"ended by SIGINT; {status.hint}", file=sys.stderr)
        return FAILED
    return DONE


class _Status:
    """The exit status of an error: that of usage until everything is read."""

    def __init__(self) -> None:
        self.value = USAGE
        self.hint = "start the party again to resume"

    def connect(self) -> None:
        self.value = FAILED


def _parser() -> argparse.ArgumentParser:
    import ciphermill

    parser = argparse.ArgumentParser(
        prog="ciphermill-party",
        description=DESCRIPTION,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ciphermill-party {ciphermill.__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    texts = {
        "run": ("Train, and write the files of the output.", "ciphermill-party run bank.toml"),
        "check": ("Read all files and show the plan of the party.", "ciphermill-party check bank.toml"),
        "predict": (
            "Score new rows. All parties run it; the guest writes the scores.",
            "ciphermill-party predict bank.toml --data new.csv --out scores.csv",
        ),
    }
    for name, (text, example) in texts.items():
        verb = verbs.add_parser(name, help=text, description=text, epilog=f"example: {example}")
        verb.add_argument("file", type=Path, help="the TOML file of the party")
        verb.add_argument("--json", action="store_true", help="print the result as JSON on standard output")
        if name == "predict":
            verb.add_argument("--data", type=Path, help="the new rows of this party: guest and hosts")
            verb.add_argument("--out", type=Path, help="the CSV file of the scores: guest only")
    return parser


def _run(options: argparse.Namespace, status: _Status) -> None:
    from ciphermill.federated._party.config import read
    from ciphermill.federated._party.metrics import Watch
    from ciphermill.federated._party.progress import progress
    from ciphermill.federated._party.run import summary, train
    from ciphermill.federated._party.signals import stopping

    configuration = read(options.file)
    status.hint = f"the state is in {configuration.state}; start the party again to resume"
    watch = Watch(configuration.name, configuration.role, configuration.training.backend)
    shown = progress()
    try:
        with stopping(status.hint):
            made = train(configuration, watch, shown, status.connect)
    finally:
        shown.close()
    print(_json(made) if options.json else summary(made, configuration))


def _check(options: argparse.Namespace, status: _Status) -> None:
    from ciphermill.federated._party.config import read
    from ciphermill.federated._party.run import describe, lines, prepare

    configuration = read(options.file)
    facts = describe(prepare(configuration))
    print(_json(facts) if options.json else lines(facts))


def _predict(options: argparse.Namespace, status: _Status) -> None:
    from ciphermill.federated._party.config import read
    from ciphermill.federated._party.predict import predict, prepare
    from ciphermill.federated._party.progress import progress
    from ciphermill.federated._party.signals import stopping

    configuration = read(options.file)
    status.hint = "nothing was written"
    with stopping(status.hint):
        ready = prepare(configuration, options.data, options.out)
        status.connect()
        made = predict(configuration, ready, options.out, progress())
    wrote = f"{made['rows']} rows" + (f", scores in {made['out']}" if made["out"] else "")
    print(_json(made) if options.json else wrote)


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False)
