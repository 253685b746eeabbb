"""Shared parts of the tests of the command of a party: configurations, data, processes, trainings in threads."""

import csv
import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from federated_setting import Authority
from free_ports import free_port
from sklearn.datasets import load_breast_cancer

import ciphermill as cm
from ciphermill.federated._party import config
from ciphermill.federated._party.data import Scaling
from ciphermill.federated._party.metrics import Watch
from ciphermill.federated._party.progress import Lines
from ciphermill.federated._party.run import train
from ciphermill.linear_model import HeteroLogisticRegression

#: Seconds that a process may take.
LIMIT = 60

#: A change of the sections of a configuration.
Change = Callable[[dict[str, Any]], object]

X, Y = load_breast_cancer(return_X_y=True)
NAMES = [str(name) for name in load_breast_cancer().feature_names]
IDS = [f"c{row:04}" for row in range(len(X))]
COLUMNS = {"bank": slice(0, 10), "shop": slice(10, 30)}


def write_csv(path: Path, head: list[str], rows: Any) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def write_columns(path: Path, columns: slice, rows: Any, labels: bool = False) -> None:
    """A CSV file with ids, columns and perhaps labels."""
    head = ["customer", *NAMES[columns], *(["benign"] if labels else [])]
    write_csv(path, head, ([IDS[row], *X[row, columns].tolist(), *([Y[row]] if labels else [])] for row in rows))


def toml(sections: dict[str, Any]) -> str:
    """Sections as TOML."""
    lines = [f"{name} = {value}" for name, value in sections.items() if isinstance(value, int)]
    for name, section in sections.items():
        if isinstance(section, int):
            continue
        for table in section if isinstance(section, list) else [section]:
            lines.append(f"[[{name}]]" if isinstance(section, list) else f"[{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


@dataclass
class PartyFiles:
    """A folder with the files of a guest `bank` and a host `shop`, which may train on this machine."""

    folder: Path
    authority: Authority
    training: dict[str, Any] = field(default_factory=dict)
    align: str = "none"
    port: int = 0

    def __post_init__(self) -> None:
        self.port = self.port or free_port()
        for name in ("bank", "shop"):
            self.write(name)

    def sections(self, name: str) -> dict[str, Any]:
        """The file of a party."""
        authority, folder = self.authority, self.authority.folder
        guest = name == "bank"
        party = {"name": name, "role": "guest" if guest else "host", "state": f"{name}-state", "output": name}
        tls = {key: str(folder / f"ca-{name}.{end}") for key, end in (("certificate", "pem"), ("key", "key"))}
        data: dict[str, Any] = {"file": f"{name}.csv", "id": "customer", "align": self.align}
        found: dict[str, Any] = {"party": party, "tls": tls | {"authority": str(authority.path)}}
        if guest:
            found["peers"] = [{"name": "shop", "role": "host", "address": f"localhost:{self.port}"}]
            data["label"] = "benign"
        else:
            found["peers"] = [{"name": "bank", "role": "guest"}]
            found["listen"] = {"address": f"127.0.0.1:{self.port}"}
        return found | {"data": data, "training": {"deadline": 30, **self.training}}

    def write(self, name: str, change: Change = lambda sections: None) -> Path:
        """Write the file of a party, with a change."""
        sections = self.sections(name)
        change(sections)
        path = self.folder / f"{name}.toml"
        path.write_text(toml(sections))
        return path

    def write_data(self, bank: Any = range(569), shop: Any = range(569)) -> "PartyFiles":
        """Write the data of both parties, with these rows."""
        write_columns(self.folder / "bank.csv", COLUMNS["bank"], bank, labels=True)
        write_columns(self.folder / "shop.csv", COLUMNS["shop"], shop)
        return self

    def start(self, name: str, *options: str, prefix: str = "") -> "Process":
        """The command in a process of its own. `prefix` is code that runs before."""
        code = f"import sys\n{prefix}\nfrom ciphermill.federated._party import main\nsys.exit(main())"
        command = [sys.executable, "-c", code, *(options or ("run",))]
        command.insert(4, str(self.folder / f"{name}.toml"))
        return Process(command, self.folder / f"{name}.log")

    def weights(self, name: str) -> np.ndarray:
        """The weights of a party, the intercept of the guest last."""
        found = self.model(name)
        return np.array([*found["weights"], *([found["intercept"]] if name == "bank" else [])])

    def model(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / name / "model.json").read_text())
        return found

    def report(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / name / "report.json").read_text())
        return found

    def iterations(self, name: str) -> int:
        """The last stored iteration; -1 for none."""
        found = (self.folder / f"{name}-state").glob("iteration-*.state")
        return max((int(path.stem[-7:]) for path in found), default=-1)

    def wait_for(self, name: str, iteration: int) -> None:
        """Wait until a party has stored an iteration."""
        end = time.monotonic() + LIMIT
        while self.iterations(name) < iteration:
            assert time.monotonic() < end, "the training does not begin"
            time.sleep(0.002)


class Process:
    """A running party."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)

    def finish(self) -> tuple[int, str]:
        """The exit status and the standard output."""
        output, _ = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, output

    def wait_for(self, words: str) -> None:
        """Wait for words in the log."""
        end = time.monotonic() + LIMIT
        while words not in self.errors:
            assert time.monotonic() < end, self.errors
            time.sleep(0.005)

    @property
    def errors(self) -> str:
        return self.log.read_text()

    def kill(self, number: int = signal.SIGKILL) -> float:
        """Send a signal. Returns the seconds until the end."""
        start = time.monotonic()
        self.process.send_signal(number)
        self.process.communicate(timeout=LIMIT)
        return time.monotonic() - start


def plain(rows: Any = None, **options: Any) -> dict[str, np.ndarray]:
    """The weights of both parties by the back end in clear, over standardised rows."""
    rows = np.arange(len(X)) if rows is None else np.asarray(rows)
    scaled = np.column_stack(
        [
            Scaling.of(part, NAMES[: part.shape[1]]).apply(part)
            for part in (X[rows][:, each] for each in COLUMNS.values())
        ]
    )
    fitted = HeteroLogisticRegression(columns=COLUMNS, **options).fit(scaled, Y[rows])
    bank, shop = (fitted.coef_[0, columns] for columns in COLUMNS.values())
    return {"bank": np.append(bank, fitted.intercept_), "shop": shop}


def require_weights(parties: PartyFiles, expected: dict[str, np.ndarray]) -> None:
    """The weights of both parties are equal in every bit."""
    for name, weights in expected.items():
        assert parties.weights(name).tobytes() == weights.tobytes(), name


def run_here(parties: PartyFiles, *names: str, shown: Any = None) -> dict[str, Any]:
    """Train in threads of this process. Returns the reports, or the errors, by party."""
    results: dict[str, Any] = {}

    def work(name: str) -> None:
        configuration = config.read(parties.folder / f"{name}.toml")
        watch = Watch(name, configuration.role, configuration.training.backend)
        try:
            results[name] = train(configuration, watch, (shown or {}).get(name, Lines(io.StringIO())), lambda: None)
        except cm.CiphermillError as error:
            results[name] = error

    threads = [threading.Thread(target=work, args=(name,)) for name in names or ("shop", "bank")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert len(results) == len(threads)
    return results


def put(section: str, key: str, value: Any) -> Change:
    return lambda sections: sections[section].update({key: value})


def drop(section: str, key: str) -> Change:
    return lambda sections: sections[section].pop(key)


def peer(key: str, value: Any) -> Change:
    return lambda sections: sections["peers"][0].update({key: value})


def extra(section: str, content: Any) -> Change:
    return lambda sections: sections.update({section: content})
