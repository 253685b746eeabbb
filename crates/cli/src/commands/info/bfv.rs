//! The BFV parameter sets in the report, with both figures of their security.

use ciphermill_bfv::BfvError;
use ciphermill_bfv::parameters::{ParameterSet, SET_NAMES, SecurityPolicy};
use comfy_table::Table;
use serde::Serialize;

use crate::error::CliError;
use crate::output;

/// One set.
#[derive(Serialize)]
pub(super) struct SetReport {
    name: &'static str,
    polynomial_size: usize,
    ciphertext_primes: usize,
    special_primes: usize,
    log2_modulus: f64,
    plaintext_modulus: u64,
    security_bits: f64,
    security_source: &'static str,
    /// The level by the homomorphic-encryption standard of 2018; none below 128 bits.
    standard_bits: Option<u32>,
}

impl SetReport {
    /// All named sets.
    pub(super) fn all() -> Result<Vec<Self>, CliError> {
        SET_NAMES.iter().map(|name| Self::of(name)).collect()
    }

    fn of(name: &'static str) -> Result<Self, CliError> {
        // Listing a set is not using it.
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let set = ParameterSet::named(name, policy).map_err(BfvError::from)?;
        Ok(Self {
            name,
            polynomial_size: set.polynomial_size.get(),
            ciphertext_primes: set.ciphertext_moduli.len(),
            special_primes: set.special_moduli.len(),
            log2_modulus: set.chain_bits(),
            plaintext_modulus: set.plaintext_modulus,
            security_bits: set.security().bits,
            security_source: set.security().source,
            standard_bits: set.standard_level().map(|level| level.bits()),
        })
    }
}

/// The table of the sets, and the meaning of its columns.
pub(super) fn text(sets: &[SetReport]) -> String {
    let mut table: Table =
        output::table(["BFV parameter set", "N", "primes", "log2 QP", "t", "security", "standard of 2018"]);
    for set in sets {
        table.add_row([
            set.name.to_owned(),
            set.polynomial_size.to_string(),
            format!("{} + {}", set.ciphertext_primes, set.special_primes),
            format!("{:.1}", set.log2_modulus),
            set.plaintext_modulus.to_string(),
            format!("{:.1}", set.security_bits),
            set.standard_bits.map_or("below 128".to_owned(), |bits| bits.to_string()),
        ]);
    }
    let mut sources: Vec<_> = sets.iter().map(|set| set.security_source).collect();
    sources.sort_unstable();
    sources.dedup();
    format!(
        "{table}\nsecurity: in bits; sets below 128 need --insecure-params; the figures are: {}\n\
         standard of 2018: the highest level whose bound the modulus keeps; for comparison",
        sources.join("; ")
    )
}
