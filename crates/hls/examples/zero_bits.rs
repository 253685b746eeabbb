//! Prints the bits of a module's signals that are always 0, as a JSON object of signals with their first and last bits:
//! `zero_bits MHZ SOURCE FUNCTION [MACRO=VALUE...]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use ciphermill_hls::Source;
use ciphermill_hls::schedule::Target;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("zero_bits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mhz, path, function, macros @ ..] = arguments.as_slice() else {
        return Err("use zero_bits MHZ SOURCE FUNCTION [MACRO=VALUE...]".into());
    };
    let define = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("{text}: use MACRO=VALUE"))?;
        Ok::<_, String>((name.to_owned(), value.to_owned()))
    };
    let defines = macros.iter().map(define).collect::<Result<Vec<_>, _>>()?;
    let design = Source::read(path.as_ref())?.compile(&defines, function, &Target::ecp5(mhz.parse()?))?;
    let all = design.zero_bits();
    let signals: BTreeMap<&str, Vec<[u32; 2]>> = all.iter().map(|one| (&*one.signal, ranges(&one.bits))).collect();
    println!("{}", serde_json::to_string(&signals)?);
    Ok(())
}

/// The first and the last of bits that follow one another.
fn ranges(bits: &[u32]) -> Vec<[u32; 2]> {
    bits.chunk_by(|one, next| one + 1 == *next).filter_map(|run| Some([*run.first()?, *run.last()?])).collect()
}
