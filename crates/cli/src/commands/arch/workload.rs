//! The options of an array and of its workload, shared by the verbs of `arch`.

use std::path::{Path, PathBuf};

use ciphermill_arch::array::Machine;
use ciphermill_arch::report::{DEFAULT_MODULUS, Operation, Workload};

use super::descriptions::{ARRAYS, description};
use crate::error::CliError;
use crate::inputs::within;

/// An array.
#[derive(clap::Args, Debug)]
pub(super) struct MachineArg {
    /// Array: ciphermill, paper, lane, or a file like crates/arch/machines/ciphermill.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "ciphermill")]
    machine: PathBuf,
}

/// Reads an array's description.
pub(super) fn array(name: &Path) -> Result<Machine, CliError> {
    let text = description(name, &ARRAYS)?;
    Machine::from_toml(&text).map_err(CliError::content(name))
}

impl MachineArg {
    pub(super) fn machine(&self) -> Result<Machine, CliError> {
        array(&self.machine)
    }
}

/// N, as 8192 or 2^13.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let number = match text.split_once('^') {
        Some(("2", exponent)) => exponent.parse().ok().and_then(|shift: u32| 1usize.checked_shl(shift)),
        _ => text.parse().ok(),
    };
    number.filter(|n| n.is_power_of_two()).ok_or_else(|| "a power of two is wanted, as 8192 or 2^13".to_owned())
}

/// The workload of an array.
#[derive(clap::Args, Debug)]
pub(super) struct WorkloadArgs {
    /// Coefficients of a polynomial: a power of two, as 8192 or 2^13
    #[arg(long, value_name = "N", default_value = "8192", value_parser = size)]
    n: usize,
    /// Operation: ntt, intt, fft, ifft, product, key-switch
    #[arg(long, value_name = "TASK", default_value = "ntt")]
    task: Operation,
    /// Ring: X^N + 1 (negacyclic) or X^N − 1 (cyclic); not used by fft and ifft [default: negacyclic]
    #[arg(long, value_enum)]
    ring: Option<RingArg>,
    /// Digits of a key switch; docs/rvfhe.md lists the limits by N [default: 3]
    #[arg(long, value_name = "D", value_parser = within::<u16>(1..=16))]
    digits: Option<u16>,
    /// Prime modulus below 2^31, 1 modulo 2N; not used by fft and ifft [default: 2013265921]
    #[arg(long, value_name = "Q")]
    modulus: Option<u64>,
    /// Seed of the random inputs
    #[arg(long, value_name = "SEED", default_value = "1")]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum RingArg {
    Negacyclic,
    Cyclic,
}

impl WorkloadArgs {
    pub(super) fn workload(&self) -> Result<Workload, CliError> {
        if self.task.is_complex() && (self.ring.is_some() || self.modulus.is_some()) {
            return Err(CliError::Usage("fft and ifft use neither --ring nor --modulus; leave them out".to_owned()));
        }
        if self.task != Operation::KeySwitch && self.digits.is_some() {
            return Err(CliError::Usage(
                "--digits applies to key switches only; leave it out, or use --task key-switch".to_owned(),
            ));
        }
        if self.task == Operation::KeySwitch && self.ring == Some(RingArg::Cyclic) {
            return Err(CliError::Usage("key switches use the ring X^N + 1 (negacyclic); leave --ring out".to_owned()));
        }
        Ok(Workload {
            operation: self.task,
            polynomial_size: self.n,
            modulus: self.modulus.unwrap_or(DEFAULT_MODULUS),
            cyclic: self.ring == Some(RingArg::Cyclic),
            digits: self.digits.unwrap_or(3).into(),
            seed: self.seed,
        })
    }
}
