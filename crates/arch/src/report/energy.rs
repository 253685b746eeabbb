//! Energy of a run: its action counts times the energies of an energy table, in the manner of Accelergy. The result is
//! an analytic range, and only as good as the table.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::energy_table::{EnergyTable, Per, Range};
use super::error::ReportError;
use super::run::{Line, line, steady};
use super::workload::Workload;
use crate::array::{Counts, Machine};
use crate::record::{Label, Record};

/// The share of one component in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentUse {
    /// The name of the component.
    pub component: String,
    /// The area of all instances, mm².
    pub area_mm2: Range,
    /// The energy per input, nJ.
    pub energy_nj: Range,
}

impl ComponentUse {
    /// The value in records.
    fn params(&self) -> Value {
        json!({ "component": self.component, "area_mm2": self.area_mm2, "energy_nj": self.energy_nj })
    }
}

/// The energy of one input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// Always analytic.
    pub label: Label,
    /// The machine's name.
    pub machine: String,
    /// The name of the energy table.
    pub table: String,
    /// The source of the table.
    pub basis: String,
    /// `scratchpad` or `dram`: the source of the inputs and the destination of the outputs.
    pub level: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// N.
    pub polynomial_size: usize,
    /// Inputs in flight in the run.
    pub in_flight: usize,
    /// Consecutive runs of the program.
    pub runs: usize,
    /// Cycles of one input.
    pub cycles: f64,
    /// The number of words for each action.
    pub actions: BTreeMap<&'static str, f64>,
    /// The components.
    pub components: Vec<ComponentUse>,
    /// The energy of all components, nJ.
    pub energy_nj: Range,
    /// The area of all components, mm²; 0 if the table has no areas.
    pub area_mm2: Range,
    /// The average power at the machine's clock, mW.
    pub power_mw: Range,
}

/// Words that cores read from their data and twiddle memories: all rows of a tile if it is read row by row; for
/// twiddles a factor and its companion per lane, or one pair for a broadcast.
fn memory_reads(counts: &Counts, lanes: u32) -> f64 {
    let own = counts.twiddle_loads - counts.twiddle_broadcasts;
    ((counts.rows_read + 2 * own) * u64::from(lanes) + 2 * counts.twiddle_broadcasts) as f64
}

/// Words per action, for one input.
fn actions(machine: &Machine, line: &Line, from_dram: bool) -> BTreeMap<&'static str, f64> {
    let inputs = (line.runs * line.in_flight) as f64;
    let each = |vectors: u64| vectors as f64 * f64::from(machine.core.lanes) / inputs;
    let counts = &line.counts;
    let loads = counts.row_loads + counts.scratchpad_loads;
    let sends = counts.own_copies + counts.remote_copies;
    let mut actions = BTreeMap::from([
        ("multiply", each(counts.butterflies + counts.products)),
        ("add", each(2 * counts.butterflies + counts.sums)),
        // A butterfly reads two vectors and a pair of factors.
        (
            "register-read",
            each(4 * counts.butterflies + 3 * counts.products + 2 * counts.sums + sends + counts.scratchpad_stores),
        ),
        (
            "register-write",
            each(2 * counts.butterflies + counts.products + counts.sums + loads + 2 * counts.twiddle_loads),
        ),
        ("memory-read", memory_reads(counts, machine.core.lanes) / inputs),
        ("memory-write", each(sends)),
        ("scratchpad-read", each(counts.scratchpad_loads)),
        ("scratchpad-write", each(counts.scratchpad_stores)),
        (
            "link-word",
            line.link_cycles as f64 * f64::from(machine.network.link_bytes.min(4 * machine.core.lanes)) / 4.0 / inputs,
        ),
    ]);
    if from_dram {
        let words = |bytes: u64| bytes as f64 / 4.0;
        actions.insert("dram-word", words(line.dram_bytes));
        // The halves of the scratchpad are filled and drained.
        *actions.entry("scratchpad-write").or_default() += words(line.dram_bytes_in);
        *actions.entry("scratchpad-read").or_default() += words(line.dram_bytes - line.dram_bytes_in);
    }
    actions
}

/// Energy and area of a workload in steady state, from the scratchpad and from DRAM.
///
/// # Errors
/// The errors of the run, and [`ReportError::ComplexEnergy`] for complex numbers, which no table covers.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::report::{ENERGY_PAPER, EnergyTable, Workload, energy};
///
/// let (machine, table) = (Machine::from_toml(CIPHERMILL)?, EnergyTable::from_toml(ENERGY_PAPER)?);
/// let reports = energy(&machine, &Workload::ntt(4096), &table)?;
/// assert!(!reports.is_empty() && reports.iter().all(|report| report.energy_nj.low < report.energy_nj.high));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn energy(machine: &Machine, workload: &Workload, table: &EnergyTable) -> Result<Vec<Energy>, ReportError> {
    if workload.operation.is_complex() {
        return Err(ReportError::ComplexEnergy);
    }
    let line = match steady(machine, workload, None)? {
        Some(line) => line,
        None => line(machine, workload, 1, Some(1))?,
    };
    let of = |level, cycles: f64| {
        let actions = actions(machine, &line, level == "dram");
        let nanoseconds = cycles / machine.clock_ghz;
        let components: Vec<ComponentUse> = table
            .component
            .iter()
            .map(|component| {
                let lanes = f64::from(machine.cores() * machine.core.lanes);
                let count = match component.per {
                    Per::Lane if component.name == "adder" => lanes * f64::from(machine.lane.adders),
                    Per::Lane => lanes,
                    Per::Core => f64::from(machine.cores()),
                    Per::Array => 1.0,
                };
                // Milliwatts times nanoseconds are picojoules.
                let mut picojoules = component.leakage_mw.times(count * nanoseconds);
                for (action, energy) in &component.action {
                    let words = actions.get(action.as_str()).copied().unwrap_or(0.0);
                    picojoules = picojoules.plus(energy.times(words));
                }
                ComponentUse {
                    component: component.name.clone(),
                    area_mm2: component.area_um2.times(count * 1e-6),
                    energy_nj: picojoules.times(1e-3),
                }
            })
            .collect();
        let sum = |of: fn(&ComponentUse) -> Range| components.iter().map(of).fold(Range::default(), Range::plus);
        let (energy_nj, area_mm2) = (sum(|one| one.energy_nj), sum(|one| one.area_mm2));
        Energy {
            label: Label::Analytic,
            machine: machine.name.clone(),
            table: table.name.clone(),
            basis: table.basis.clone(),
            level,
            operation: workload.operation.name(),
            polynomial_size: workload.polynomial_size,
            in_flight: line.in_flight,
            runs: line.runs,
            cycles,
            actions,
            components,
            energy_nj,
            area_mm2,
            power_mw: energy_nj.times(1e3 / nanoseconds),
        }
    };
    Ok(vec![of("scratchpad", line.cycles()), of("dram", line.dram_cycles(machine))])
}

impl Energy {
    /// The record `arch-energy/<machine>/<table>/<operation>/n<N>/<level>`. Ranges of areas, powers and energies are
    /// lists of the lower and the upper bound, also for components. `actions` are words per input. If the table has no
    /// areas, the total area is null and the area of each component is 0 to 0.
    pub fn record(&self) -> Record {
        let n = self.polynomial_size;
        let (machine, table, operation, level) = (&self.machine, &self.table, self.operation, self.level);
        let case = format!("arch-energy/{machine}/{table}/{operation}/n{n}/{level}");
        let mut record = Record::new(case, machine, self.label, self.cycles.round() as u64)
            .with("n", n)
            .with("energy_nj_low", self.energy_nj.low)
            .with("energy_nj_high", self.energy_nj.high)
            .with("area_mm2", (self.area_mm2.high > 0.0).then_some(self.area_mm2))
            .with("power_mw", self.power_mw)
            .with("in_flight", self.in_flight)
            .with("runs", self.runs)
            .with(
                "actions",
                self.actions
                    .iter()
                    .map(|(name, words)| ((*name).to_owned(), Value::from(*words)))
                    .collect::<Map<_, _>>(),
            )
            .with("components", self.components.iter().map(ComponentUse::params).collect::<Vec<_>>())
            .with("basis", self.basis.clone());
        record.cycles_steady = Some(self.cycles);
        record
    }
}

#[cfg(test)]
mod tests {
    use super::super::energy_table::{ACTIONS, ENERGY_LITERATURE, ENERGY_PAPER};
    use super::*;
    use crate::array::{CIPHERMILL, PAPER, Transposition};
    use crate::report::Operation;

    fn paper_at_2_13(text: &str) -> Vec<Energy> {
        let machine = Machine::from_toml(PAPER).unwrap();
        energy(&machine, &Workload::ntt(1 << 13), &EnergyTable::from_toml(text).unwrap()).unwrap()
    }

    #[test]
    fn words_are_those_of_the_transform() {
        let [near, far] = &paper_at_2_13(ENERGY_LITERATURE)[..] else { panic!() };
        let butterflies = f64::from(13 << 12);
        assert_eq!((near.actions["multiply"], near.actions["add"]), (butterflies, 2.0 * butterflies));
        assert_eq!((near.actions["scratchpad-read"], near.actions["scratchpad-write"]), (8192.0, 8192.0));
        assert!(!near.actions.contains_key("dram-word"));
        assert_eq!(far.actions["dram-word"], 2.0 * 8192.0);
        // By hand: the multipliers take 4.5 to 9.5 pJ per butterfly.
        let multiplier = &near.components[0];
        assert!((multiplier.energy_nj.low - butterflies * 4.5e-3).abs() < 1e-6);
        assert!((multiplier.energy_nj.high - butterflies * 9.5e-3).abs() < 1e-6);
        assert!(near.energy_nj.low < near.energy_nj.high && near.energy_nj.high < far.energy_nj.high);
        // This table has a component for every counted action.
        let table = EnergyTable::from_toml(ENERGY_LITERATURE).unwrap();
        let known: Vec<_> = table.component.iter().flat_map(|component| component.action.keys()).collect();
        assert!(ACTIONS.iter().all(|action| known.iter().any(|one| one == action)));
    }

    /// A broadcast reads one pair. Tiles that are read row by row read all of their rows.
    #[test]
    fn memories_are_read_as_often_as_they_are() {
        let counts =
            Counts { row_loads: 3, rows_read: 10, twiddle_loads: 7, twiddle_broadcasts: 5, ..Counts::default() };
        assert_eq!(memory_reads(&counts, 32), f64::from((10 + 2 * 2) * 32 + 2 * 5));
        let reads = |machine: &Machine| {
            let line = line(machine, &Workload::ntt(1 << 13), 1, Some(1)).unwrap();
            assert!(line.counts.twiddle_broadcasts > 0);
            (line.counts, actions(machine, &line, false)["memory-read"])
        };
        let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
        let (banked, words) = reads(&machine);
        assert_eq!(banked.rows_read, banked.row_loads);
        machine.memory.transposition = Transposition::Serial;
        let (serial, more) = reads(&machine);
        // The same number of loads reads more rows.
        assert!(serial.row_loads == banked.row_loads && serial.rows_read > banked.rows_read);
        assert_eq!(more - words, 32.0 * (serial.rows_read - banked.rows_read) as f64);
    }

    /// What the table of `arch energy` shows is in its records.
    #[test]
    fn records_have_what_the_table_shows() {
        for one in paper_at_2_13(ENERGY_PAPER) {
            let record = one.record();
            let params = serde_json::to_value(&record.params).unwrap();
            assert_eq!(params["area_mm2"], json!([one.area_mm2.low, one.area_mm2.high]));
            assert_eq!(params["power_mw"], json!([one.power_mw.low, one.power_mw.high]));
            assert_eq!((&params["in_flight"], &params["runs"]), (&json!(one.in_flight), &json!(one.runs)));
            assert!(one.in_flight > 1 && record.cycles_steady == Some(one.cycles));
            let words = |action: &str| params["actions"][action].as_f64();
            assert!(one.actions.iter().all(|(action, count)| words(action) == Some(*count)));
            // The components' ranges add up to those of the whole.
            let components = params["components"].as_array().unwrap();
            let sum =
                |field: &str, at: usize| components.iter().map(|one| one[field][at].as_f64().unwrap()).sum::<f64>();
            for (field, whole) in [("area_mm2", one.area_mm2), ("energy_nj", one.energy_nj)] {
                assert!(
                    (sum(field, 0) - whole.low).abs() < 1e-9 && (sum(field, 1) - whole.high).abs() < 1e-9,
                    "{field}"
                );
            }
        }
    }

    /// A key switch has more inputs than outputs. The vectors read from DRAM and written to it are counted as writes
    /// and reads of the scratchpad, whatever the DRAM's width.
    #[test]
    fn what_is_read_from_dram_is_written_to_the_scratchpad() {
        let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
        machine.dram.bytes_per_cycle = 3000;
        let workload = Workload { operation: Operation::KeySwitch, ..Workload::ntt(4096) };
        let table = EnergyTable::from_toml(ENERGY_LITERATURE).unwrap();
        let [near, far] = &energy(&machine, &workload, &table).unwrap()[..] else { panic!() };
        let more = |action: &str| (far.actions[action] - near.actions[action]) / 4096.0;
        assert_eq!((more("scratchpad-write"), more("scratchpad-read")), (3.0, 2.0));
        assert_eq!(far.actions["dram-word"], 5.0 * 4096.0);
    }

    /// What the comments of the paper's table say of its sums.
    #[test]
    fn the_paper_does_not_add_up() {
        let (lane, core, array) = (7.430 + 0.360, 47.93, 766.0);
        assert!((16.0 * 32.0 * lane / 1e3 - 3.99_f64).abs() < 0.01 && 16.0 * 32.0 * lane > 5.0 * array);
        assert!((16.0 * core - array).abs() < 1.0);
        // Table 4 in µm², of a core's 32 lanes: 0.129 mm², where Table 6 has 0.125.
        assert!(((123_160.23 + 5_917.23) / 1e6 - 0.129_f64).abs() < 1e-3);
        // The multiplier's parts: 86 less than their total.
        assert!((117_720.76 + 5_353.21 - 123_160.23 + 86.26_f64).abs() < 1e-6);
        let near = &paper_at_2_13(ENERGY_PAPER)[0];
        // With the tables' units for one lane each it is more than Table 6 has at all; for 32 lanes it is less.
        assert!(near.power_mw.low < 1486.0 && near.power_mw.high > 1486.0, "{:?}", near.power_mw);
        // Table 6: 6.29 mm².
        assert!((near.area_mm2.low - 6.29).abs() < 0.15, "{:?}", near.area_mm2);
    }

    #[test]
    fn tables_that_are_none_are_named() {
        let error =
            |from: &str, to: &str| EnergyTable::from_toml(&ENERGY_PAPER.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(
            error("multiply = [0.187, 5.983]", "multiply = [6.0, 5.983]")
                .contains("multiply of component `multiplier` is 6 to 5.983")
        );
        assert!(
            error("multiply = [0.187, 5.983]", "divide = [0.1, 0.2]")
                .contains("unknown action `divide`; use one of multiply, add")
        );
        assert!(error("[20.07, 40.14]", "[-1.0, 40.14]").contains("leakage_mw of component `core-without-lanes`"));
        assert!(error("[20.07, 40.14]", "[nan, nan]").contains("leakage_mw"));
        assert!(error("[20.07, 40.14]", "[0.0, inf]").contains("leakage_mw"));
        assert!(error("ciphermill-energy/1", "ciphermill-energy/2").contains("ciphermill-energy/2"));
        assert!(error("per = \"lane\"", "per = \"row\"").contains("cannot be read"));
        assert!(EnergyTable::from_toml(&"#".repeat(1 << 17)).is_err());
        let fft = Workload { operation: Operation::Fft, ..Workload::ntt(4096) };
        let table = EnergyTable::from_toml(ENERGY_PAPER).unwrap();
        assert!(matches!(
            energy(&Machine::from_toml(CIPHERMILL).unwrap(), &fft, &table),
            Err(ReportError::ComplexEnergy)
        ));
    }
}
