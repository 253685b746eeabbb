//! The roofline of an array: what its units, its scratchpad and its DRAM allow, and what runs reach.
//!
//! An operation is a butterfly. A point has the traffic of the level that its data comes from: the scratchpad, or the DRAM behind it.

use serde::Serialize;

use super::error::ReportError;
use super::run::{Line, line, steady};
use super::workload::{Operation, Workload};
use crate::array::Machine;
use crate::record::{Label, Record};

/// A ceiling.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// `adders`, `multipliers`, `scratchpad` or `dram`.
    pub name: &'static str,
    /// Of a flat one: butterflies per cycle.
    pub butterflies_per_cycle: Option<f64>,
    /// Of a slanted one: bytes per cycle.
    pub bytes_per_cycle: Option<f64>,
}

/// A run under the ceilings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayPoint {
    /// What was run, as `ntt`.
    pub operation: &'static str,
    /// N.
    pub polynomial_size: usize,
    /// `scratchpad` or `dram`: where inputs come from and outputs go.
    pub level: &'static str,
    /// Butterflies for each byte of that level.
    pub intensity: f64,
    /// Butterflies per cycle that the ceilings allow; analytic.
    pub attainable: f64,
    /// What the run reached.
    pub reached: f64,
    /// Cycles for each input.
    pub cycles: f64,
    /// The ceiling that is met first.
    pub bound: &'static str,
    /// Of the flat ceiling, what was reached, 0 to 1.
    pub utilization: f64,
    /// Whether all values were right.
    pub correct: bool,
}

/// Ceilings and points of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayRoofline {
    /// Points are simulated, ceilings analytic.
    pub label: Label,
    /// The machine's name.
    pub machine: String,
    /// The lowest flat one and the slanted ones.
    pub ceilings: Vec<Ceiling>,
    /// Size by size, from the scratchpad and from DRAM.
    pub points: Vec<ArrayPoint>,
    /// Workloads that do not fit, and why.
    pub left_out: Vec<(String, String)>,
}

/// Runs the workloads in steady state, from the scratchpad and from DRAM.
///
/// # Errors
/// Of a workload that does not run; one that does not fit is left out.
pub fn array_roofline(machine: &Machine, workloads: &[Workload]) -> Result<ArrayRoofline, ReportError> {
    let lanes = f64::from(machine.cores() * machine.core.lanes);
    // A butterfly takes two sums and one product.
    let (adders, multipliers) = (lanes * f64::from(machine.lane.adders) / 2.0, lanes);
    let arrivals = lanes * 4.0 * f64::from(machine.lane.arrival_ports);
    let flat = adders.min(multipliers);
    let name = if adders < multipliers { "adders" } else { "multipliers" };
    let ceilings = vec![
        Ceiling { name, butterflies_per_cycle: Some(flat), bytes_per_cycle: None },
        Ceiling { name: "scratchpad", butterflies_per_cycle: None, bytes_per_cycle: Some(arrivals) },
        Ceiling {
            name: "dram",
            butterflies_per_cycle: None,
            bytes_per_cycle: Some(machine.dram.bytes_per_cycle.into()),
        },
    ];
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for workload in workloads {
        // DRAM works on halves of the scratchpad in turn, a run of the program at a time.
        let lines = match steady(machine, workload, None) {
            Err(error @ ReportError::DoesNotFit { .. }) => {
                left_out.push((workload.to_string(), error.to_string()));
                continue;
            }
            Ok(Some(best)) => (best, line(machine, workload, 1, Some(1))?),
            Ok(None) => (line(machine, workload, 1, Some(1))?, line(machine, workload, 1, Some(1))?),
            Err(error) => return Err(error),
        };
        let flat =
            if workload.operation.is_complex() { lanes / f64::from(machine.lane.complex_interval) } else { flat };
        points.push(point(workload, &lines.0, "scratchpad", lines.0.cycles(), flat, arrivals));
        let dram = machine.dram.bytes_per_cycle.into();
        // No pace is better than that of the transfers, which a mean over few batches may leave some of out.
        let cycles = lines.0.dram.min(lines.1.dram).max(lines.0.dram_bytes as f64 / dram);
        points.push(point(workload, &lines.0, "dram", cycles, flat, dram));
    }
    Ok(ArrayRoofline { label: Label::Simulated, machine: machine.name.clone(), ceilings, points, left_out })
}

fn point(workload: &Workload, line: &Line, level: &'static str, cycles: f64, flat: f64, rate: f64) -> ArrayPoint {
    let butterflies = line.butterflies as f64;
    // Inputs and outputs cross the scratchpad's ports once each, as they do the DRAM's.
    let intensity = butterflies / line.dram_bytes as f64;
    let attainable = flat.min(intensity * rate);
    ArrayPoint {
        operation: workload.operation.name(),
        polynomial_size: workload.polynomial_size,
        level,
        intensity,
        attainable,
        reached: butterflies / cycles,
        cycles,
        bound: if attainable < flat { level } else { "compute" },
        utilization: butterflies / cycles / flat,
        correct: line.correct,
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
            let mut record = Record::new(case, &self.machine, self.label, point.cycles.ceil() as u64)
                .with("n", n)
                .with("butterflies_per_byte", point.intensity)
                .with("butterflies_per_cycle", point.reached)
                .with("attainable", point.attainable)
                .with("bound", point.bound);
            record.cycles_steady = Some(point.cycles);
            record.utilization = Some(point.utilization);
            record.correct = Some(point.correct);
            record
        };
        self.points.iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{CIPHERMILL, PAPER};

    #[test]
    fn points_lie_under_their_ceilings() {
        for (text, flat) in [(CIPHERMILL, 512.0), (PAPER, 256.0)] {
            let machine = Machine::from_toml(text).unwrap();
            let roofline = array_roofline(&machine, &[Workload::ntt(1 << 13), Workload::ntt(1 << 17)]).unwrap();
            assert_eq!((roofline.points.len(), roofline.left_out.len()), (2, 1));
            assert_eq!(roofline.ceilings[0].butterflies_per_cycle, Some(flat));
            for point in &roofline.points {
                assert!(point.correct && point.reached <= point.attainable, "{point:?}");
            }
            let [near, far] = &roofline.points[..] else { panic!() };
            // 13/2 · 2^13 butterflies, 4 bytes in and out of each value.
            assert_eq!(near.intensity, 13.0 / 16.0);
            assert_eq!((near.bound, far.bound), ("compute", "dram"));
            // At 32 bytes a cycle a transform of 2^13 takes 2048 cycles, whatever the array does.
            assert!((2048.0..2150.0).contains(&far.cycles), "{far:?}");
            assert_eq!(roofline.records().len(), 2);
        }
    }
}
