//! The figures in the text of the RVFHE paper, next to ours. The diagrams contain no numbers; the text gives averages
//! and maxima.

use serde::Serialize;

use super::ablation::{ABLATION_IN_FLIGHT, Ablation, PRINTED, PRINTED_FFT, ablate};
use super::base::{MAX_BASE_SIZE, time_split};
use super::error::ReportError;
use super::run::{Plan, measure};
use super::workload::{Operation, Workload};
use crate::array::Machine;
use crate::record::Label;

/// A figure of the paper, with our corresponding figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The place in the paper, such as `Fig. 9`.
    pub place: &'static str,
    /// The meaning of the figure.
    pub what: String,
    /// The printed figure; `None` if it only follows from printed figures.
    pub paper: Option<f64>,
    /// Our figure; `None` if no comparison is possible.
    pub ours: Option<f64>,
    /// The kind of our figure.
    pub label: Option<Label>,
    /// The conditions of the comparison, or the reason for its absence.
    pub note: String,
}

/// The power in watts that Fig. 12 implies for the GPU: the paper's array takes 1.486 W (Table 6), is 8.96 times as
/// fast as the GPU, and has 8.53 times its performance per watt.
pub const IMPLIED_GPU_WATTS: f64 = 1.486 * 8.53 / 8.96;

/// The memory bandwidth of an A100 with 40 GB, in bytes per second (NVIDIA's data sheet).
pub const GPU_BYTES_PER_SECOND: f64 = 1555e9;

/// The sizes of the paper's experiments.
pub const PAPER_SIZES: [usize; 5] = [1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14];
/// The sizes of the FFT experiments here.
pub const FFT_SIZES: [usize; 3] = [1 << 12, 1 << 13, 1 << 14];

/// Runs the paper's experiments on a description of its machine. `ours` only supplies the sizes that fit it.
///
/// # Errors
/// If a run fails.
pub fn compare(paper: &Machine, ours: &Machine) -> Result<Vec<Comparison>, ReportError> {
    let ntt = ablate(paper, Operation::Ntt, &PAPER_SIZES, ABLATION_IN_FLIGHT)?;
    let fft = ablate(paper, Operation::Fft, &FFT_SIZES, ABLATION_IN_FLIGHT)?;
    let more = ablate(paper, Operation::Ntt, &PAPER_SIZES, 8)?;
    let mut all = figure_3()?;
    all.extend(figure_9(&ntt));
    all.push(Comparison {
        place: "Fig. 9",
        what: "average gain of all three, eight in flight where they fit".to_owned(),
        paper: Some(PRINTED[3]),
        ours: more.average_total,
        label: Some(Label::Simulated),
        note: "small transforms gain most by more in flight, so that gains hardly grow with N any more".to_owned(),
    });
    all.extend(figure_10(paper, ours)?);
    all.extend(figure_11(&fft));
    all.extend(figure_12(paper)?);
    Ok(all)
}

fn figure_3() -> Result<Vec<Comparison>, ReportError> {
    let split = time_split(1 << 10)?;
    let row = |what: &str, paper: f64, ours: f64| Comparison {
        place: "Fig. 3",
        what: format!("share of {what} in the base core's time, %"),
        paper: Some(paper),
        ours: Some(100.0 * ours),
        label: Some(Label::Simulated),
        note: "four remainders of 67 cycles a butterfly at 2^10; cycles by instruction and wait counts".to_owned(),
    };
    Ok(vec![
        row("modular products", 47.63, split.products),
        row("modular sums", 24.71, split.sums),
        row("modular differences", 24.45, split.differences),
    ])
}

fn figure_9(ntt: &Ablation) -> Vec<Comparison> {
    let names = ["extended instructions", "+ reshuffling", "+ dataflow"];
    let average = |at: usize| ntt.average_steps.get(at).copied();
    let mut rows: Vec<Comparison> = names
        .iter()
        .enumerate()
        .map(|(at, name)| Comparison {
            place: "Fig. 9",
            what: format!("average gain of {name}"),
            paper: Some(PRINTED[at]),
            ours: average(at),
            label: Some(Label::Simulated),
            note: "per lane, 2^10 to 2^14; a reading of the stages that was chosen knowing the figures".to_owned(),
        })
        .collect();
    rows.push(Comparison {
        place: "Fig. 9",
        what: "average gain of all three".to_owned(),
        paper: Some(PRINTED[3]),
        ours: ntt.average_total,
        label: Some(Label::Simulated),
        note: "against as many scalar cores as there are lanes".to_owned(),
    });
    let last = ntt.sizes.iter().rfind(|size| size.polynomial_size == MAX_BASE_SIZE);
    rows.push(Comparison {
        place: "Fig. 9",
        what: "gain of all three at 2^14".to_owned(),
        paper: Some(213.29),
        ours: last.and_then(|size| size.total),
        label: Some(Label::Simulated),
        note: "a lane with one adder takes 2 cycles a butterfly at best: over the 300 of this base core 150 is the most there can be"
            .to_owned(),
    });
    for single in last.map(|size| &size.single_core[..]).unwrap_or_default() {
        rows.push(Comparison {
            place: "Fig. 9",
            what: format!("gain over one scalar core at 2^14, `{}`", single.base.program),
            paper: Some(213.29),
            ours: Some(single.speedup),
            label: Some(Label::Simulated),
            note: "so the paper's base is not a single core".to_owned(),
        });
    }
    rows
}

fn figure_10(paper: &Machine, ours: &Machine) -> Result<Vec<Comparison>, ReportError> {
    let row = |place, what: String, printed, ours: Option<f64>, label, note: &str| Comparison {
        place,
        what,
        paper: printed,
        ours,
        label: ours.map(|_| label),
        note: note.to_owned(),
    };
    let gpu = "no GPU was measured, and the paper gives no absolute time; see the times below";
    let others = "relative to figures of others that the paper does not print";
    let mut rows = vec![
        row("Fig. 10", "average gain over an A100".to_owned(), Some(8.96), None, Label::Analytic, gpu),
        row("Fig. 10", "gain over the best accelerator".to_owned(), Some(1.37), None, Label::Analytic, others),
    ];
    let mut shares = Vec::new();
    for size in PAPER_SIZES {
        let log = size.ilog2();
        let report = measure(paper, &Plan { workload: Workload::ntt(size), in_flight: Some(2), runs: None })?;
        let line = &report.lines[0];
        let dram = line.dram_cycles(paper);
        for (place, cycles) in [("scratchpad to scratchpad", line.cycles()), ("DRAM to DRAM", dram)] {
            let microseconds = cycles / paper.clock_ghz / 1e3;
            let what = format!("time of a transform of 2^{log}, {place}, µs");
            let (label, note) = if place == "DRAM to DRAM" {
                (Label::Analytic, "two in flight, transfers over the simulated computation; the diagram has no numbers")
            } else {
                (Label::Simulated, "two in flight, steady state; the diagram has no numbers")
            };
            rows.push(row("Fig. 10", what, None, Some(microseconds), label, note));
        }
        if log == 13 {
            let implied = line.cycles() / paper.clock_ghz / 1e3 * 8.96;
            let what = "time of the A100 at 2^13 that follows, µs".to_owned();
            let note = "8.96 times ours; as long as the launch of a kernel, so perhaps one transform for each";
            rows.push(row("Fig. 10", what, None, Some(implied), Label::Analytic, note));
            let least = line.dram_bytes as f64 / GPU_BYTES_PER_SECOND * 1e6;
            let what = "time that the A100's memory needs for 2^13, µs".to_owned();
            let times = dram / paper.clock_ghz / 1e3 / least;
            let note =
                format!("1555 GB/s, transforms behind one another; the array from DRAM takes {times:.0} times as long");
            rows.push(row("Fig. 10", what, None, Some(least), Label::Analytic, &note));
            let what = "cycles of a transform of 2^13, two in flight".to_owned();
            let note = "the paper's is 208 cycles, two for each lane's butterflies, by 87.82 %";
            rows.push(row("section 5.3", what, Some(208.0 / 0.8782), Some(line.cycles()), Label::Simulated, note));
            shares.push((
                "2^13 from DRAM to DRAM".to_owned(),
                100.0 * line.bound / dram,
                Label::Analytic,
                "adders; 32 GB/s of Table 3: bound by memory, transfers over the simulated computation",
            ));
        }
        if log >= 12 {
            let share = line.adders.map_or(0.0, |adders| 100.0 * adders);
            shares.push((
                format!("2^{log}, two in flight"),
                share,
                Label::Simulated,
                "adders, scratchpad to scratchpad",
            ));
        }
    }
    for machine in [paper, ours] {
        let largest = |operation| {
            let size = Workload { operation, ..Workload::ntt(4096) }.largest_polynomial_size(machine, 1)?;
            Some(f64::from(size.ilog2()))
        };
        let back = largest(Operation::Intt).map_or("no".to_owned(), |log| format!("2^{log}"));
        let what = format!("largest N on the chip, log2, `{}`", machine.name);
        let note = format!(
            "forward, {back} back; by compiling, nothing is run; the scratchpad holds 2^16 values twelve times: a limit of the mapping"
        );
        rows.push(row("section 5.2", what, Some(13.0), largest(Operation::Ntt), Label::Analytic, &note));
    }
    for (case, share, label, note) in shares {
        let what = format!("average utilization of the units, {case}, %");
        rows.push(row("section 5.3", what, Some(87.82), Some(share), label, note));
    }
    Ok(rows)
}

fn figure_11(fft: &Ablation) -> Vec<Comparison> {
    let names = ["reshuffling", "dataflow", "both"];
    let ours = [fft.average_steps.first().copied(), fft.average_steps.get(1).copied(), fft.average_total];
    let row = |at: usize| {
        Comparison {
        place: "Fig. 11",
        what: format!("average gain of {}, FFT", names[at]),
        paper: Some(PRINTED_FFT[at]),
        ours: ours[at],
        label: Some(Label::Simulated),
        note: "2^12 to 2^14; the gain of dataflow is latency by interval of a complex butterfly, which the paper does not give".to_owned(),
    }
    };
    (0..3).map(row).collect()
}

fn figure_12(paper: &Machine) -> Result<Vec<Comparison>, ReportError> {
    let row = |what: &str, printed, ours, note: &str| Comparison {
        place: "Fig. 12",
        what: what.to_owned(),
        paper: printed,
        ours,
        label: Some(Label::Analytic),
        note: note.to_owned(),
    };
    let gpu = "1.486 W (Table 6) times 8.53 by 8.96: no A100 runs on that, its board is rated at 250 to 400 W";
    let report = measure(paper, &Plan { workload: Workload::ntt(1 << 13), in_flight: Some(2), runs: None })?;
    // A butterfly has three modular operations: a product, a sum, a difference.
    let line = &report.lines[0];
    let operations = 3.0 * line.butterflies as f64 / line.cycles() * paper.clock_ghz;
    Ok(vec![
        row("average gain in performance per watt over an A100", Some(8.53), None, "cannot hold: see the next line"),
        row("power of the A100 that follows, W", None, Some(IMPLIED_GPU_WATTS), gpu),
        row(
            "modular operations per second and watt at 2^13, GOPS/W, at the paper's 1.486 W",
            None,
            Some(operations / 1.486),
            "the paper prints no absolute value; its power is its own claim",
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{CIPHERMILL, PAPER};

    #[test]
    fn the_gpu_of_figure_12_is_none() {
        assert!((IMPLIED_GPU_WATTS - 1.41).abs() < 0.01, "{IMPLIED_GPU_WATTS}");
    }

    /// The statements of the page hold.
    #[test]
    fn figures_stand_beside_the_printed_ones() {
        let (paper, ours) = (Machine::from_toml(PAPER).unwrap(), Machine::from_toml(CIPHERMILL).unwrap());
        let all = compare(&paper, &ours).unwrap();
        for row in &all {
            println!("{}: {}: {:?} {:?} ({})", row.place, row.what, row.paper, row.ours, row.note);
        }
        let find = |what: &str| all.iter().find(|row| row.what.contains(what)).and_then(|row| row.ours).unwrap();
        // Within two points of Fig. 3 for sums and differences, and within one for products.
        assert!((find("modular products") - 47.63).abs() < 1.0);
        assert!((find("modular sums") - 24.71).abs() < 2.1 && (find("modular differences") - 24.45).abs() < 2.0);
        assert!((find("2^12, two in flight, %") > 50.0) && (85.0..90.0).contains(&find("2^13, two in flight, %")));
        assert!((find("cycles of a transform of 2^13") / 237.0 - 1.0).abs() < 0.03);
        // An array with its data in DRAM is far slower than the memory of the GPU.
        assert!(find("2^13, DRAM to DRAM, µs") > 40.0 * find("A100's memory needs"));
        assert!((8.0..11.0).contains(&find("from DRAM to DRAM")));
        assert_eq!((find("largest N on the chip, log2, `paper`"), find("log2, `ciphermill`")), (16.0, 16.0));
        assert!(find("all three at 2^14") < 150.0, "more than the bound of one adder allows");
        assert!(find("`textbook`") > 50_000.0 && find("`shoup`") > 10_000.0);
    }
}
