//! The roofline of an array: the ceilings of its units, scratchpad and DRAM, and the rates of runs.
//!
//! An operation is a butterfly. The traffic of a point is that of the level with its data: the scratchpad, or the DRAM.
//! Ceilings depend on the machine alone. The attainable rate of a point is the limit of the busiest component for its
//! program, which contains more than butterflies: products, copies, instruction fetches, messages to remote slices.

use serde::Serialize;

use super::error::ReportError;
use super::run::{Line, line, steady};
use super::workload::{Operation, Workload};
use crate::array::{Component, Machine, Port};
use crate::record::{Label, Record};

/// A ceiling.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// `adders`, `multipliers`, `scratchpad` or `dram`.
    pub name: &'static str,
    /// Butterflies per cycle, for a horizontal ceiling.
    pub butterflies_per_cycle: Option<f64>,
    /// Bytes per cycle, for a sloped ceiling.
    pub bytes_per_cycle: Option<f64>,
}

/// A run below the ceilings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayPoint {
    /// The operation, such as `ntt`.
    pub operation: &'static str,
    /// N.
    pub polynomial_size: usize,
    /// `scratchpad` or `dram`: the source of the inputs and the destination of the outputs.
    pub level: &'static str,
    /// Butterflies per byte of that level.
    pub intensity: f64,
    /// The attainable butterflies per cycle, by the busiest component or the DRAM; analytic.
    pub attainable: f64,
    /// The reached butterflies per cycle: simulated; from and to DRAM analytic, over the simulated computation.
    pub reached: f64,
    /// Cycles per input.
    pub cycles: f64,
    /// The limit: a component such as `multipliers`, or `dram`.
    pub bound: &'static str,
    /// The reached share of the horizontal ceiling, 0 to 1.
    pub of_peak: f64,
    /// The kind of the cycles.
    pub label: Label,
    /// Whether all values agree with the golden model.
    pub correct: bool,
}

/// Ceilings and points of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayRoofline {
    /// The machine's name.
    pub machine: String,
    /// The lowest horizontal ceiling and the sloped ones; analytic.
    pub ceilings: Vec<Ceiling>,
    /// The points, size by size, from the scratchpad and from DRAM.
    pub points: Vec<ArrayPoint>,
    /// Workloads that do not fit, with the error.
    pub left_out: Vec<(String, String)>,
}

/// Runs the workloads in steady state, from the scratchpad and from DRAM.
///
/// # Errors
/// The errors of a workload that does not run. A workload that does not fit is left out.
///
/// # Example
/// ```
/// use ciphermill_arch::array::{CIPHERMILL, Machine};
/// use ciphermill_arch::report::{Workload, array_roofline};
///
/// let roofline = array_roofline(&Machine::from_toml(CIPHERMILL)?, &[Workload::ntt(4096)])?;
/// assert!(roofline.left_out.is_empty(), "the workload fits the machine");
/// assert!(roofline.points.iter().all(|point| point.correct));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn array_roofline(machine: &Machine, workloads: &[Workload]) -> Result<ArrayRoofline, ReportError> {
    let lanes = f64::from(machine.cores() * machine.core.lanes);
    // A butterfly has two sums and one product.
    let (adders, multipliers) = (lanes * f64::from(machine.lane.adders) / 2.0, lanes);
    let flat = adders.min(multipliers);
    let name = if adders < multipliers { "adders" } else { "multipliers" };
    let ceilings = vec![
        Ceiling { name, butterflies_per_cycle: Some(flat), bytes_per_cycle: None },
        Ceiling { name: "scratchpad", butterflies_per_cycle: None, bytes_per_cycle: Some(scratchpad(machine)) },
        Ceiling {
            name: "dram",
            butterflies_per_cycle: None,
            bytes_per_cycle: Some(machine.dram.bytes_per_cycle.into()),
        },
    ];
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for workload in workloads {
        // The halves of the scratchpad alternate; each transfer belongs to one run of the program.
        let best = match steady(machine, workload, None) {
            Err(error @ ReportError::DoesNotFit { .. }) => {
                left_out.push((workload.to_string(), error.to_string()));
                continue;
            }
            Ok(best) => best,
            Err(error) => return Err(error),
        };
        let single = line(machine, workload, 1, Some(1))?;
        let best = best.as_ref().unwrap_or(&single);
        let flat =
            if workload.operation.is_complex() { lanes / f64::from(machine.lane.complex_interval) } else { flat };
        points.push(point(workload, best, "scratchpad", best.cycles(), flat, best.bounds.busiest()));
        let transfer = best.dram_bytes as f64 / f64::from(machine.dram.bytes_per_cycle);
        // No rate exceeds that of the transfers; an average over few batches may omit some of them.
        let cycles = best.dram_cycles(machine).min(single.dram_cycles(machine));
        points.push(point(workload, best, "dram", cycles, flat, best.bounds.busiest()).with_transfer(transfer));
    }
    Ok(ArrayRoofline { machine: machine.name.clone(), ceilings, points, left_out })
}

/// The maximum traffic of the scratchpad in bytes per cycle. A slice reads one vector and stores one for other cores,
/// in addition to the ports of the local core. No core exceeds its ports.
fn scratchpad(machine: &Machine) -> f64 {
    let lane = &machine.lane;
    let cores = f64::from(machine.cores());
    let slices = match machine.scratchpad.slices.len() {
        0 => cores,
        many => many as f64,
    };
    let stores = f64::from(if lane.copies == Port::Own { lane.copy_ports } else { 1 });
    let loads = f64::from(lane.arrival_ports);
    let read = (cores * loads).min(slices * (loads + 1.0));
    let stored = (cores * stores).min(slices * (stores + 1.0 / f64::from(machine.flits())));
    f64::from(4 * machine.core.lanes) * (read + stored)
}

fn point(
    workload: &Workload,
    line: &Line,
    level: &'static str,
    cycles: f64,
    flat: f64,
    (busiest, most): (Component, f64),
) -> ArrayPoint {
    let butterflies = line.butterflies as f64;
    ArrayPoint {
        operation: workload.operation.name(),
        polynomial_size: workload.polynomial_size,
        level,
        // Inputs and outputs cross the scratchpad's ports once each, and the DRAM's too.
        intensity: butterflies / line.dram_bytes as f64,
        attainable: butterflies / most,
        reached: butterflies / cycles,
        cycles,
        bound: busiest.name(),
        of_peak: butterflies / cycles / flat,
        label: Label::Simulated,
        correct: line.correct,
    }
}

impl ArrayPoint {
    /// The point if its transfers take `transfer` cycles of the DRAM.
    fn with_transfer(mut self, transfer: f64) -> Self {
        let by_transfer = self.reached * self.cycles / transfer;
        if by_transfer < self.attainable {
            (self.attainable, self.bound) = (by_transfer, "dram");
        }
        self.label = Label::Analytic;
        self
    }
}

/// Transforms of 2^12 to 2^16, products and key switches of 2^12 and 2^13.
pub fn default_workloads() -> Vec<Workload> {
    let transforms = (12..=16).map(|log| Workload::ntt(1 << log));
    let others = [Operation::Product, Operation::KeySwitch]
        .into_iter()
        .flat_map(|operation| (12..=13).map(move |log| Workload { operation, ..Workload::ntt(1 << log) }));
    transforms.chain(others).collect()
}

impl ArrayRoofline {
    /// A record for each point, `arch-array-roofline/<machine>/<operation>/n<N>/<level>`.
    pub fn records(&self) -> Vec<Record> {
        let record = |point: &ArrayPoint| {
            let n = point.polynomial_size;
            let case = format!("arch-array-roofline/{}/{}/n{n}/{}", self.machine, point.operation, point.level);
            let mut record = Record::new(case, &self.machine, point.label, point.cycles.ceil() as u64)
                .with("n", n)
                .with("butterflies_per_byte", point.intensity)
                .with("butterflies_per_cycle", point.reached)
                .with("attainable", point.attainable)
                .with("of_peak", point.of_peak)
                .with("busiest", point.bound);
            record.cycles_steady = Some(point.cycles);
            record.utilization = Some(point.reached / point.attainable);
            record.correct = Some(point.correct);
            record
        };
        self.points.iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{CIPHERMILL, LANE, PAPER};

    #[test]
    fn points_lie_under_their_ceilings() {
        for (text, flat, busiest) in [(CIPHERMILL, 512.0, "multipliers"), (PAPER, 256.0, "adders")] {
            let machine = Machine::from_toml(text).unwrap();
            let roofline = array_roofline(&machine, &[Workload::ntt(1 << 13), Workload::ntt(1 << 17)]).unwrap();
            assert_eq!((roofline.points.len(), roofline.left_out.len()), (2, 1));
            assert_eq!(roofline.ceilings[0].butterflies_per_cycle, Some(flat));
            let [near, far] = &roofline.points[..] else { panic!() };
            // 13/2 · 2^13 butterflies, 4 bytes in and out of each value.
            assert_eq!(near.intensity, 13.0 / 16.0);
            assert_eq!((near.bound, near.attainable, far.bound), (busiest, flat, "dram"));
            // At 32 bytes a cycle a transform of 2^13 takes 2048 cycles, whatever the array does.
            assert!((2048.0..2150.0).contains(&far.cycles), "{far:?}");
            assert_eq!(roofline.records().len(), 2);
        }
    }

    /// On all built-in machines, with a slice at each core or at a few, and with little of another resource.
    #[test]
    fn no_point_is_above_a_ceiling() {
        for text in [CIPHERMILL, PAPER, LANE] {
            let machine = Machine::from_toml(text).unwrap();
            let slices = |slices: &[u32]| {
                let mut machine = machine.clone();
                machine.scratchpad.slices = slices.to_vec();
                machine
            };
            let mut variants =
                [&[][..], &[0, 1, 2, 3, 12, 13, 14, 15], &[0, 3, 12, 15], &[0, 4, 8, 12], &[5]].map(slices).to_vec();
            let mut narrow = slices(&[0, 3, 12, 15]);
            (narrow.network.link_bytes, narrow.dram.bytes_per_cycle) = (32, 1 << 12);
            variants.push(narrow);
            for machine in variants {
                let product = Workload { operation: Operation::Product, ..Workload::ntt(1 << 12) };
                let fft = Workload { operation: Operation::Fft, ..product };
                let workloads = [Workload::ntt(1 << 10), Workload::ntt(1 << 13), product, fft];
                let roofline = array_roofline(&machine, &workloads).unwrap();
                assert_eq!(roofline.points.len(), 8, "{:?}", roofline.left_out);
                for point in &roofline.points {
                    assert!(point.correct && point.reached <= point.attainable, "{point:?} of {machine:?}");
                    for ceiling in &roofline.ceilings {
                        let slanted = ceiling.bytes_per_cycle.map(|rate| rate * point.intensity);
                        let Some(most) = ceiling.butterflies_per_cycle.or(slanted) else { panic!("{ceiling:?}") };
                        let below = ceiling.name != "dram" || point.level == "dram";
                        assert!(!below || point.reached <= most, "{ceiling:?} {point:?} of {machine:?}");
                    }
                }
            }
        }
    }

    /// One slice serves 15 other cores with one vector per cycle in each direction. With a slice at each core, the
    /// ports are the limit.
    #[test]
    fn few_slices_are_a_lower_ceiling() {
        let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
        assert_eq!(scratchpad(&machine), 16.0 * 4.0 * 128.0);
        machine.scratchpad.slices = vec![0];
        assert_eq!(scratchpad(&machine), 6.0 * 128.0);
        machine.network.link_bytes = 32;
        assert_eq!(scratchpad(&machine), 5.25 * 128.0);
        assert_eq!(scratchpad(&Machine::from_toml(LANE).unwrap()), 16.0 * 2.0 * 128.0);
    }
}
