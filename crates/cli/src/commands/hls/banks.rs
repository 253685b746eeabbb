//! `hls banks`: banks for the words of a transform.

use ciphermill_hls::banks;
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::within;
use crate::output;

/// Print banks in which the words of a transform never meet, as C
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill hls banks --n 256 --b 2
  $ ciphermill hls banks --header

B butterflies a cycle read 2B words and write 2B words. With these 2B banks, each with one port to read and one to \
write, no two of the words are in the same bank, in every stage of a transform by radix-2 butterflies.")]
pub(super) struct Args {
    /// Words of the transform, a power of two from 4 to 65536
    #[arg(long, value_name = "N", required_unless_present = "header", value_parser = within::<u32>(4..=65536))]
    n: Option<u32>,
    /// Butterflies a cycle, a power of two from 1 to 16
    #[arg(long, value_name = "B", required_unless_present = "header", value_parser = within::<u32>(1..=16))]
    b: Option<u32>,
    /// Print the whole of hw/hls/banks.h
    #[arg(long, conflicts_with_all = ["n", "b", "json"])]
    header: bool,
    /// Print the masks as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Masks {
    n: u32,
    b: u32,
    banks: u32,
    /// The index bits whose parity is bit i of the bank.
    masks: Vec<u32>,
}

/// The logarithm of a power of two.
fn log(option: &str, given: u32) -> Result<u32, CliError> {
    if given.is_power_of_two() {
        Ok(given.ilog2())
    } else {
        Err(CliError::Usage(format!("{option} {given} is not a power of two; use {}", given.next_power_of_two())))
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let (Some(n), Some(b)) = (args.n, args.b) else {
        // Clap has required the header then.
        return output::bytes(banks::header().as_bytes());
    };
    let (log_n, log_b) = (log("--n", n)?, log("--b", b)?);
    let none = || {
        let what = format!("{b} butterflies a cycle of a transform of {n} words have no banks by parities");
        CliError::Usage(format!("{what}; use --b {} or less, or more words", (n / 4).max(1)))
    };
    // 2B banks of a single row each would be registers.
    if log_n < log_b + 2 {
        return Err(none());
    }
    let masks = banks::masks(log_n, log_b).ok_or_else(none)?;
    let text = banks::declaration(log_n, log_b).ok_or_else(none)?;
    output::result(args.json, &Masks { n, b, banks: 2 * b, masks }, text.trim_end())
}
