//! `arch roofline`: the ceilings of an array, or of platforms for products, and the runs below them.

use std::path::PathBuf;

use ciphermill_arch::pipeline::{CHAM_ROOFLINE, Job, Kernel, RooflineMachine, roofline};
use ciphermill_arch::report::{Operation, Workload, array_roofline, default_workloads};

use super::all_correct;
use super::descriptions::description;
use super::pipeline::pipeline_machine;
use super::workload::{array, size};
use crate::error::CliError;
use crate::fault::judged;
use crate::output;

/// Print the roofline of an array with its runs, or of encrypted matrix-vector products on platforms
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch roofline --machine paper

The points of an array are simulated. Points from and to DRAM are analytic, on top of the simulated cycles; the \
attainable rate is that of the busiest component. With --of hmvp, all figures are analytic and an operation is a \
modular multiplication.")]
pub(super) struct Args {
    /// Subject: an array, or products on the macro-pipeline
    #[arg(long, value_enum, default_value = "array")]
    of: Of,
    /// Array: ciphermill, paper, lane, or a file; for products: cham-paper, cham-ciphermill, or a file [default: ciphermill, for products cham-paper]
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<PathBuf>,
    /// Platforms for products: cham, or a file like crates/arch/machines/cham-roofline.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "cham")]
    platforms: PathBuf,
    /// Sizes of an array's workloads, separated by commas, as 2^12,2^13 [default: 2^12 to 2^16; for products and key switches 2^12 to 2^13]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = size)]
    n: Vec<usize>,
    /// Operation of an array: ntt, intt, fft, ifft, product, key-switch [default: ntt, product and key-switch; with --n ntt]
    #[arg(long, value_name = "TASK")]
    task: Option<Operation>,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The requested workloads, or the default ones.
    fn workloads(&self) -> Vec<Workload> {
        let Some(operation) = self.task.or((!self.n.is_empty()).then_some(Operation::Ntt)) else {
            return default_workloads();
        };
        let most = if matches!(operation, Operation::Product | Operation::KeySwitch) { 13 } else { 16 };
        let sizes = if self.n.is_empty() { (12..=most).map(|log| 1 << log).collect() } else { self.n.clone() };
        sizes.iter().map(|n| Workload { operation, ..Workload::ntt(*n) }).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Of {
    Array,
    Hmvp,
}

/// Rows of the products, of 256 columns each.
const ROWS: [u64; 3] = [64, 1024, 2048];

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = |default: &str| args.machine.clone().unwrap_or_else(|| default.into());
    if args.of == Of::Hmvp && (args.task.is_some() || !args.n.is_empty()) {
        return Err(CliError::Usage("--n and --task are of arrays: leave them out with --of hmvp".to_owned()));
    }
    match args.of {
        Of::Array => of_array(&machine("ciphermill"), args),
        Of::Hmvp => of_products(&machine("cham-paper"), args),
    }
}

fn of_array(name: &std::path::Path, args: &Args) -> Result<(), CliError> {
    let roofline = array_roofline(&array(name)?, &args.workloads())?;
    if let Some((workload, why)) = roofline.left_out.first()
        && roofline.points.is_empty()
    {
        return Err(CliError::NothingRan { why: format!("{workload}: {why}") });
    }
    let wrong = roofline.points.iter().filter(|point| !judged(point.correct)).count();
    let mut table = output::table([
        "task",
        "N",
        "from and to",
        "butterflies/B",
        "attainable",
        "reached",
        "cycles",
        "bound by",
        "of peak",
    ]);
    for point in &roofline.points {
        table.add_row([
            point.operation.to_owned(),
            format!("2^{}", point.polynomial_size.ilog2()),
            point.level.to_owned(),
            format!("{:.3}", point.intensity),
            format!("{:.1}", point.attainable),
            format!("{:.1}", point.reached),
            format!("{:.1}", point.cycles),
            point.bound.to_owned(),
            format!("{:.1} %", 100.0 * point.of_peak),
        ]);
    }
    let mut text = format!(
        "{table}\n`{}`, butterflies per cycle; points simulated, from and to dram analytic; ceilings analytic:",
        roofline.machine
    );
    for ceiling in &roofline.ceilings {
        let flat = ceiling.butterflies_per_cycle.map(|rate| format!("{rate} butterflies"));
        let slanted = ceiling.bytes_per_cycle.map(|rate| format!("{rate} bytes"));
        text += &format!(" {} {};", ceiling.name, flat.or(slanted).unwrap_or_default());
    }
    text.pop();
    for (workload, error) in &roofline.left_out {
        text += &format!("\n{workload}: {error}");
    }
    output::result(args.json, &roofline.records(), &text)?;
    all_correct(wrong)
}

fn of_products(name: &std::path::Path, args: &Args) -> Result<(), CliError> {
    let machine = pipeline_machine(name)?;
    let text = description(&args.platforms, &[("cham", CHAM_ROOFLINE)])?;
    let platforms = RooflineMachine::from_toml(&text).map_err(CliError::content(&args.platforms))?;
    let jobs = ROWS.map(|rows| Job { rows, columns: 256 });
    let roof = roofline(&platforms, &machine.ring(), machine.body(), &jobs)?;
    let mut table =
        output::table(["platform", "kernel", "multiplications", "bytes", "per byte", "attainable", "time", "bound by"]);
    for point in &roof.points {
        table.add_row([
            point.platform.clone(),
            match point.kernel {
                Kernel::Ntt => "transform".to_owned(),
                Kernel::KeySwitch => "key switch".to_owned(),
                Kernel::Hmvp(Job { rows, columns }) => format!("product {rows} × {columns}"),
            },
            point.multiplications.to_string(),
            point.bytes.to_string(),
            format!("{:.2}", point.intensity),
            format!("{:.1} G/s", point.attainable / 1e9),
            output::human_time((point.seconds * 1e9) as u64),
            format!("{:?}", point.bound).to_lowercase(),
        ]);
    }
    output::result(args.json, &roof.records(), &format!("{table}\nanalytic; the ring of `{}`", machine.name()))
}
