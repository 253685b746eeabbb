//! Arguments that describe a matrix-vector product.

use ciphermill_bfv::{BfvError, ParameterSet};
use ciphermill_client::security::Security;
use ciphermill_hmvp::{Encryption, Request, Strategy};
use clap::{Args, ValueEnum};

use crate::error::CliError;

/// How a product is computed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StrategyArg {
    /// Algorithm of the CHAM paper: one product per row, results packed one by one
    Algorithm1,
    /// Entries in slots: one product and log2(n) rotations per N entries
    RotateAndSum,
    /// Entries in slots by diagonals, with baby steps and giant steps
    Diagonal,
    /// Many rows per plaintext, with packing before and after the products
    RowPacked,
}

impl From<StrategyArg> for Strategy {
    fn from(strategy: StrategyArg) -> Self {
        match strategy {
            StrategyArg::Algorithm1 => Strategy::Algorithm1,
            StrategyArg::RotateAndSum => Strategy::RotateAndSum,
            StrategyArg::Diagonal => Strategy::Diagonal,
            StrategyArg::RowPacked => Strategy::RowPacked,
        }
    }
}

/// The request for a product, from which the planner chooses parameters.
#[derive(Args, Clone, Debug)]
pub(crate) struct RequestArgs {
    /// Rows of the matrix; use 1 to 16384
    #[arg(long, value_name = "M")]
    rows: usize,
    /// Columns of the matrix; use 1 to 16384
    #[arg(long, value_name = "N")]
    cols: usize,
    /// Bits of the signed matrix entries; use 2 to 32
    #[arg(long, value_name = "BITS", default_value = "8")]
    matrix_bits: u32,
    /// Bits of the signed vector entries; use 2 to 32
    #[arg(long, value_name = "BITS", default_value = "8")]
    vector_bits: u32,
    /// Strategy [default: the planner's choice]
    #[arg(long, value_enum, value_name = "NAME")]
    strategy: Option<StrategyArg>,
    /// BFV parameter set; `ciphermill info` lists them [default: the planner's choice]
    #[arg(long, value_name = "NAME")]
    params: Option<String>,
    /// log2 of the largest acceptable probability that any entry of a product is wrong
    #[arg(long, value_name = "LOG2", default_value = "-64", allow_negative_numbers = true)]
    log2_failure: f64,
    /// Encrypt vectors under the public key
    #[arg(long)]
    public_key: bool,
}

impl RequestArgs {
    /// The request. `security` may accept a named set below 128 bits; the planner's own choices have at least as many.
    pub(crate) fn request(&self, security: Security) -> Result<Request, CliError> {
        if self.log2_failure.is_nan() || self.log2_failure > 0.0 {
            return Err(CliError::Usage(format!(
                "--log2-failure {} is not a log2 of a probability; use a number up to 0",
                self.log2_failure
            )));
        }
        let named = |name: &String| ParameterSet::named(name, security.bfv());
        Ok(Request {
            parameters: self.params.as_ref().map(named).transpose().map_err(BfvError::from)?,
            matrix_bits: self.matrix_bits,
            vector_bits: self.vector_bits,
            strategy: self.strategy.map(Strategy::from),
            log2_failure: self.log2_failure,
            encryption: if self.public_key { Encryption::Public } else { Encryption::Secret },
            ..Request::new(self.rows, self.cols)
        })
    }
}
