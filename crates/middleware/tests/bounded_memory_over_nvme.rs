//! Large blobs pass through little memory, over a device that this process serves: both sides together.

mod support;

use ciphermill_device::SpaceLimits;
use ciphermill_middleware::{Middleware, MiddlewareConfig};
use support::{Host, memory, nvme::NvmeHost};

#[test]
fn a_blob_of_256_mib_goes_from_file_to_file_in_little_memory() {
    let host = NvmeHost::start(SpaceLimits::UNLIMITED);
    let middleware = Middleware::new(host.transport(), MiddlewareConfig::default()).unwrap();
    // The budgets add up to 68 MiB: caches of 32 and 16 MiB for the tables of the volume and the store, and five pieces of
    // 1 MiB in each of four places (client, target, the volume's queue, its current group). The allocator keeps some more.
    memory::from_file_to_file(&middleware, 90 << 10);
}
