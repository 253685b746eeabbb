//! `table`: the tables that programs look words up in.

use std::path::PathBuf;

use ciphermill_client::files;
use ciphermill_client::words::{Function, Tabulated};
use ciphermill_tfhe::word::{MAX_DENSE_BITS, MAX_POSITIONS, Table};
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::within;
use crate::output::{self, count, human_bytes};

/// Make the table of a function of words
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill tfhe table --function isqrt --bits 14 --out isqrt.tbl
  $ ciphermill tfhe table --function f.csv --bits 4 --positions 3,5 --out f.tbl

A table is public: the device sees the function, not the words. It needs no keys and fits every WORD set. A program \
selects the digits of a word (`wselect n, v`) and looks the table up (`wlook t, n`). The table reads the digit at each \
of its positions, the lowest digit first.

A CSV file has one line for each argument: its value, or the argument, a comma and its value. All lines have one form. \
The first line may hold names, with letters and without digits. # starts a comment. The values have as many bits as \
the largest needs; those of the other functions have as many as the argument.")]
pub(crate) struct Args {
    /// Function: isqrt, crc16, sbox (8 bits), or the name of a .csv file
    #[arg(long, value_name = "NAME", value_parser = clap::value_parser!(Function))]
    function: Function,
    /// Bits of the argument, 1 to 20 [default: 14; 8 for sbox]
    #[arg(long, value_name = "BITS", value_parser = within::<u32>(1..=i128::from(MAX_DENSE_BITS)))]
    bits: Option<u32>,
    /// Position of the selectors of each digit of the argument, 0 to 63, the lowest first [default: 0,1,…]
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    #[arg(value_parser = within::<u8>(0..MAX_POSITIONS as i128))]
    positions: Option<Vec<u8>>,
    /// Where to write the table
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    path: &'a PathBuf,
    bytes: u64,
    function: String,
    input_bits: u32,
    output_bits: u32,
    positions: Vec<u8>,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let tabulated = Tabulated::new(&args.function, args.bits)?;
    let table = tabulated.dense(args.positions.as_deref()).map_err(|error| CliError::Usage(error.to_string()))?;
    let positions = table.positions().to_vec();
    let table = Table::Dense(table);
    let bytes = files::write(&args.out, &table.to_bytes(), files::PUBLIC, args.force)?;
    let report = Report {
        path: &args.out,
        bytes,
        function: args.function.to_string(),
        input_bits: tabulated.input_bits,
        output_bits: tabulated.output_bits,
        positions,
    };
    let text = format!(
        "{}: {}, {} from {} to {}",
        args.out.display(),
        human_bytes(bytes),
        report.function,
        report.input_bits,
        count(report.output_bits.into(), "bit")
    );
    output::result(args.json, &report, &text)
}
