//! `table`: the tables that programs look words up in.

use std::path::PathBuf;

use ciphermill_client::files;
use ciphermill_client::words::{Function, Tabulated};
use ciphermill_tfhe::word::{MAX_DENSE_BITS, MAX_POSITIONS, Table};
use serde::Serialize;

use crate::error::CliError;
use crate::output::{self, human_bytes};

/// Make the table of a function of words
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill tfhe table --function isqrt --bits 14 --out isqrt.tbl
  $ ciphermill tfhe table --function f.csv --bits 4 --positions 3,5 --out f.tbl

A table is public: the device sees the function, not the words. It needs no keys and fits every WORD set. A program \
selects the digits of a word (`wselect n, v`) and looks the table up (`wlook t, n`). The table reads the digit at each \
of its positions, the lowest digit first.

A CSV file has the value of each argument, on its own line or after the argument and a comma; # starts a comment. Its \
values have as many bits as the largest needs; those of the other functions have as many as the argument.")]
pub(crate) struct Args {
    /// Function: isqrt, crc16, sbox (8 bits), or the name of a .csv file
    #[arg(long, value_name = "NAME", value_parser = clap::value_parser!(Function))]
    function: Function,
    /// Bits of the argument [default: 14; 8 for sbox]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DENSE_BITS)))]
    bits: Option<u32>,
    /// Position of the selectors of each digit of the argument, the lowest first [default: 0,1,…]
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u8).range(0..MAX_POSITIONS as i64))]
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
        "{}: {}, {} from {} to {} bits",
        args.out.display(),
        human_bytes(bytes),
        report.function,
        report.input_bits,
        report.output_bits
    );
    output::result(args.json, &report, &text)
}
