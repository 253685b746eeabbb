"""Tests of the configuration of the party, as the chart renders it and the party reads it."""

import json
import re
import unittest
from typing import Any

import yaml
from rendering import (
    CHART,
    EXAMPLES,
    RAY_ADDRESS,
    RELEASE,
    changed,
    configuration,
    example,
    fields,
    helm,
    only,
    pods,
    reader,
    refusal,
    render,
)

Json = dict[str, Any]
KEYS = {
    "party": {"name", "role", "state", "output", "metrics"},
    "tls": {"certificate", "key", "authority"},
    "listen": {"address"},
    "data": {"file", "id", "label", "features", "standardise", "align"},
    "training": {"backend", "C", "tol", "max_iter", "deadline"},
    "ray": {"address"},
}
ABSENT = {"guest": {"listen", "ray"}, "host": {"ray"}, "arbiter": {"data", "ray"}, "ray": set()}
# All optional fields of `data` that a guest and a host have, and of `training`.
OF_GUEST: Json = {"positive": "yes", "fit_intercept": False, "max_bytes": 1 << 50}
OF_HOST: Json = {"allow_training_scores": True, "max_bytes": 5_000_000}
OF_TRAINING: Json = {
    "backend": "paillier",
    "C": 10.0,
    "tol": 1e-9,
    "max_iter": 1_000_000,
    "solver": "adam",
    "learning_rate": 0.5,
    "batch_size": 4096,
    "seed": 2**53,
    "restarts": 20,
    "calibrate": True,
    "allow_label_leak": True,
    "deadline": 0.5,
}
OF_RAY: Json = {"actors": 8, "blocks": 4, "threads": 2}
OF_ROLE = {"guest": OF_GUEST, "host": OF_HOST, "ray": OF_HOST}


def complete(name: str) -> Json:
    """The values of an example with all optional fields of the configuration."""
    values = changed(example(name), "training", OF_TRAINING)
    for key, value in OF_ROLE.get(name, {}).items():
        values = changed(values, f"data.{key}", value)
    if name == "ray":
        values = changed(values, "training.backend", "bfv")
        for key, value in OF_RAY.items():
            values = changed(values, f"ray.{key}", value)
    return values


def of_training(name: str) -> Json:
    """The section `training` of `complete`. Ray computes with one back end only."""
    return OF_TRAINING | ({"backend": "bfv"} if name == "ray" else {})


class Reader(unittest.TestCase):
    """The reader of `ciphermill-party` accepts the configuration, and the schema has its keys and limits."""

    def test_examples(self) -> None:
        names = [(name, make) for name in EXAMPLES for make in (example, complete)]
        files = [only(render(make(name)), "ConfigMap")["data"]["party.toml"] for name, make in names]
        for (name, make), read in zip(names, reader(files)["configurations"], strict=True):
            with self.subTest(name, values=make.__name__):
                self.assertNotIn("error", read)
                self.assertEqual(read["name"], example(name)["party"]["name"])
                self.assertEqual(read["state"], f"/var/lib/ciphermill/{example(name).get('run', '1')}/state")
                if make is complete:
                    self.assertEqual(read["training"], of_training(name))
                    if name == "ray":
                        self.assertEqual({key: read["ray"][key] for key in OF_RAY}, OF_RAY)
                    expected = OF_ROLE.get(name, {})
                    self.assertEqual({key: read["data"][key] for key in expected}, expected)

    def test_a_wrong_file_is_refused(self) -> None:
        text = only(render(example("guest")), "ConfigMap")["data"]["party.toml"].replace("max_iter", "maxiter")
        (read,) = reader([text])["configurations"]
        self.assertIn('the unknown key "maxiter"', read["error"])

    def test_keys(self) -> None:
        keys = reader([])["keys"]
        schema = dict(fields(json.loads((CHART / "values.schema.json").read_text())))
        self.assertEqual(sorted({*schema["data"]["properties"]} - {"volume"}), keys["data"])
        self.assertEqual(sorted(schema["training"]["properties"]), keys["training"])
        self.assertEqual(sorted(KEYS["tls"]), keys["tls"])
        # The chart sets the address, and nodes share no directory.
        of_cluster = {"enabled", "version", "tokenSecret", "workers", "resources"}
        self.assertEqual({*schema["ray"]["properties"]} - of_cluster, {*keys["ray"]} - {"address", "directory"})

    def test_limits(self) -> None:
        made = reader([])
        schema = dict(fields(json.loads((CHART / "values.schema.json").read_text())))
        for path, choices in made["choices"].items():
            self.assertEqual(sorted(schema[path]["enum"]), sorted(choices))
        for path, greatest in made["greatest"].items():
            self.assertEqual(schema[path]["maximum"], greatest)
        (found,) = re.findall(r"\\\.\((.*)\)\$$", schema["data.file"]["pattern"])
        self.assertEqual(sorted(f".{word}" for word in found.split("|")), sorted(made["formats"]))


class Configuration(unittest.TestCase):
    def test_keys(self) -> None:
        fewer = {"host": {"label", "features"}, "ray": {"label", "features", "id"}}
        for name in EXAMPLES:
            with self.subTest(name):
                file = configuration(render(example(name)))
                self.assertEqual(set(file), {*KEYS, "peers"} - ABSENT[name])
                for table in set(KEYS) - ABSENT[name]:
                    expected = KEYS[table] - (fewer.get(name, set()) if table == "data" else set())
                    self.assertEqual(set(file[table]), expected, table)

    def test_all_keys(self) -> None:
        for name in EXAMPLES:
            file = configuration(render(complete(name)))
            self.assertEqual(file["training"], of_training(name))
            self.assertEqual(file.get("ray", {}), {"address": RAY_ADDRESS, **OF_RAY} if name == "ray" else {})
            for key, value in OF_ROLE.get(name, {}).items():
                self.assertEqual(file["data"][key], value)

    def test_peers(self) -> None:
        for name in EXAMPLES:
            given = [{key: peer[key] for key in peer if key != "network"} for peer in example(name)["peers"]]
            self.assertEqual(configuration(render(example(name)))["peers"], given)

    def test_a_guest(self) -> None:
        file = configuration(render(example("guest")))
        storage = "/var/lib/ciphermill/1"
        self.assertEqual(
            file["party"],
            {
                "name": "bank",
                "role": "guest",
                "state": f"{storage}/state",
                "output": f"{storage}/output",
                "metrics": "0.0.0.0:9464",
            },
        )
        self.assertEqual(
            file["data"],
            {
                "file": "/data/bank.csv",
                "id": "customer",
                "label": "default",
                "features": ["income", "age"],
                "standardise": True,
                "align": "psi",
            },
        )

    def test_types_of_numbers(self) -> None:
        """TOML distinguishes integers and floats. Helm has one kind of number, which it prints as 1e+06 from a million on."""
        training = configuration(render(complete("guest")))["training"]
        self.assertEqual(
            {key: type(training[key]) for key in training}, {key: type(OF_TRAINING[key]) for key in training}
        )
        whole = configuration(render(changed(example("guest"), "training.C", 10)))["training"]["C"]
        self.assertIs(type(whole), float)
        # Values of the command line are integers in Helm.
        line = "training.C=10,training.tol=1,training.deadline=60,training.max_iter=1000000"
        run = helm(example("guest"), "template", RELEASE, str(CHART), "--set", line)
        documents = [document for document in yaml.safe_load_all(run.stdout) if document]
        expected = {"C": 10.0, "tol": 1.0, "deadline": 60.0, "max_iter": 1_000_000}
        training = configuration(documents)["training"]
        self.assertEqual(
            {key: (type(training[key]), training[key]) for key in expected},
            {key: (type(value), value) for key, value in expected.items()},
        )
        for positive in ("yes", True, 1, -3, 0.5):
            found = configuration(render(changed(example("guest"), "data.positive", positive)))["data"]["positive"]
            self.assertEqual((type(found), found), (type(positive), positive))

    def test_texts_are_quoted(self) -> None:
        odd = (
            '"',
            "\\",
            "a\\b",
            '"""',
            "'",
            "{{ .Values }}",
            "größe",
            "a = 1 # b",
            "] [training]",
            "${HOME}",
            " ",
            "|",
            "- x",
            "€𝄞\u200b",
        )
        for text in odd:
            with self.subTest(text):
                file = configuration(render(changed(example("guest"), "data.id", text)))
                self.assertEqual(file["data"]["id"], text)
                self.assertEqual(file["training"]["max_iter"], 200)
        every = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x120), *range(0x2000, 0x2028)]))
        for start in range(0, len(every), 250):
            text = every[start : start + 250]
            self.assertEqual(
                configuration(render(changed(example("guest"), "data.label", text)))["data"]["label"], text
            )

    def test_line_breaks_of_yaml_are_refused(self) -> None:
        for letter in "\n\r\t\0\x7f\x85\u2028\u2029\ufeff":
            with self.subTest(repr(letter)):
                self.assertIn("'/data/label'", refusal(changed(example("guest"), "data.label", f"a{letter}b")))

    def test_the_run_is_a_directory(self) -> None:
        values = changed(example("host"), "run", "autumn")
        self.assertEqual(configuration(render(values))["party"]["state"], "/var/lib/ciphermill/autumn/state")

    def test_paths_are_mounts(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            file = configuration(documents)
            mounts = {
                mount["name"]: mount for mount in pods(documents)["party"]["spec"]["containers"][0]["volumeMounts"]
            }
            storage = mounts["storage"]["mountPath"]
            self.assertTrue(file["party"]["state"].startswith(f"{storage}/"))
            self.assertTrue(file["party"]["output"].startswith(f"{storage}/"))
            for path in file["tls"].values():
                self.assertTrue(path.startswith(f"{mounts['tls']['mountPath']}/"))
            if "data" in file:
                self.assertTrue(file["data"]["file"].startswith(f"{mounts['data']['mountPath']}/"))
            command = pods(documents)["party"]["spec"]["containers"][0]["command"]
            self.assertEqual(command, ["ciphermill-party", f"{mounts['configuration']['mountPath']}/party.toml"])


if __name__ == "__main__":
    unittest.main()
