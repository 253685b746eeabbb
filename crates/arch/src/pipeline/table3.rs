//! Table 3 of the paper: products of matrices of 256 columns.

use serde::Serialize;

use super::error::PipelineError;
use super::job::Job;
use super::machine::PipelineMachine;
use super::run::PipelineRun;
use super::simulate::simulate;
use crate::record::Record;

/// Columns of every matrix of the table.
pub const TABLE_3_COLUMNS: u64 = 256;

/// A row of the table as printed: milliseconds on the paper's CPU, its GPU, and its accelerator at 300 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Printed {
    /// Rows of the matrix.
    pub rows: u64,
    /// Intel Xeon W-2265.
    pub cpu_ms: f64,
    /// A GPU that the paper does not name.
    pub gpu_ms: f64,
    /// Two engines on a Xilinx U200.
    pub accelerator_ms: f64,
}

/// The table as printed.
pub const TABLE_3: [Printed; 6] = [
    Printed { rows: 64, cpu_ms: 45.57, gpu_ms: 13.25, accelerator_ms: 2.28 },
    Printed { rows: 128, cpu_ms: 62.36, gpu_ms: 15.95, accelerator_ms: 3.57 },
    Printed { rows: 256, cpu_ms: 100.45, gpu_ms: 25.95, accelerator_ms: 6.17 },
    Printed { rows: 512, cpu_ms: 174.45, gpu_ms: 47.01, accelerator_ms: 11.4 },
    Printed { rows: 1024, cpu_ms: 352.06, gpu_ms: 92.79, accelerator_ms: 21.88 },
    Printed { rows: 2048, cpu_ms: 639.78, gpu_ms: 182.59, accelerator_ms: 42.86 },
];

/// A row of the table, printed and run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table3Row {
    /// As printed; `None` for sizes beyond the table.
    pub printed: Option<Printed>,
    /// The run.
    pub run: PipelineRun,
    /// Milliseconds of the run.
    pub ms: f64,
    /// Printed ÷ run: above 1 where the run is faster.
    pub ratio: Option<f64>,
}

/// Runs a machine on the sizes of the table, and on those of `more` beyond it.
///
/// # Errors
/// Those of [`simulate`].
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

/// The records of a table: those of the runs, with the printed milliseconds beside them.
pub fn table3_records(rows: &[Table3Row]) -> Vec<Record> {
    let mut records = Vec::new();
    for row in rows {
        let printed = row.printed.map(|printed| printed.accelerator_ms);
        let beside = |record: Record| record.with("paper_milliseconds", printed).with("paper_by_ours", row.ratio);
        records.extend(row.run.records().into_iter().map(beside));
    }
    records
}
