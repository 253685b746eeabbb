//! The co-simulated Paillier engine behind the seam: the conformance suite.

#[allow(dead_code, reason = "these tests draw no random numbers")]
mod support;

use ciphermill_bigint::conformance::{Extent, check};
use ciphermill_cosim::engines::RtlPaillier;

/// Every configuration that was built, at its full size.
#[test]
fn the_engine_conforms() {
    support::each("paillier_engine", |configuration| {
        let engine = RtlPaillier::new(configuration);
        let most = configuration.parameter("Bits") as u32;
        let extent = Extent { bits: vec![most], powers: 1, lengths: vec![2], limit: Some(most), ..Extent::default() };
        check(&engine, &extent);
        println!("{configuration}: {} cycles", engine.cycles());
    });
}
