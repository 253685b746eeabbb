//! Replays the fuzzer's corpus and, from each seed, a fixed set of mutations.

mod invariants;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;

#[test]
fn nvme_pdu() {
    let accepted =
        ["icreq", "icresp", "command", "response_digest", "host_data_digests", "data_success", "r2t", "term"];
    replay::replay("nvme_pdu", invariants::nvme_pdu, &accepted);
}

#[test]
fn nvme_capsule() {
    replay::replay("nvme_capsule", invariants::nvme_capsule, &["connect", "connect_io"]);
}

#[test]
fn nvme_connection() {
    replay::replay("nvme_connection", invariants::nvme_connection, &["reads", "writes", "restarts", "failures"]);
}

#[test]
fn nvme_connection_where_the_namespace_panics() {
    let accepted = ["reads", "writes", "restarts", "failures"];
    replay::replay("nvme_connection", invariants::nvme_connection_with_panics, &accepted);
}
