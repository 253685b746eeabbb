//! `arch energy`: energy and area by a table of components.

use std::path::PathBuf;

use ciphermill_arch::report::{ENERGY_LITERATURE, ENERGY_PAPER, EnergyTable, Range, energy};

use super::descriptions::description;
use super::workload::{MachineArg, WorkloadArgs};
use crate::error::CliError;
use crate::output;

/// Estimate the energy of a workload on an array, as a range, from a table of components and actions
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch energy --n 8192 --table literature

The energy is the number of actions in a run times the energy per action in the table. It is analytic and only as \
accurate as the table; nothing was measured.")]
pub(super) struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    machine: MachineArg,
    /// Table: literature, paper, or a file like crates/arch/machines/energy-literature.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "literature")]
    table: PathBuf,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

/// A range of energies; empty for a component that the table lacks or the run does not use.
fn range(range: Range, digits: usize) -> String {
    if range.high > 0.0 { format!("{:.digits$} – {:.digits$}", range.low, range.high) } else { String::new() }
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = args.machine.machine()?;
    let text = description(&args.table, &[("literature", ENERGY_LITERATURE), ("paper", ENERGY_PAPER)])?;
    let costs = EnergyTable::from_toml(&text).map_err(CliError::content(&args.table))?;
    let both = energy(&machine, &args.workload.workload()?, &costs)?;
    let records: Vec<_> = both.iter().map(ciphermill_arch::report::Energy::record).collect();
    let mut table = output::table(["from and to", "component", "nJ", "mm²"]);
    for one in &both {
        for component in &one.components {
            table.add_row([
                one.level.to_owned(),
                component.component.clone(),
                range(component.energy_nj, 1),
                range(component.area_mm2, 2),
            ]);
        }
        let (cycles, in_flight, power) = (one.cycles, one.in_flight, range(one.power_mw, 0));
        table.add_row([
            one.level.to_owned(),
            format!("all, {cycles:.0} cycles, {in_flight} in flight, {power} mW"),
            range(one.energy_nj, 1),
            range(one.area_mm2, 2),
        ]);
    }
    let text = format!("{table}\nanalytic, on `{}`: {}", machine.name, costs.basis);
    output::result(args.json, &records, &text)
}
