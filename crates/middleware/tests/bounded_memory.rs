//! Large blobs pass through little memory, over a device of this process.

mod support;

use ciphermill_device::SpaceLimits;
use ciphermill_middleware::Middleware;
use support::{EmbeddedHost, Host, memory};

#[test]
fn a_blob_of_256_mib_goes_from_file_to_file_in_little_memory() {
    let host = EmbeddedHost::start(SpaceLimits::UNLIMITED);
    let middleware = Middleware::embedded(host.space()).unwrap();
    // An eighth of the blob, for one chunk on each of a few layers and the allocator's slack.
    memory::from_file_to_file(&middleware, 32 << 10);
}
