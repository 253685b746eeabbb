"""Tests of the NetworkPolicies of the chart."""

import unittest
from typing import Any

from network import End, allows, selects
from rendering import (
    EXAMPLES,
    NAMESPACE,
    RELEASE,
    changed,
    configuration,
    example,
    of_kind,
    only,
    pods,
    render,
)

Json = dict[str, Any]


def labels(component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "ciphermill-party",
        "app.kubernetes.io/instance": RELEASE,
        "app.kubernetes.io/component": component,
    }


PARTY, RAY = labels("party"), labels("ray")
OWN, OWN_RAY = End(namespace=NAMESPACE, labels=PARTY), End(namespace=NAMESPACE, labels=RAY)
NEIGHBOUR = End(namespace=NAMESPACE, labels={"app": "other"})
DNS = End(namespace="kube-system", labels={"k8s-app": "kube-dns"})
# Connections of a Pod that all examples refuse.
NEVER = [
    ("in", End("8.8.8.8"), 7443),
    ("in", End("8.8.8.8"), 9464),
    ("in", NEIGHBOUR, 7443),
    ("in", NEIGHBOUR, 9464),
    ("in", End(namespace="monitoring"), 7443),
    ("out", End("8.8.8.8"), 7443),
    ("out", End("8.8.8.8"), 53),
    ("out", NEIGHBOUR, 7443),
    # The metadata service of clouds, and the Kubernetes API.
    ("out", End("169.254.169.254"), 80),
    ("out", End("10.96.0.1"), 443),
    ("out", End(namespace="kube-system", labels={"component": "kube-apiserver"}), 53),
    ("out", DNS, 443),
]
# Connections of the party's Pod: the example, the direction, the other end, the port, whether they are allowed.
FLOWS = [
    ("guest", "out", End("203.0.113.7"), 7443, True),
    ("guest", "out", End("203.0.113.7"), 443, False),
    ("guest", "out", End("203.0.113.8"), 7443, False),
    ("guest", "out", End(namespace="notary"), 7443, True),
    ("guest", "out", End(namespace="bank"), 7443, False),
    ("guest", "in", End("203.0.113.7"), 7443, False),
    ("guest", "in", End(namespace="notary"), 7443, False),
    ("host", "in", End("198.51.100.3"), 7443, True),
    ("host", "in", End("198.51.100.3"), 9464, False),
    ("host", "in", End("198.51.100.16"), 7443, False),
    ("host", "in", End("192.0.2.1"), 7443, False),
    ("host", "out", End("192.0.2.1"), 443, True),
    ("host", "out", End("2001:db8::1"), 443, True),
    ("host", "out", End("2001:db8::2"), 443, False),
    ("host", "out", End("192.0.2.1"), 7443, False),
    ("host", "out", End("198.51.100.3"), 7443, False),
    ("arbiter", "in", End(namespace="bank"), 7443, True),
    ("arbiter", "in", End("203.0.113.7"), 7443, True),
    ("arbiter", "in", End(namespace="shop"), 7443, False),
    ("arbiter", "out", End(namespace="bank"), 7443, False),
    ("arbiter", "out", End("203.0.113.7"), 7443, False),
    ("ray", "in", End(namespace="clinic"), 7443, True),
    ("ray", "out", OWN_RAY, 10001, True),
    ("ray", "out", OWN_RAY, 6379, False),
    ("ray", "in", OWN_RAY, 7443, False),
]


class Network(unittest.TestCase):
    def test_flows(self) -> None:
        policies = {name: of_kind(render(example(name)), "NetworkPolicy") for name in EXAMPLES}
        for name in EXAMPLES:
            for direction, end, port in NEVER:
                with self.subTest(name, direction=direction, end=end, port=port):
                    self.assertFalse(allows(policies[name], PARTY, direction, end, port))
            self.assertTrue(allows(policies[name], PARTY, "in", End(namespace="monitoring"), 9464))
            for protocol in ("UDP", "TCP"):
                self.assertTrue(allows(policies[name], PARTY, "out", DNS, 53, protocol))
        for name, direction, end, port, allowed in FLOWS:
            with self.subTest(name, direction=direction, end=end, port=port):
                self.assertEqual(allows(policies[name], PARTY, direction, end, port), allowed)

    def test_flows_of_ray(self) -> None:
        policies = of_kind(render(example("ray")), "NetworkPolicy")
        for direction, end, port in [
            *NEVER,
            ("in", End(namespace="monitoring"), 9464),
            ("in", End(namespace="clinic"), 10001),
        ]:
            with self.subTest(direction=direction, end=end, port=port):
                self.assertFalse(allows(policies, RAY, direction, end, port))
        self.assertTrue(allows(policies, RAY, "in", OWN, 10001))
        self.assertFalse(allows(policies, RAY, "in", OWN, 6379))
        self.assertFalse(allows(policies, RAY, "in", End(namespace="other", labels=RAY), 6379))
        self.assertFalse(allows(policies, RAY, "out", OWN, 7443))
        for port in (6379, 6380, 33333):
            self.assertTrue(allows(policies, RAY, "in", OWN_RAY, port))
            self.assertTrue(allows(policies, RAY, "out", OWN_RAY, port))

    def test_all_pods_are_selected_in_both_directions(self) -> None:
        for name in EXAMPLES:
            documents = render(example(name))
            for pod in pods(documents).values():
                found = pod["metadata"]["labels"]
                (policy,) = (p for p in of_kind(documents, "NetworkPolicy") if selects(p["spec"]["podSelector"], found))
                self.assertEqual(policy["spec"]["policyTypes"], ["Ingress", "Egress"])

    def test_every_rule_names_ends(self) -> None:
        """A rule without `from` or `to`, or with an empty list there, admits everything."""
        for name in EXAMPLES:
            for policy in of_kind(render(example(name)), "NetworkPolicy"):
                for key, rules in (("from", policy["spec"]["ingress"]), ("to", policy["spec"]["egress"])):
                    for rule in rules:
                        self.assertTrue(rule[key])
                        self.assertNotIn({}, rule[key])

    def test_no_metrics_no_port(self) -> None:
        documents = render(changed(example("guest"), "metrics.enabled", False))
        self.assertEqual(only(documents, "NetworkPolicy")["spec"]["ingress"] or [], [])
        self.assertNotIn("metrics", configuration(documents)["party"])
        self.assertEqual(of_kind(documents, "Service"), [])

    def test_name_servers_on_nodes(self) -> None:
        values = changed(example("guest"), "networkPolicy.dns.cidrs", ["169.254.20.10/32"])
        policies = of_kind(render(values), "NetworkPolicy")
        self.assertTrue(allows(policies, PARTY, "out", End("169.254.20.10"), 53, "UDP"))
        self.assertFalse(allows(policies, PARTY, "out", End("169.254.20.10"), 80))

    def test_without_policies(self) -> None:
        documents = render(changed(example("ray"), "networkPolicy.enabled", False))
        self.assertEqual(of_kind(documents, "NetworkPolicy"), [])


if __name__ == "__main__":
    unittest.main()
