"""The meaning of NetworkPolicies, as far as the chart uses them."""

from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class End:
    """One end of a connection: an address outside of the cluster, or a Pod of a namespace."""

    address: str | None = None
    namespace: str | None = None
    labels: dict[str, str] = field(default_factory=dict)


def selects(selector: Json, labels: dict[str, str]) -> bool:
    if set(selector) - {"matchLabels"}:
        raise AssertionError(f"a selector with {sorted(selector)}; this module knows matchLabels only")
    return selector.get("matchLabels", {}).items() <= labels.items()


def names(peer: Json, end: End, home: str) -> bool:
    """Whether an entry of `from` or `to` names an end. `home` is the namespace of the policy."""
    if unknown := set(peer) - {"ipBlock", "namespaceSelector", "podSelector"}:
        raise AssertionError(f"a peer with {sorted(unknown)}")
    if "ipBlock" in peer:
        if set(peer) != {"ipBlock"} or set(peer["ipBlock"]) != {"cidr"}:
            raise AssertionError(f"a block of addresses with {peer}; this module knows cidr only")
        network = ip_network(peer["ipBlock"]["cidr"])
        return end.address is not None and ip_address(end.address) in network
    if end.namespace is None:
        return False
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": end.namespace}):
            return False
    elif end.namespace != home:
        return False
    return selects(peer.get("podSelector", {}), end.labels)


def allows(
    policies: list[Json], pod: dict[str, str], direction: str, end: End, port: int, protocol: str = "TCP"
) -> bool:
    """Whether policies let a Pod with these labels receive from, or send to, an end at a port."""
    word, key = {"in": ("Ingress", "from"), "out": ("Egress", "to")}[direction]
    mine = [policy for policy in policies if selects(policy["spec"]["podSelector"], pod)]
    mine = [policy for policy in mine if word in policy["spec"]["policyTypes"]]
    if not mine:
        return True
    return any(
        matches(rule, key, end, port, protocol, policy["metadata"].get("namespace", "party"))
        for policy in mine
        for rule in policy["spec"].get(word.lower(), [])
    )


def matches(rule: Json, key: str, end: End, port: int, protocol: str, home: str) -> bool:
    # Kubernetes takes a missing list as "all".
    named = key not in rule or any(names(peer, end, home) for peer in rule[key])
    ports = rule.get("ports")
    return named and (ports is None or any((p["port"], p["protocol"]) == (port, protocol) for p in ports))
