//! `bench`: times operations in this process and checks every result.

mod hmvp;
mod modexp;
mod nvme;
mod paillier;
mod samples;
mod tfhe;

use ciphermill_math::EngineInfo;
use clap::Subcommand;
use serde::Serialize;

use crate::error::CliError;
use crate::machine::Machine;
use crate::output;

/// Time an operation and check its results
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Every result is checked: by decryption, or for modexp by an independent computation. Parameter sets below 128 bits \
of security are accepted, because benchmarks hold no data that matters. With one thread, the thread is pinned to a \
CPU.")]
pub(crate) struct Args {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Debug, Subcommand)]
enum Operation {
    /// Time a programmable bootstrap with its key switch
    #[command(after_help = "\
Example:
  $ ciphermill bench pbs --params MESSAGE_4_2M64 --threads 1 --samples 20")]
    Pbs(tfhe::PbsArgs),
    /// Time a key switch from the big to the small key
    #[command(after_help = "\
Example:
  $ ciphermill bench ks --params MESSAGE_4_2M64 --threads 1 --samples 20")]
    Ks(tfhe::Args),
    /// Time the generation of both keys of a server, seeded and discarded
    #[command(after_help = "\
Example:
  $ ciphermill bench keygen --params MESSAGE_4_2M64 --samples 3")]
    Keygen(tfhe::Args),
    Hmvp(hmvp::Args),
    Modexp(modexp::Args),
    Nvme(nvme::Args),
    Paillier(paillier::Args),
}

/// The knowledge about the time's independence of secrets. No variant is a measurement.
#[derive(Clone, Copy, Debug, Serialize)]
enum ConstantTime {
    /// The code has no branch and no address that depends on a secret. The compiled code is not verified.
    #[serde(rename = "by construction")]
    ByConstruction,
    /// The engine makes no such statement.
    #[serde(rename = "not claimed")]
    NotClaimed,
}

impl ConstantTime {
    fn of(engine: &EngineInfo) -> Self {
        if engine.constant_time { Self::ByConstruction } else { Self::NotClaimed }
    }
}

/// A bench record: the fields that all of the project's records have, and those of the operation.
#[derive(Serialize)]
struct Record<P: Serialize, E: Serialize> {
    schema: &'static str,
    case: String,
    params: P,
    /// The instruction set of an engine of the CPU; none for other engines.
    isa: Option<&'static str>,
    threads: usize,
    samples: usize,
    min_ns: u64,
    median_ns: u64,
    peak_rss_bytes: u64,
    correct: bool,
    kind: &'static str,
    machine: Machine,
    #[serde(flatten)]
    more: E,
}

impl<P: Serialize, E: Serialize> Record<P, E> {
    /// Shows the record; an error if a result was wrong.
    fn tell(&self, as_json: bool, wrong: usize) -> Result<(), CliError> {
        self.tell_as(as_json, wrong, &self.table())
    }

    /// As [`tell`](Self::tell), with a table of the caller's.
    fn tell_as(&self, as_json: bool, wrong: usize, table: &comfy_table::Table) -> Result<(), CliError> {
        let text = format!("{table}\nmeasured on {}", self.machine.cpu);
        output::result(as_json, self, &text)?;
        match wrong {
            0 => Ok(()),
            wrong => Err(CliError::WrongResults { wrong }),
        }
    }

    fn table(&self) -> comfy_table::Table {
        let mut table = output::table(["case", "isa", "threads", "samples", "min", "median", "peak memory", "correct"]);
        table.add_row([
            self.case.clone(),
            self.isa.unwrap_or("none").to_owned(),
            self.threads.to_string(),
            self.samples.to_string(),
            output::human_time(self.min_ns),
            output::human_time(self.median_ns),
            format!("{:.2} GB", self.peak_rss_bytes as f64 / 1e9),
            if self.correct { "yes" } else { "NO" }.to_owned(),
        ]);
        table
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.operation {
        Operation::Pbs(args) => tfhe::pbs(args),
        Operation::Ks(args) => tfhe::keyswitch(args),
        Operation::Keygen(args) => tfhe::keygen(args),
        Operation::Hmvp(args) => hmvp::run(args),
        Operation::Modexp(args) => modexp::run(args),
        Operation::Nvme(args) => nvme::run(args),
        Operation::Paillier(args) => paillier::run(args),
    }
}
