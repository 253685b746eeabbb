//! `arch ablate`: the gain of each of the paper's ideas.

use std::path::PathBuf;

use ciphermill_arch::report::{
    ABLATION_IN_FLIGHT, FFT_BUTTERFLIES, FFT_SIZES, FftExperiment, Operation, PAPER_SIZES, SizeAblation, ablate,
    fft_experiments,
};

use super::workload::{array, size};
use super::{all_correct, number};
use crate::error::CliError;
use crate::fault::judged;
use crate::inputs::within;
use crate::output;

/// Reproduce the ablation of the RVFHE paper: a base with division, +ISA, +reshuffle, +dataflow, per lane
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch ablate --n 2^13

The paper does not define its stages. The definition used here was chosen with knowledge of the paper's figures \
(docs/arch.md). With --task fft there is no base stage, and complex butterflies with other intervals and latencies \
are tried instead. The cycles of the base are those of one scalar core; gains are per lane.")]
pub(super) struct Args {
    /// Sizes, separated by commas [default: 2^10 to 2^14; for fft 2^12 to 2^14]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = size)]
    n: Vec<usize>,
    /// Transform
    #[arg(long, value_enum, default_value = "ntt")]
    task: Task,
    /// Array: ciphermill, paper, lane, or a file like crates/arch/machines/paper.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "paper")]
    machine: PathBuf,
    /// Inputs processed concurrently; halved until they fit
    #[arg(long, value_name = "K", default_value_t = ABLATION_IN_FLIGHT as u16, value_parser = within::<u16>(1..=8))]
    in_flight: u16,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Task {
    Ntt,
    Fft,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = array(&args.machine)?;
    let (operation, default) = match args.task {
        Task::Ntt => (Operation::Ntt, &PAPER_SIZES[..]),
        Task::Fft => (Operation::Fft, &FFT_SIZES[..]),
    };
    let sizes = if args.n.is_empty() { default } else { &args.n[..] };
    let ablation = ablate(&machine, operation, sizes, args.in_flight.into())?;
    if let Some(SizeAblation { error: Some(why), .. }) = ablation.sizes.first()
        && ablation.sizes.iter().all(|size| size.stages.is_empty())
    {
        return Err(CliError::NothingRan { why: why.clone() });
    }
    let wrong =
        ablation.sizes.iter().flat_map(|size| &size.stages).filter(|one| !judged(one.correct != Some(false))).count();
    let experiments = match args.task {
        Task::Ntt => Vec::new(),
        Task::Fft => fft_experiments(&machine, sizes, &FFT_BUTTERFLIES)?,
    };
    if args.json {
        let mut records = ablation.records();
        records.extend(experiments.iter().flat_map(FftExperiment::records));
        output::json(&records)?;
        return all_correct(wrong);
    }
    let mut table = output::table(["N", "stage", "cycles", "per butterfly and lane", "gain", "correct"]);
    let mut notes = String::new();
    for size in &ablation.sizes {
        let n = format!("2^{}", size.polynomial_size.ilog2());
        for stage in &size.stages {
            table.add_row([
                n.clone(),
                stage.stage.to_owned(),
                format!("{:.1}", stage.cycles),
                format!("{:.2}", stage.cycles_per_butterfly),
                number(stage.step, 2),
                stage.correct.map_or("", |correct| if correct { "yes" } else { "NO" }).to_owned(),
            ]);
        }
        if args.task == Task::Ntt && size.error.is_none() && size.single_core.is_empty() {
            notes += &format!("{n}: no base, as the scalar core's programs are made for 2^14 at most\n");
        }
        if let Some(error) = &size.error {
            notes += &format!("{n}: {error}\n");
        }
        for single in &size.single_core {
            let (program, gain) = (single.base.program, single.speedup);
            notes += &format!("{n}: {gain:.0} times one scalar core that runs `{program}`\n");
        }
    }
    notes += &match ablation.average_total {
        Some(total) => {
            let steps: Vec<String> = ablation.average_steps.iter().map(|step| format!("{step:.2}")).collect();
            let steps = steps.join(", ");
            format!("average gains {steps}; all together {total:.1} on `{}`, simulated", machine.name)
        }
        None => "no size was run to its last stage".to_owned(),
    };
    for one in &experiments {
        let steps: Vec<String> = one.steps.iter().map(|step| format!("{step:.2}")).collect();
        let (interval, latency) = (one.interval, one.latency);
        notes += &format!(
            "\na complex butterfly every {interval} cycles, {latency} long: {}; together {}",
            steps.join(", "),
            number(one.total, 2)
        );
    }
    output::line(&format!("{table}\n{notes}"))?;
    all_correct(wrong)
}
