//! The contents of read-only memories: twiddle factors, from the arithmetic of `ciphermill-math`, and microprograms.

use std::collections::BTreeMap;

use ciphermill_arch::tfhe_engine::micro;
use ciphermill_math::ntt::reference::{bit_reverse, twiddles};
use ciphermill_math::{Modulus, goldilocks};

/// A file of words in hexadecimal, one a line, and the parameter of the module that names it.
pub(crate) struct Table {
    pub(crate) parameter: &'static str,
    pub(crate) text: String,
}

/// The tables that a unit wants, by what `hw/units.toml` calls them.
pub(crate) fn tables(kind: &str, parameters: &BTreeMap<String, i64>) -> Result<Vec<Table>, String> {
    match kind {
        "ntt_cg" => ntt_cg(parameters),
        "ntt_cg_r4" => ntt_cg_r4(parameters),
        "ntt_goldilocks" => ntt_goldilocks(parameters),
        "ntt_goldilocks_shift" => ntt_goldilocks_shift(parameters),
        "tfhe_engine" => {
            let mut tables = ntt_goldilocks_shift(parameters)?;
            let text = micro::rom().into_iter().map(|word| format!("{word:04x}\n")).collect();
            tables.push(Table { parameter: "MicroFile", text });
            Ok(tables)
        }
        _ => Err(format!("hw/units.toml asks for the tables `{kind}`, which nobody writes")),
    }
}

fn stated(parameters: &BTreeMap<String, i64>, name: &str) -> Result<u32, String> {
    let value = parameters.get(name).ok_or_else(|| format!("the tables need the parameter {name}"))?;
    u32::try_from(*value).map_err(|_| format!("{name} is {value}"))
}

/// `ntt_cg`: a word has the twiddle of each butterfly, that of butterfly 0 lowest. Index 2^s + j of stage s has
/// ψ^brv(2^s + j), or half the inverse of it; all times 2^(2 Fold), as `mod_mul_lowham` takes that away.
fn ntt_cg(parameters: &BTreeMap<String, i64>) -> Result<Vec<Table>, String> {
    let get = |name| stated(parameters, name);
    let (log_n, log_butterflies) = (get("LogN")?, get("LogButterflies")?);
    let (high, low, inverse) = (get("HighBit")?, get("LowBit")?, get("Inverse")? == 1);
    let value = (1u64 << high) + (1 << low) + 1;
    let modulus = Modulus::new(value).map_err(|error| error.to_string())?;
    let psi = modulus.primitive_root_2n(1 << log_n).ok_or_else(|| format!("{value} has no root for N = 2^{log_n}"))?;
    let unit = |x: Option<u64>| x.ok_or("2 and roots of unity are units modulo an odd prime");
    let (base, scale) = if inverse {
        (
            unit(modulus.inverse(psi))?,
            modulus.mul(modulus.pow(2, u64::from((high + 2) / 2 * 2)), unit(modulus.inverse(2))?),
        )
    } else {
        (psi, modulus.pow(2, u64::from((high + 2) / 2 * 2)))
    };
    let twiddle =
        |stage: u32, j: usize| modulus.mul(modulus.pow(base, bit_reverse((1 << stage) + j, log_n) as u64), scale);
    let butterflies = 1usize << log_butterflies;
    let width = high as usize + 1;
    let word = |stage: u32, cycle: usize| {
        let lanes = (0..butterflies).map(|p| twiddle(stage, (cycle * butterflies + p) % (1 << stage)));
        hexadecimal(width, &lanes.collect::<Vec<_>>())
    };
    let blank = || hexadecimal(width, &vec![0; butterflies]);

    let mut first: Vec<String> = (0..=log_butterflies).map(|stage| word(stage, 0)).collect();
    first.push(blank());
    let mut later = vec![blank(), blank()];
    for stage in log_butterflies + 1..log_n {
        later.extend((0..1 << (stage - log_butterflies)).map(|cycle| word(stage, cycle)));
    }
    let lines = |words: Vec<String>| words.join("\n") + "\n";
    Ok(vec![Table { parameter: "FirstFile", text: lines(first) }, Table { parameter: "LaterFile", text: lines(later) }])
}

/// `ntt_cg_r4`: a word has the twiddles w2, w1, w1·w2 of four butterflies that follow one another, times 2^(2 Fold); one word for
/// stage 0, 4^(s−1) words for stage s from that address on.
fn ntt_cg_r4(parameters: &BTreeMap<String, i64>) -> Result<Vec<Table>, String> {
    let get = |name| stated(parameters, name);
    let (log_n, high, low) = (get("LogN")?, get("HighBit")?, get("LowBit")?);
    let value = (1u64 << high) + (1 << low) + 1;
    let modulus = Modulus::new(value).map_err(|error| error.to_string())?;
    let psi = modulus.primitive_root_2n(1 << log_n).ok_or_else(|| format!("{value} has no root for N = 2^{log_n}"))?;
    let scale = modulus.pow(2, u64::from((high + 2) / 2 * 2));
    let power = |index: usize| modulus.pow(psi, bit_reverse(index, log_n) as u64);
    let twiddles = |stage: u32, j: usize| {
        let j = j % (1 << (2 * stage));
        let (w1, w2) = (power((1 << (2 * stage)) + j), power((2 << (2 * stage)) + 2 * j));
        [w2, w1, modulus.mul(w1, w2)].map(|twiddle| modulus.mul(twiddle, scale))
    };
    let width = high as usize + 1;
    let word = |stage, cycle| {
        hexadecimal(width, &(4 * cycle..4 * cycle + 4).flat_map(|j| twiddles(stage, j)).collect::<Vec<_>>())
    };
    let mut words = vec![hexadecimal(width, &[0; 12]); 1 << (log_n - 3)];
    words[0] = word(0, 0);
    for stage in 1..log_n / 2 {
        let base = 1 << (2 * (stage - 1));
        for cycle in 0..base {
            words[base + cycle] = word(stage, cycle);
        }
    }
    Ok(vec![Table { parameter: "TwiddleFile", text: words.join("\n") + "\n" }])
}

/// `ntt_goldilocks`: word 2^s + block of the stages in rows; and for each row the twiddles 2^s + row·2^t + j of all stages
/// s = log2 rows + t in lanes, at place 2^t − 1 + j of its word.
fn ntt_goldilocks(parameters: &BTreeMap<String, i64>) -> Result<Vec<Table>, String> {
    let get = |name| stated(parameters, name);
    let (log_n, log_lanes) = (get("LogN")?, get("LogButterflies")? + 1);
    let n = 1usize << log_n;
    let psi = goldilocks::primitive_root_2n(n).ok_or("N is too great for Goldilocks")?;
    let table = twiddles(psi, n);
    let rows = n >> log_lanes;
    let row_words = (0..rows).map(|index| hexadecimal(64, &table[index..=index]));
    let lane_words = (0..rows).map(|row| {
        let stage = |t: u32| {
            let first = (rows << t) + (row << t);
            &table[first..first + (1 << t)]
        };
        hexadecimal(64, &(0..log_lanes).flat_map(stage).copied().collect::<Vec<_>>())
    });
    let lines = |words: Vec<String>| words.join("\n") + "\n";
    Ok(vec![
        Table { parameter: "RowFile", text: lines(row_words.collect()) },
        Table { parameter: "LaneFile", text: lines(lane_words.collect()) },
    ])
}

/// `ntt_goldilocks_shift`, N = 32·R·32: for each row t of the outer pass ψ^(t·(2·k1 + 1)) in lane k1; for each g of the middle one
/// ψ^(64·j3·k2) with j3 = 32/R·g + h in lane 32/R·k2 + h.
fn ntt_goldilocks_shift(parameters: &BTreeMap<String, i64>) -> Result<Vec<Table>, String> {
    let log_n = stated(parameters, "LogN")?;
    let n = 1u64 << log_n;
    let psi = goldilocks::primitive_root_2n(n as usize).ok_or("N is too great for Goldilocks")?;
    let radix = n / 1024;
    let interleaved = 32 / radix;
    let power = |exponent: u64| goldilocks::pow(psi, exponent % (2 * n));
    let outer = |t: u64| (0..32).map(|k1| power(t * (2 * k1 + 1))).collect::<Vec<_>>();
    let middle = |g: u64| {
        (0..32)
            .map(|lane| power(64 * (interleaved * g + lane % interleaved) * (lane / interleaved)))
            .collect::<Vec<_>>()
    };
    let lines = |rows: u64, row: &dyn Fn(u64) -> Vec<u64>| {
        (0..rows).map(|i| hexadecimal(64, &row(i)) + "\n").collect::<String>()
    };
    Ok(vec![
        Table { parameter: "OuterFile", text: lines(n / 32, &outer) },
        Table { parameter: "MiddleFile", text: lines(radix, &middle) },
    ])
}

/// A word of elements of `width` bits, element 0 lowest, in hexadecimal.
fn hexadecimal(width: usize, elements: &[u64]) -> String {
    let bits: String = elements.iter().rev().map(|element| format!("{element:0width$b}")).collect();
    let padded = format!("{bits:0>length$}", length = bits.len().next_multiple_of(4));
    let digit = |nibble: &[u8]| nibble.iter().fold(0, |value, bit| value * 2 + u32::from(*bit == b'1'));
    padded.as_bytes().chunks(4).filter_map(|nibble| char::from_digit(digit(nibble), 16)).collect()
}
