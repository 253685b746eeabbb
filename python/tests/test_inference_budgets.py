"""Budgets of private inference: the keys and queries of a client, the clients of a server, and names that clients cannot change."""

import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from inference_setting import Setting, same_integers, through_bytes

import ciphermill as cm
from ciphermill._inference import forms
from ciphermill.inference import Client, Conv2d, Dense, Flatten, MaxPool2d, Message, PrivateClassifier, ReLU, Server


@pytest.fixture(scope="module")
def parties() -> Setting:
    return Setting(np.random.default_rng(5))


def forbid(monkeypatch: pytest.MonkeyPatch, *methods: tuple[type, str]) -> None:
    """Fail the test if one of some methods is called."""

    def called(*arguments: object, **keywords: object) -> None:
        pytest.fail("the budget was checked too late")

    for owner, name in methods:
        monkeypatch.setattr(owner, name, called)


def deep_spec(parties: Setting, layers: int) -> bytes:
    """The client spec of a hostile server: the first layer, over and over."""
    document = json.loads(parties.classifier.client_spec())
    first = document["stages"][0] | {"image": [512, 1, 1], "input_scale": 1.0, "input_offset": 0.0}
    document["stages"] = [document["stages"][0], *[first] * (layers - 2), document["stages"][1]]
    return json.dumps(document).encode()


def test_a_client_limits_its_keys(parties: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parties.classifier.client_spec()
    stages: list[Any] = list(parties.classifier._network.stages)
    plans = [stage.form.plan for stage in stages]
    assert [type(plan) for plan in plans] == [cm.MatVecPlan, cm.Conv2dPlan]
    needed = sum(stage.form.client_key_bytes for stage in stages)
    # The secret key of the convolution is the client's alone.
    assert needed > sum(plan.explain()["key_bytes"] for plan in plans)
    client = Client(spec, max_key_bytes=needed)
    # The count is that of the memory, and about three times the bytes that travel.
    assert needed / 4 < client.keys().nbytes < needed / 2
    for limit in (needed - 1, 1):
        with pytest.raises(
            cm.MemoryLimitError, match=f"2 layers takes {needed} bytes, the limit is max_key_bytes={limit};"
        ):
            Client(spec, max_key_bytes=limit)
    forbid(monkeypatch, (forms.MatrixForm, "keygen"), (forms.ConvolutionForm, "keygen"))
    with pytest.raises(
        cm.MemoryLimitError, match=r"60 layers takes 5\d{8} bytes, the limit is max_key_bytes=268435456"
    ):
        Client(deep_spec(parties, 60))
    for name in ("max_key_bytes", "max_query_bytes"):
        assert inspect.signature(Client).parameters[name].default
        for value in (0, -1, 1.5, "all"):
            with pytest.raises(cm.ParameterError, match=f"{name} is {value!r}; use 1 to"):
                Client(spec, **{name: value})  # type: ignore[arg-type]


def test_a_server_has_no_keys_of_convolutions() -> None:
    classifier = PrivateClassifier([Dense(np.eye(4)), ReLU(), Dense(np.eye(4))], (4,), np.eye(4))
    assert [stage.form.name for stage in classifier._network.stages] == ["convolution"] * 2
    server = classifier.server(max_bytes=8192)
    client = Client(server.client_spec())
    server.register(client.keys().to_bytes())
    assert server.nbytes < 8192
    # The keys as sent are the tags, and no other bytes are read.
    keys = client.keys().to_bytes()
    with pytest.raises(cm.WireError, match=f"has {len(keys) + 1} bytes; use at most {len(keys)}"):
        server.register(keys + b"x")
    # The client has the secret keys.
    needed = sum(stage.form.facts["key_bytes"] for stage in classifier._network.stages)  # type: ignore[attr-defined]
    with pytest.raises(cm.MemoryLimitError, match=f"takes {needed} bytes"):
        Client(server.client_spec(), max_key_bytes=needed - 1)


@pytest.mark.parametrize(("n", "memory"), [(4, 32768), (700, 65536)])
def test_a_query_is_counted_as_it_is_in_memory(parties: Setting, n: int, memory: int) -> None:
    """A ciphertext has two polynomials of 64-bit words in memory; sent bytes are fewer."""
    small = PrivateClassifier([Dense(np.eye(4))], (4,), np.eye(4))
    classifier = small if n == 4 else parties.classifier
    client = Client(classifier.client_spec(), max_query_bytes=memory)
    with pytest.raises(cm.MemoryLimitError, match="max_query_bytes"):
        client.start(np.ones((1, n)))
    Client(classifier.client_spec(), max_query_bytes=3 * memory).start(np.ones((1, n)))


def test_a_client_without_limits(parties: Setting) -> None:
    client = Client(parties.server.client_spec(), max_key_bytes=None, max_query_bytes=None)
    parties.server.register(client.keys())
    same_integers(through_bytes(client, parties.server, parties.X), parties.classifier.run_plain(parties.X))


def test_a_client_limits_its_queries(parties: Setting) -> None:
    spec, form = parties.classifier.client_spec(), parties.classifier._network.stages[0].form
    each, sent = form.query_memory(1), form.query_bytes(1)
    exact = Client(spec, max_query_bytes=3 * each)
    # Ciphertexts are those of the plan, and a message has a header and lengths besides.
    assert 3 * sent < exact.start(parties.X[:3]).query.nbytes < 3 * sent + 1000
    # Two polynomials of 4096 words in memory, twice the bytes, twice the integers; lengths of primes are rounded up.
    counted = 2 * 8 * 4096 + 2 * sent + 2 * 8 * form.query_entries(1)
    assert counted <= each < 1.01 * counted
    with pytest.raises(
        cm.MemoryLimitError,
        match=f"a query of layer 0 for 4 samples takes {4 * each} bytes, the limit is max_query_bytes={3 * each}; use fewer",
    ):
        exact.start(parties.X[:4])
    # Later layers have their own sizes.
    layers = [Dense(np.ones((3, 4))), ReLU(), Dense(np.ones((4000, 3))), ReLU(), Dense(np.ones((2, 4000)))]
    deep = PrivateClassifier(layers, (4,), np.ones((1, 4)))
    sizes = [stage.form.query_memory(1) for stage in deep._network.stages]
    assert max(sizes[:2]) < sizes[2]
    server = deep.server()
    client = Client(server.client_spec(), max_query_bytes=sizes[2] - 1)
    server.register(client.keys())
    run = client.start(np.ones((1, 4)))
    run = client.next(run, server.layer(0, run.query))
    with pytest.raises(cm.MemoryLimitError, match=f"a query of layer 2 for 1 samples takes {sizes[2]} bytes"):
        client.next(run, server.layer(1, run.query))


def test_padding_that_a_server_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pixel can become a query of megabytes."""
    layers = [Conv2d(np.ones((2, 1, 1, 1)), padding=300), MaxPool2d(601), Flatten(), Dense(np.eye(2))]
    classifier = PrivateClassifier(layers, (1, 1, 1), np.ones((1, 1)))
    padded = classifier._network.stages[0].form.query_memory(1)
    assert padded > 2 * 8 * 601 * 601
    client = Client(classifier.client_spec(), max_query_bytes=padded - 1)
    forbid(monkeypatch, (forms.ConvolutionKeys, "encrypt"))
    with pytest.raises(cm.MemoryLimitError, match=f"takes {padded} bytes, the limit is max_query_bytes={padded - 1}"):
        client.start([[1.0]])
    with pytest.raises(
        cm.MemoryLimitError, match=f"takes {1024 * padded} bytes, the limit is max_query_bytes=1073741824"
    ):
        Client(classifier.client_spec()).start(np.ones((1024, 1)))


def test_ciphertexts_of_small_images(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = PrivateClassifier([Dense(np.eye(4))], (4,), np.eye(4))
    form = classifier._network.stages[0].form
    assert form.name == "convolution"
    integers, sent = 8 * form.query_entries(1), form.query_bytes(1)
    needed = 2 * (integers + sent) + form.facts["image_memory"]
    # A ciphertext has more bytes in memory than as sent.
    assert integers < 10_000 < sent < form.facts["image_memory"] == 32768
    query = Client(classifier.client_spec(), max_query_bytes=needed).start(np.eye(4)[:1]).query
    assert sent < query.nbytes < sent + 1000
    client = Client(classifier.client_spec(), max_query_bytes=needed - 1)
    forbid(monkeypatch, (forms.ConvolutionKeys, "encrypt"))
    with pytest.raises(cm.MemoryLimitError, match=f"takes {needed} bytes"):
        client.start(np.eye(4)[:1])


def test_a_server_limits_its_clients(parties: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    server = parties.classifier.server(max_clients=2)
    clients = [Client(server.client_spec()) for _ in range(3)]
    for client in clients[:2]:
        server.register(client.keys().to_bytes())
    each = server.nbytes // 2
    assert each > 6 << 20
    refused = clients[2].keys().to_bytes()
    with monkeypatch.context() as patch:
        forbid(patch, (forms.MatrixForm, "read_evaluation"), (forms.MatrixWeights, "register"))
        with pytest.raises(
            cm.MemoryLimitError, match="2 clients are registered, the limit is max_clients=2; call forget"
        ):
            server.register(refused)
    assert server.clients == [client.name for client in clients[:2]]
    # Known keys are not a new client, and forgetting one makes room.
    assert server.register(clients[0].keys()) == clients[0].name
    server.forget(clients[1].name)
    assert server.register(refused) == clients[2].name
    assert server.nbytes == 2 * each
    narrow = parties.classifier.server(max_bytes=2 * each - 1)
    narrow.register(clients[0].keys())
    with pytest.raises(
        cm.MemoryLimitError, match=f"2 clients need {2 * each} bytes, {each} each, .*max_bytes={2 * each - 1}"
    ):
        narrow.register(clients[1].keys())
    nothing = parties.classifier.server(max_bytes=each - 1)
    with pytest.raises(cm.MemoryLimitError, match="1 clients need"):
        nothing.register(clients[0].keys())
    assert nothing.clients == []


MEMORY = """
import numpy as np
from ciphermill.inference import Client, Dense, PrivateClassifier, ReLU

def resident():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))

layers = [Dense(np.ones((512, 700))), ReLU(), Dense(np.ones((4, 512)))]
server = PrivateClassifier(layers, (700,), np.ones((1, 700))).server()
for _ in range(2):
    server.register(Client(server.client_spec()).keys().to_bytes())
before, counted = resident(), server.nbytes
for _ in range(20):
    server.register(Client(server.client_spec()).keys().to_bytes())
print((resident() - before) / (server.nbytes - counted))
"""


def test_the_budget_of_bytes_is_that_of_the_memory() -> None:
    assert 0.8 < float(measured(MEMORY)) < 1.3


def measured(program: str, *arguments: object) -> str:
    """The output of a program in its own process, whose memory is not that of other tests."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


#: A client's memory: of key sets, and the peak of queries, each as a part of the counted bytes.
CLIENT_MEMORY = """
import sys
import numpy as np
from ciphermill.inference import Client, Conv2d, Dense, Flatten, MaxPool2d, PrivateClassifier

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

networks = {
    "matrix": lambda: ([Dense(np.ones((512, 700)))], (700,), 8),
    "limbs": lambda: ([Dense(np.ones((16, 9000)))], (9000,), 16),
    "small": lambda: ([Dense(np.eye(64))], (64,), 8),
    "images": lambda: ([Conv2d(np.ones((4, 3, 3, 3))), MaxPool2d(62), Flatten(), Dense(np.ones((2, 4)))], (3, 64, 64), 8),
}
layers, shape, bits = networks[sys.argv[1]]()
samples = np.ones((int(sys.argv[2]), *shape))
classifier = PrivateClassifier(layers, shape, samples[:1], weight_bits=bits, activation_bits=bits, batch=len(shape) ** 2)
form = classifier._network.stages[0].form
keys = [form.keygen() for _ in range(2)]
client = Client(classifier.client_spec(), max_query_bytes=None)
client.start(samples[:1]).query.to_bytes()
before = status("VmRSS")
count = max(20, (100 << 20) // form.client_key_bytes // 4)
keys += [form.keygen() for _ in range(count)]
of_keys = (status("VmRSS") - before) / (count * form.client_key_bytes)
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
sent = client.start(samples).query.to_bytes()
print(form.name, of_keys, (status("VmHWM") - before) / form.query_memory(len(samples)))
"""


@pytest.mark.parametrize(
    ("network", "samples", "form"),
    [
        ("matrix", 500, "matrix"),
        ("limbs", 300, "matrix"),
        ("small", 1024, "convolution"),
        ("images", 400, "convolution"),
    ],
)
def test_the_budgets_of_a_client_are_those_of_its_memory(network: str, samples: int, form: str) -> None:
    name, keys, query = measured(CLIENT_MEMORY, network, samples).split()
    assert name == form
    assert 0.75 < float(keys) < 1.1
    assert 0.5 < float(query) < 1.05


def test_keys_of_too_many_bytes_are_not_read(parties: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    server = parties.classifier.server()
    keys = Client(server.client_spec()).keys().to_bytes()
    forbid(monkeypatch, (Message, "from_bytes"))
    with pytest.raises(cm.WireError, match=r"the message of kind keys has \d+ bytes; use at most \d+"):
        server.register(keys + bytes(4 << 20))


def test_concurrent_registrations_keep_the_budget(parties: Setting) -> None:
    server = parties.classifier.server(max_clients=2)
    spec = server.client_spec()
    messages = [Client(spec).keys() for _ in range(6)]
    outcomes: list[str] = []

    def register(message: Message) -> None:
        try:
            outcomes.append(server.register(message))
        except cm.MemoryLimitError:
            outcomes.append("refused")

    threads = [threading.Thread(target=register, args=(message,)) for message in messages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refused") == 4
    assert sorted(server.clients) == sorted(name for name in outcomes if name != "refused")


def test_new_keys_do_not_reset_the_count(parties: Setting) -> None:
    """The attack that a random name allows: a client draws new keys for new samples."""
    server = parties.classifier.server(max_samples=4, max_clients=1)
    first, second = (Client(server.client_spec()) for _ in range(2))
    server.register(first.keys(), name="ann")
    through_bytes(first, server, parties.X[:3])
    assert server.register(second.keys().to_bytes(), name="ann") == "ann"
    assert server.samples("ann") == [3, 3]
    with pytest.raises(cm.PeerError, match="client ann asks for sample 5 of layer 0; the limit is max_samples=4"):
        server.layer(0, second.start(parties.X[:2]).query)
    # The old keys are replaced.
    with pytest.raises(cm.KeyMismatchError, match="not registered"):
        server.layer(0, first.start(parties.X[:1]).query)
    through_bytes(second, server, parties.X[:1])
    # Neither does a client that is forgotten start at zero: the operator alone resets a count.
    server.forget("ann")
    assert server.clients == []
    assert server.samples("ann") == [4, 4]
    server.register(first.keys(), name="ann")
    with pytest.raises(cm.PeerError):
        server.layer(0, first.start(parties.X[:1]).query)
    server.reset("ann")
    through_bytes(first, server, parties.X[:4])
    assert server.samples("ann") == [4, 4]
    server.forget("ann")
    server.reset("ann")
    for unknown in (server.samples, server.reset):
        with pytest.raises(cm.KeyMismatchError, match="client ann is not registered"):
            unknown("ann")


def test_a_client_is_counted_when_it_is_published(parties: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its query can come before `register` has returned."""
    server = parties.classifier.server(max_samples=4)
    client = Client(server.client_spec())
    query, register = client.start(parties.X[:1]).query, server._clients.register

    def interrupted(*arguments: Any, **options: Any) -> Any:
        found = register(*arguments, **options)
        server.layer(0, query, name="ann")
        return found

    monkeypatch.setattr(server._clients, "register", interrupted)
    server.register(client.keys(), name="ann")
    assert server.samples("ann") == [1, 0]


def test_bad_keys_do_not_remove_a_client(parties: Setting) -> None:
    server = parties.classifier.server(max_samples=4, max_clients=1)
    first, second = (Client(server.client_spec()) for _ in range(2))
    server.register(first.keys().to_bytes(), name="ann")
    sent = second.keys().to_bytes()
    middle = len(sent) // 2
    keys = sent[:middle] + bytes([sent[middle] ^ 1]) + sent[middle + 1 :]
    with pytest.raises(cm.WireError):
        server.register(keys, name="ann")
    through_bytes(first, server, parties.X[:1])
    assert server.clients == ["ann"] and server.samples("ann") == [1, 1]
    # Bad keys of a client that is not registered leave no count.
    with pytest.raises(cm.MemoryLimitError):
        server.register(keys, name="bob")
    server.forget("ann")
    with pytest.raises(cm.WireError):
        server.register(keys, name="bob")
    with pytest.raises(cm.KeyMismatchError, match="bob is not registered"):
        server.samples("bob")
    # A replacement needs no further room.
    exact = parties.classifier.server(max_bytes=parties.server_bytes())
    for client in (first, second, first):
        exact.register(client.keys(), name="ann")
        through_bytes(client, exact, parties.X[:1])
    assert exact.samples("ann") == [3, 3]


def test_counts_of_names_and_labels(parties: Setting) -> None:
    server = parties.classifier.server()
    client = Client(server.client_spec())
    # An operator can set the count of a client without a name, before it comes and later.
    server.reset(client.name, [5, 6])
    server.register(client.keys())
    assert server.samples(client.name) == [5, 6]
    server.layer(0, client.start(parties.X[:1]).query)
    assert server.samples(client.name) == [6, 6]
    server.reset(client.name)
    assert server.samples(client.name) == [0, 0]
    # Without a name, the count ends with the registration.
    server.reset(client.name, [1, 2])
    server.forget(client.name)
    with pytest.raises(cm.KeyMismatchError, match="not registered"):
        server.samples(client.name)
    server.register(client.keys())
    assert server.samples(client.name) == [0, 0]


def test_a_restarted_server_keeps_the_counts(parties: Setting) -> None:
    first, second = (parties.classifier.server(max_samples=4) for _ in range(2))
    client = Client(first.client_spec())
    first.register(client.keys(), name="ann")
    through_bytes(client, first, parties.X[:3])
    second.reset("ann", first.samples("ann"))
    second.register(client.keys(), name="ann")
    assert second.samples("ann") == [3, 3]
    with pytest.raises(cm.PeerError, match="asks for sample 5 of layer 0"):
        second.layer(0, client.start(parties.X[:2]).query)
    for samples in ([1], [1, 2, 3], [-1, 0], [0.5, 1], [None, 1]):
        with pytest.raises(cm.ParameterError, match="use 2, one for each layer|a number of samples is"):
            second.reset("ann", samples)  # type: ignore[arg-type]
    assert second.samples("ann") == [3, 3]


def test_names_bind_queries(parties: Setting) -> None:
    server = parties.classifier.server(max_samples=4)
    ann, bob = (Client(server.client_spec()) for _ in range(2))
    server.register(ann.keys(), name="ann")
    server.register(bob.keys(), name="bob")
    query = ann.start(parties.X[:1]).query
    # Bob sends a query under the label of Ann's keys: with his name, it is refused, and does not count.
    with pytest.raises(cm.KeyMismatchError, match="under another name; use the keys of 'bob'"):
        server.layer(0, query, name="bob")
    assert server.samples("ann") == [0, 0]
    server.layer(0, query, name="ann")
    assert server.samples("ann") == [1, 0]
    # Without a name, the label alone decides.
    server.layer(0, query)
    assert server.samples("ann") == [2, 0]


def test_labels_belong_to_one_name(parties: Setting) -> None:
    server = parties.classifier.server()
    ann, thief = (Client(server.client_spec()) for _ in range(2))
    thief._name = ann._name
    server.register(ann.keys(), name="ann")
    refused: list[Callable[[], Any]] = [
        lambda: server.register(thief.keys(), name="thief"),
        lambda: server.register(ann.keys(), name="thief"),
        lambda: server.register(thief.keys()),
        lambda: server.register(ann.keys()),
    ]
    for call in refused:
        with pytest.raises(cm.KeyMismatchError, match="under another name; make new keys"):
            call()
    through_bytes(ann, server, parties.X[:1])
    # A name that looks like a label is not taken by keys without a name.
    other = Client(server.client_spec())
    server.register(ann.keys().to_bytes(), name="ann")
    named = Client(server.client_spec())
    server.register(named.keys(), name=other.name)
    with pytest.raises(cm.KeyMismatchError, match="under another name"):
        server.register(other.keys())
    through_bytes(named, server, parties.X[:1])


def test_the_classifier_serves_itself_without_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model and a client of one process: no budget can refuse them."""
    rng = np.random.default_rng(1)
    classifier = PrivateClassifier(
        [Dense(rng.normal(size=(512, 700))), ReLU(), Dense(rng.normal(size=(3, 512)))], (700,), np.eye(9, 700)
    )
    monkeypatch.setattr(Client.__init__, "__kwdefaults__", {"max_key_bytes": 1, "max_query_bytes": 1})
    server_defaults = {"max_samples": None, "max_clients": 1, "max_bytes": 1}
    monkeypatch.setattr(PrivateClassifier.server, "__kwdefaults__", server_defaults)
    with pytest.raises(cm.MemoryLimitError):
        Client(classifier.client_spec())
    with pytest.raises(cm.MemoryLimitError):
        classifier.server().register(classifier.client().keys())
    same_integers(classifier.run(np.eye(2, 700)), classifier.run_plain(np.eye(2, 700)))


def test_default_budgets() -> None:
    defaults = PrivateClassifier.server.__kwdefaults__
    assert defaults == {"max_samples": None, "max_clients": 1024, "max_bytes": 8 << 30}
    assert Client.__init__.__kwdefaults__ == {"max_key_bytes": 256 << 20, "max_query_bytes": 1 << 30}
    assert "authenticates no one" in " ".join((Server.__doc__ or "").split())
