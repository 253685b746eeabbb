//! Table 3 of the paper: products of matrices of 256 columns.

use serde::Serialize;

use super::error::PipelineError;
use super::job::Job;
use super::machine::PipelineMachine;
use super::run::PipelineRun;
use super::simulate::simulate;
use crate::record::Record;

/// The number of columns of every matrix in the table.
pub const TABLE_3_COLUMNS: u64 = 256;

/// A printed row of the table: milliseconds on the paper's CPU, its GPU, and its accelerator at 300 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Printed {
    /// Rows of the matrix.
    pub rows: u64,
    /// Milliseconds on an Intel Xeon W-2265.
    pub cpu_ms: f64,
    /// Milliseconds on a GPU that the paper does not name.
    pub gpu_ms: f64,
    /// Milliseconds on two engines in a Xilinx U200.
    pub accelerator_ms: f64,
}

/// The printed table.
pub const TABLE_3: [Printed; 6] = [
    Printed { rows: 64, cpu_ms: 45.57, gpu_ms: 13.25, accelerator_ms: 2.28 },
    Printed { rows: 128, cpu_ms: 62.36, gpu_ms: 15.95, accelerator_ms: 3.57 },
    Printed { rows: 256, cpu_ms: 100.45, gpu_ms: 25.95, accelerator_ms: 6.17 },
    Printed { rows: 512, cpu_ms: 174.45, gpu_ms: 47.01, accelerator_ms: 11.4 },
    Printed { rows: 1024, cpu_ms: 352.06, gpu_ms: 92.79, accelerator_ms: 21.88 },
    Printed { rows: 2048, cpu_ms: 639.78, gpu_ms: 182.59, accelerator_ms: 42.86 },
];

/// A row of the table with the corresponding run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table3Row {
    /// The printed row; `None` for sizes beyond the table.
    pub printed: Option<Printed>,
    /// The run.
    pub run: PipelineRun,
    /// Milliseconds of the run.
    pub ms: f64,
    /// Printed divided by simulated time: above 1 if the run is faster.
    pub ratio: Option<f64>,
}

/// Runs a machine on the sizes of the table and on the additional sizes `more`.
///
/// # Errors
/// The errors of [`simulate`].
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{CHAM_PAPER, PipelineMachine, table3};
///
/// let rows = table3(&PipelineMachine::from_toml(CHAM_PAPER)?, &[4096])?;
/// // The six printed rows, and one more.
/// assert_eq!((rows.len(), rows[6].printed.is_none()), (7, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn table3(machine: &PipelineMachine, more: &[u64]) -> Result<Vec<Table3Row>, PipelineError> {
    let printed = TABLE_3.iter().map(|&printed| (printed.rows, Some(printed)));
    let sizes = printed.chain(more.iter().map(|&rows| (rows, None)));
    let row = |(rows, printed): (u64, Option<Printed>)| {
        let run = simulate(machine, &Job { rows, columns: TABLE_3_COLUMNS }, None)?;
        let ms = run.milliseconds();
        Ok(Table3Row { printed, ms, ratio: printed.map(|printed| printed.accelerator_ms / ms), run })
    };
    sizes.map(row).collect()
}

/// The records of the runs, with the printed milliseconds.
pub fn table3_records(rows: &[Table3Row]) -> Vec<Record> {
    let mut records = Vec::new();
    for row in rows {
        let printed = row.printed.map(|printed| printed.accelerator_ms);
        let beside = |record: Record| record.with("paper_milliseconds", printed).with("paper_by_ours", row.ratio);
        records.extend(row.run.records().into_iter().map(beside));
    }
    records
}
