//! Times the f64 transform: minimum and median nanoseconds per call, one thread, data in cache where it fits.
//!
//! `cargo run --release -p ciphermill-evidence --example fft-timing [isa]`

use std::hint::black_box;
use std::time::Instant;

use ciphermill_math::fft::{FftEngine, SpectrumBuffer, TorusFft};
use ciphermill_math::{BalancedDigit, CoefficientSource, Isa, SourceView};

const ROWS: usize = 10;

/// A source over a borrowed slice.
struct Slice<'a>(&'a [i64]);

impl CoefficientSource<i64> for Slice<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        self.0.read(start, out);
    }

    fn view(&self) -> SourceView<'_, i64> {
        SourceView::Slice(self.0)
    }
}

/// Digits of a borrowed slice, as an external product reads them.
struct Digits<'a>(&'a [u64]);

/// The second digit in base 2^9.
const DIGIT: BalancedDigit = BalancedDigit { offset: 1 << 63 | 1 << 54 | 1 << 45, shift: 46, mask: 511, half: 256 };

impl CoefficientSource<i64> for Digits<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        out.iter_mut().zip(&self.0[start..]).for_each(|(out, word)| *out = DIGIT.extract(*word));
    }

    fn view(&self) -> SourceView<'_, i64> {
        SourceView::Digits(self.0, DIGIT)
    }
}

/// Minimum and median over samples of several calls each.
fn time(mut call: impl FnMut()) -> (f64, f64) {
    let start = Instant::now();
    call();
    let calls = (100_000 / start.elapsed().as_nanos().max(1)).max(1) as usize;
    let mut samples: Vec<f64> = (0..400)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            start.elapsed().as_nanos() as f64 / calls as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    (samples[0], samples[samples.len() / 2])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let only = std::env::args().nth(1);
    println!(
        "{:9} {:>6} {:>17} {:>17} {:>17} {:>21}",
        "isa", "N", "forward", "forward of digits", "inverse_add_u64", "mul_acc, 10 rows"
    );
    for isa in Isa::available().filter(|isa| only.as_deref().is_none_or(|name| name == isa.name())) {
        for n in (8..=17).map(|log2| 1usize << log2) {
            let fft = TorusFft::new(n, isa)?;
            let words: Vec<i64> = (0..n as i64 + 8).map(|j| j * 37 % 511 - 255).collect();
            let aligned = words.as_ptr().align_offset(64);
            let coefficients = &words[aligned..aligned + n];
            let mut spectrum = SpectrumBuffer::zeroed(n);
            let forward = time(|| fft.forward(&Slice(black_box(coefficients)), &mut spectrum));
            let mut words: Vec<u64> = (0..n as u64 + 8).map(|j| j.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let aligned = words.as_ptr().align_offset(64);
            let digits = time(|| fft.forward(&Digits(black_box(&words[aligned..aligned + n])), &mut spectrum));
            let out = &mut words[aligned..aligned + n];
            // The inverse destroys its input; a second run on what it leaves may overflow to infinity, so it is fed zeros,
            // whose arithmetic takes the same time.
            let mut zeros = SpectrumBuffer::zeroed(n);
            let inverse = time(|| fft.inverse_add_u64(black_box(&mut zeros), out));
            let mut lhs = SpectrumBuffer::zeroed(ROWS * n);
            lhs.chunks_exact_mut(n).for_each(|row| row.copy_from_slice(&spectrum));
            let rhs = lhs.clone();
            let mut acc = SpectrumBuffer::zeroed(n);
            let multiply = time(|| fft.multiply_accumulate(&mut acc, black_box(&lhs), black_box(&rhs)));
            println!(
                "{:9} {n:6} {:8.0} {:8.0} {:8.0} {:8.0} {:8.0} {:8.0} {:10.0} {:10.0}",
                isa.name(),
                forward.0,
                forward.1,
                digits.0,
                digits.1,
                inverse.0,
                inverse.1,
                multiply.0,
                multiply.1
            );
        }
    }
    Ok(())
}
