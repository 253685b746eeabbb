//! Linux end to end: Debian's kernel in QEMU, with nvme-cli, drives `ciphermill serve` over NVMe/TCP. It uses it as a plain
//! disk, then computes with it by `dd` alone, as the paper does; the test decrypts the objects that it reads back.
//!
//! The guest's side is in `scripts/linux-guest`, and `docs/interop.md` says how to run it by hand.

#![allow(unreachable_pub)]

mod guest;
mod job;
mod namespaces;
mod server;
#[path = "../support/mod.rs"]
mod support;

use std::time::Instant;

use guest::{Guest, Report};
use job::{Job, LAYOUT};
use namespaces::Many;
use server::Server;

const NQN: &str = "nqn.2026-01.org.example:linux-test";
const HOST_A: &str = "nqn.2026-01.org.example:host-a";
const HOST_B: &str = "nqn.2026-01.org.example:host-b";
const STRANGER: &str = "nqn.2026-01.org.example:stranger";

#[test]
fn a_stock_linux_kernel_computes_by_reading_and_writing_blocks() {
    let Some(guest) = Guest::find() else { return };
    let began = Instant::now();
    let job = Job::new(5, 3);
    let server = Server::start(&job.bench, "served", NQN, &[HOST_A, HOST_B], &[]);
    let many = Many::start(&job, HOST_A);
    let mut variables = vec![
        format!("PORT={}", server.port()),
        format!("NQN={NQN}"),
        format!("HOST_A={HOST_A}"),
        format!("HOST_B={HOST_B}"),
        format!("STRANGER={STRANGER}"),
        format!("BLOCKS={}", server.blocks()),
        "OBJECTS=1".to_owned(),
        format!("PORT_MANY={}", many.port()),
        format!("NQN_MANY={}", namespaces::NQN),
    ];
    variables.extend(LAYOUT.iter().map(|(name, block, _)| format!("{}={block}", name.to_uppercase())));
    let report = guest.run(&job.folder(), &variables);
    println!("{report}");
    report.assert_all_ok(&job.bench.path("served.log"));
    check(&job, &report);
    server.stop();
    many.assert_written_by_uuid(HOST_A);
    println!("{:.1} s in all", began.elapsed().as_secs_f64());
}

/// The object that the guest read decrypts to the product, whether the write of y or the read of x computed it.
fn check(job: &Job, report: &Report) {
    let (x, y) = job.operands;
    let record = job.record(report.data("record"));
    let product = report.data("product");
    job.assert_is_record_of(&record, product);
    assert_eq!(job.decrypt(product, record.size), x * y, "computed when y was written");
    let read = report.data("read");
    assert_eq!(job.decrypt(read, record.size), x * y, "computed when x was read");
}
