//! Large blobs pass through little memory, over a device that this process serves: both sides together.

mod support;

use ciphermill_device::SpaceLimits;
use ciphermill_middleware::{Middleware, MiddlewareConfig};
use support::{Host, memory, nvme::NvmeHost};

#[test]
fn a_blob_of_256_mib_goes_from_file_to_file_in_little_memory() {
    let host = NvmeHost::start(SpaceLimits::UNLIMITED);
    let middleware = Middleware::new(host.transport(), MiddlewareConfig::default()).unwrap();
    // A quarter of the blob: in addition to the memory of a device, pieces of 1 MiB in progress on both sides, and the
    // data that the volume gathers for a commit.
    memory::from_file_to_file(&middleware, 64 << 10);
}
