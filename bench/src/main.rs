//! Ciphermill and its peers, side by side: same inputs, same work, alternately in one process on pinned cores, results compared.
//! docs/bench.md says what is timed.

mod cases;
mod harness;
mod machine;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};

use crate::cases::Settings;
use crate::harness::{Clock, Effort};
use crate::machine::{Machine, Pools, said_by};
use crate::report::Report;

/// Anything that ends the run.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measure Ciphermill and its peers side by side.
#[derive(Parser, Debug)]
#[command(
    version,
    after_help = "\
Example:
  $ ciphermill-bench --cases ntt,fft --only n4096 --quick

Exits with 1 if any two results differ."
)]
struct Arguments {
    /// Families of cases
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ntt,fft,pbs,ks,keygen,table,hmvp,modexp,paillier")]
    cases: Vec<Family>,
    /// Take only cases whose name contains this (ntt, fft, table, hmvp, modexp and paillier)
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Few samples: to see that everything works, not to quote
    #[arg(long)]
    quick: bool,
    /// Parameter set of pbs, ks and keygen
    #[arg(long, value_name = "NAME", default_value = "NVME_TFHE_PAPER")]
    params: String,
    /// Read the CPU time of this process instead of the wall clock, for work on one thread on a busy machine
    #[arg(long)]
    cpu_time: bool,
    /// Write the rows here
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Negacyclic number-theoretic transforms
    Ntt,
    /// f64 transforms of torus polynomials
    Fft,
    /// Programmable bootstraps
    Pbs,
    /// Key switches
    Ks,
    /// Generation of a server's keys
    Keygen,
    /// Exact functions of words
    Table,
    /// Encrypted matrix-vector products
    Hmvp,
    /// Modular exponentiations and multiplications of big integers
    Modexp,
    /// Paillier's encryption
    Paillier,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ciphermill-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all results agreed.
fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let (begun, started) = (Instant::now(), said_by("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]));
    let machine = Machine::this();
    let clock = if arguments.cpu_time { Clock::Process } else { Clock::Wall };
    let mut pools = Pools::new()?;
    if clock == Clock::Process {
        // Their times would add up.
        pools.two = None;
    }
    let settings = Settings {
        only: &arguments.only,
        quick: arguments.quick,
        params: &arguments.params,
        cpu: &machine.cpu,
        clock,
        isas: cases::isas()?,
        #[cfg(feature = "integers")]
        paths: cases::paths()?,
        kernels: match arguments.quick {
            true => Effort { rounds: 5, least_rounds: 2, budget: Duration::from_millis(50), clock },
            false => Effort { rounds: 400, least_rounds: 60, budget: Duration::from_millis(400), clock },
        },
    };
    let mut report = Report::default();
    for family in Family::value_variants() {
        if !arguments.cases.contains(family) {
            continue;
        }
        match family {
            // In the pool of one thread everything runs on the pinned core.
            Family::Ntt => pools.one.install(|| cases::ntt::run(&settings, &mut report))?,
            Family::Fft => pools.one.install(|| cases::fft::run(&settings, &mut report))?,
            Family::Pbs => cases::pbs::run(&settings, &pools, &mut report)?,
            Family::Ks => cases::ks::run(&settings, &pools, &mut report)?,
            Family::Keygen => cases::keygen::run(&settings, &pools, &mut report)?,
            Family::Table => cases::table::run(&settings, &pools, &mut report)?,
            Family::Hmvp => cases::hmvp::run(&settings, &pools, &mut report)?,
            #[cfg(feature = "integers")]
            Family::Modexp => pools.one.install(|| cases::modexp::run(&settings, &mut report))?,
            #[cfg(feature = "integers")]
            Family::Paillier => pools.one.install(|| cases::paillier::run(&settings, &mut report))?,
            #[cfg(not(feature = "integers"))]
            Family::Modexp | Family::Paillier => return Err("built without the feature `integers`".into()),
        }
    }
    for table in report.tables() {
        println!("{table}");
    }
    let read = if clock == Clock::Wall { "Times" } else { "CPU times" };
    println!("{read} are minima; ratio = peer ÷ ours, above 1 where ours is faster. {}", machine.cpu);
    for note in &report.notes {
        println!("- {note}");
    }
    if let Some(path) = &arguments.output {
        std::fs::write(path, report.to_json(&machine, clock, &started, begun.elapsed().as_secs())?)?;
        println!("Written: {}", path.display());
    }
    let wrong: Vec<_> = report.rows.iter().filter(|row| !row.correct).collect();
    for row in &wrong {
        eprintln!("ciphermill-bench: results differ: {}, {}, {}", row.case, row.isa, row.peer);
    }
    Ok(wrong.is_empty())
}
