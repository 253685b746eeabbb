//! Arguments of the verbs on Paillier's scheme.

use std::path::PathBuf;

use ciphermill_client::numbers;
use clap::Args;
use num_bigint::BigInt;

use crate::error::CliError;

/// Integers in a file or in the argument itself.
#[derive(Args, Clone, Debug)]
#[group(id = "integers", required = true, multiple = false)]
pub(crate) struct IntegersArgs {
    /// Integers: a text file, or a .npy array
    #[arg(long, value_name = "FILE", group = "integers")]
    values: Option<PathBuf>,
    /// Integers, separated by commas
    #[arg(long, value_name = "M,…", value_delimiter = ',', allow_hyphen_values = true, group = "integers")]
    value: Vec<BigInt>,
}

impl IntegersArgs {
    pub(crate) fn read(&self) -> Result<Vec<BigInt>, CliError> {
        match &self.values {
            Some(path) => Ok(numbers::read(path)?.entries),
            None => Ok(self.value.clone()),
        }
    }
}
