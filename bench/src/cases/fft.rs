//! Negacyclic f64 transforms. `fft-fwd/…`: from integer coefficients to the spectrum; `fft-inv/…`: from the spectrum to coefficients
//! modulo 2^64, added to a polynomial. Ours and `tfhe` do all of it, `tfhe-fft` the bare transform and a copy.

use aligned_vec::{AVec, avec};
use ciphermill_bench_peers::fft::{FftContender, TfheFft, TfheRs};
use ciphermill_bench_peers::{Contender, Peer};
use ciphermill_math::fft::{FftEngine, FftError, SpectrumBuffer, TorusFft, rounding_error_std};
use ciphermill_math::{CoefficientSource, Isa, SourceView};
use serde_json::json;

use super::{Numbers, Operation, Settings};
use crate::Failure;
use crate::harness::{Stats, alternate};
use crate::report::{Case, Report};

const SIZES: &[usize] = &[256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];

/// Digits of the factor that stands for a decomposed polynomial: B = 2^9, the paper's.
const HALF_BASE: u64 = 1 << 8;

/// Two results may differ by this many of the standard deviations that our error model gives.
const TOLERANCE: f64 = 16.0;

/// An operation.
type Apply = fn(&mut dyn FftContender);

struct Polynomial(AVec<i64>);

impl CoefficientSource<i64> for Polynomial {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        out.copy_from_slice(&self.0[start..][..out.len()]);
    }

    fn view(&self) -> SourceView<'_, i64> {
        SourceView::Slice(&self.0)
    }
}

/// Ours with its buffers.
struct Ours {
    fft: TorusFft,
    polynomial: Polynomial,
    spectrum: SpectrumBuffer,
    sum: AVec<u64>,
}

impl Ours {
    fn new(n: usize, isa: Isa) -> Result<Option<Self>, Failure> {
        match TorusFft::new(n, isa) {
            Ok(fft) => {
                let (polynomial, sum) = (Polynomial(avec![0; n]), avec![0; n]);
                Ok(Some(Self { fft, polynomial, spectrum: SpectrumBuffer::zeroed(n), sum }))
            }
            Err(FftError::PolynomialSize { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl FftContender for Ours {
    fn load(&mut self, polynomial: &[i64]) {
        self.polynomial.0.copy_from_slice(polynomial);
    }

    fn forward(&mut self) {
        self.fft.forward(&self.polynomial, &mut self.spectrum);
    }

    fn clear_spectrum(&mut self) {
        self.spectrum.fill(0.0);
    }

    fn inverse(&mut self) {
        self.fft.inverse_add_u64(&mut self.spectrum, &mut self.sum);
    }

    fn multiply(&mut self, lhs: &[i64], rhs: &[i64]) -> Vec<u64> {
        self.load(lhs);
        self.forward();
        let lhs = self.spectrum.clone();
        self.load(rhs);
        self.forward();
        let mut product = SpectrumBuffer::zeroed(lhs.len());
        self.fft.multiply_accumulate(&mut product, &lhs, &self.spectrum);
        self.spectrum = product;
        self.sum.fill(0);
        self.inverse();
        self.sum.to_vec()
    }
}

pub(crate) fn run(settings: &Settings<'_>, report: &mut Report) -> Result<(), Failure> {
    for &n in SIZES {
        if ["fft-fwd", "fft-inv"].iter().any(|operation| format!("{operation}/n{n}").contains(settings.only)) {
            eprintln!("fft/n{n}");
            measure(settings, report, n)?;
        }
    }
    Ok(())
}

fn measure(settings: &Settings<'_>, report: &mut Report, n: usize) -> Result<(), Failure> {
    let mut all: Vec<Box<dyn FftContender>> = Vec::new();
    let mut own = Vec::new();
    for &isa in &settings.isas {
        match Ours::new(n, isa)? {
            Some(fft) => {
                own.push(isa);
                all.push(Box::new(fft));
            }
            None => report.lacks("fft", "Ciphermill", n),
        }
    }
    if own.is_empty() {
        return Ok(());
    }
    let (peers, theirs): (Vec<Peer>, Vec<_>) = [TfheFft::contender(n), TfheRs::contender(n)].into_iter().unzip();
    all.extend(theirs);

    let digits: Vec<i64> = Numbers(1).take(n).map(|x| (x % (2 * HALF_BASE)) as i64 - HALF_BASE as i64).collect();
    let torus: Vec<i64> = Numbers(2).take(n).map(|x| x as i64).collect();
    let products: Vec<Vec<u64>> = all.iter_mut().map(|contender| contender.multiply(&digits, &torus)).collect();
    let (digit_std, torus_std) = (HALF_BASE as f64 / 3f64.sqrt(), 2f64.powi(64) / 12f64.sqrt());
    let tolerance = TOLERANCE * rounding_error_std(n, 1, digit_std, torus_std) + 1.0;
    let near =
        |a: &[u64], b: &[u64]| a.iter().zip(b).all(|(a, b)| (a.wrapping_sub(*b) as i64 as f64).abs() <= tolerance);
    let correct: Vec<bool> = products.iter().map(|product| near(product, &products[0])).collect();

    let operations: [(&str, &str, Apply); 2] = [
        ("fft-fwd", "tfhe-fft: bare transform and the copy of its input", |c| c.forward()),
        ("fft-inv", "tfhe-fft: bare transform and the copy of its input; spectra are zero", |c| c.inverse()),
    ];
    for (operation, note, apply) in operations {
        let case = Case::new(format!("{operation}/n{n}"), [("n", json!(n))]).note(note);
        if !case.name.contains(settings.only) {
            continue;
        }
        for contender in &mut all {
            contender.load(&digits);
            contender.clear_spectrum();
        }
        let mut lanes: Vec<_> = all.iter_mut().map(|contender| Operation(move || apply(&mut **contender))).collect();
        let mut lanes: Vec<&mut dyn Contender> = lanes.iter_mut().map(|lane| lane as &mut dyn Contender).collect();
        let stats = alternate(&mut lanes, settings.kernels);
        let of = |index: usize| Stats { correct: correct[index], ..stats[index] };
        for (i, isa) in own.iter().enumerate() {
            for (j, peer) in peers.iter().enumerate() {
                report.rows.push(case.row(isa.name(), (1, 1), of(i), *peer, of(own.len() + j), settings.cpu));
            }
        }
    }
    Ok(())
}
