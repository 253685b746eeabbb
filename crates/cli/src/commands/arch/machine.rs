//! Machines and workloads, as all verbs of `arch` take them.

use std::path::{Path, PathBuf};

use ciphermill_arch::array::{CIPHERMILL, LANE, Machine, PAPER};
use ciphermill_arch::report::{DEFAULT_MODULUS, Operation, Workload};

use super::show::descriptions;
use crate::error::CliError;
use ciphermill_client::files;

/// Bytes of a description that are read: the models refuse longer ones by themselves.
const MAX_BYTES: u64 = 1 << 20;

/// The arrays that are built in.
pub(super) const ARRAYS: [(&str, &str); 3] = [("ciphermill", CIPHERMILL), ("paper", PAPER), ("lane", LANE)];

/// The text of a description: one of those that are built in, or a file's.
pub(super) fn description(name: &Path, built_in: &[(&str, &'static str)]) -> Result<String, CliError> {
    if let Some((_, text)) = built_in.iter().find(|(known, _)| Path::new(known) == name) {
        return Ok((*text).to_owned());
    }
    // As `arch machine` names it, which has kinds in some names.
    if let Some((_, text)) = descriptions().find(|(known, _)| Path::new(known) == name)
        && built_in.iter().any(|(_, one)| *one == text)
    {
        return Ok(text.to_owned());
    }
    let names = || built_in.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
    if !name.exists() {
        let what = format!("neither a file nor built in; the built-in descriptions are {}", names());
        return Err(CliError::content(name)(what));
    }
    let bytes = files::read(name, MAX_BYTES)?;
    let text = std::str::from_utf8(&bytes).map_err(CliError::content(name))?;
    Ok(text.to_owned())
}

/// An array.
#[derive(clap::Args, Debug)]
pub(super) struct MachineArg {
    /// The array: ciphermill, paper, lane, or a file like crates/arch/machines/ciphermill.toml
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

/// What the array does.
#[derive(clap::Args, Debug)]
pub(super) struct WorkloadArgs {
    /// Coefficients of a polynomial, a power of two, as 8192 or 2^13
    #[arg(long, value_name = "N", default_value = "8192", value_parser = size)]
    n: usize,
    /// What is done: ntt, intt, fft, ifft, product, key-switch
    #[arg(long, value_name = "TASK", default_value = "ntt")]
    task: Operation,
    /// The ring modulo X^N + 1 or X^N − 1; none of fft and ifft [default: negacyclic]
    #[arg(long, value_enum)]
    ring: Option<RingArg>,
    /// Digits of a key switch; how many fit depends on N and is in the table of docs/rvfhe.md, "What fits" [default: 3]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u16).range(1..=16))]
    digits: Option<u16>,
    /// A prime below 2^31 that is 1 modulo 2N; none of fft and ifft [default: 2013265921]
    #[arg(long, value_name = "M")]
    modulus: Option<u64>,
    /// Of the random inputs
    #[arg(long, value_name = "S", default_value = "1")]
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
            return Err(CliError::Usage("complex numbers have no --ring and no --modulus: leave them out".to_owned()));
        }
        if self.task != Operation::KeySwitch && self.digits.is_some() {
            return Err(CliError::Usage(
                "--digits is of key switches: leave it out, or take --task key-switch".to_owned(),
            ));
        }
        if self.task == Operation::KeySwitch && self.ring == Some(RingArg::Cyclic) {
            return Err(CliError::Usage("key switches are made modulo X^N + 1: leave --ring out".to_owned()));
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
