//! FFT peers.

use std::f64::consts::PI;
use std::time::{Duration, Instant};

use aligned_vec::{AVec, avec};
use tfhe::core_crypto::commons::computation_buffers::ComputationBuffers;
use tfhe::core_crypto::fft_impl::fft64::math::fft::{Fft, setup_custom_fft_plan};
use tfhe::core_crypto::fft_impl::fft64::math::polynomial::FourierPolynomialOwned;
use tfhe::core_crypto::prelude::{Polynomial, PolynomialSize};
use tfhe_fft::c64;
use tfhe_fft::ordered::FftAlgo;
use tfhe_fft::unordered::{Method, Plan};

use crate::{Peer, TFHE, TFHE_FFT};

/// A negacyclic f64 transform with its buffers, as the harness drives it; ours has this face too.
pub trait FftContender {
    /// Gives the polynomial that [`forward`](Self::forward) reads.
    fn load(&mut self, polynomial: &[i64]);

    /// Transforms the polynomial to the spectrum. The polynomial stays.
    fn forward(&mut self);

    /// Fills the spectrum with zeros, on which [`inverse`](Self::inverse) can be repeated.
    fn clear_spectrum(&mut self);

    /// Inverse transform of the spectrum, which is lost, added to the result where the crate has that.
    fn inverse(&mut self);

    /// The negacyclic product of two polynomials modulo 2^64.
    fn multiply(&mut self, lhs: &[i64], rhs: &[i64]) -> Vec<u64>;
}

/// The fastest plan of tfhe-fft for `points` complex points. The crate can measure its algorithms by itself, but goes by mean
/// times, which a busy machine spoils; here every algorithm and size of its inner transform is judged by its least time.
fn fastest_plan(points: usize) -> Plan {
    use FftAlgo::{Dif2, Dif4, Dif8, Dif16, Dit2, Dit4, Dit8, Dit16};
    const TRIALS: usize = 40;
    let mut buffer = avec![c64::default(); points];
    let mut stack = ComputationBuffers::new();
    let mut time = |plan: &Plan| {
        stack.resize(plan.fft_scratch().unaligned_bytes_required());
        let once = |_| {
            let start = Instant::now();
            plan.fwd(&mut buffer, stack.stack());
            plan.inv(&mut buffer, stack.stack());
            start.elapsed()
        };
        (0..TRIALS).map(once).min().unwrap_or(Duration::MAX)
    };
    // The crate's bounds: inner transforms of 32 to 1024 points, or the whole one.
    let inner = (5..=10).map(|log2| 1 << log2).filter(|&base_n| base_n < points);
    let whole = std::iter::once(points).filter(|&base_n| base_n <= 1024);
    let plans = inner.chain(whole).flat_map(|base_n| {
        [Dif2, Dit2, Dif4, Dit4, Dif8, Dit8, Dif16, Dit16]
            .map(|base_algo| Plan::new(points, Method::UserProvided { base_algo, base_n }))
    });
    plans.min_by_key(|plan| time(plan)).expect("every size has a plan")
}

/// The bare transform of tfhe-fft: N/2 complex points. The caller's copy into the buffer that it destroys is part of it; fold,
/// conversion and twist, which our transform includes, are not.
pub struct TfheFft {
    plan: Plan,
    stack: ComputationBuffers,
    input: AVec<c64>,
    spectrum: AVec<c64>,
    scratch: AVec<c64>,
}

impl TfheFft {
    /// For polynomials of `n` coefficients.
    pub fn contender(n: usize) -> (Peer, Box<dyn FftContender>) {
        let plan = fastest_plan(n / 2);
        let mut stack = ComputationBuffers::new();
        stack.resize(plan.fft_scratch().unaligned_bytes_required());
        let zeros = || avec![c64::default(); n / 2];
        (TFHE_FFT, Box::new(Self { plan, stack, input: zeros(), spectrum: zeros(), scratch: zeros() }))
    }
}

/// e^(iπj/N), the twist of point j.
fn twist(j: usize, n: usize) -> c64 {
    let (im, re) = (PI * j as f64 / n as f64).sin_cos();
    c64 { re, im }
}

/// The real number modulo 2^64, rounded.
fn to_torus(x: f64) -> u64 {
    const TWO_64: f64 = 18_446_744_073_709_551_616.0;
    let reduced = x - (x / TWO_64).round() * TWO_64;
    reduced.round() as i128 as u64
}

impl FftContender for TfheFft {
    fn load(&mut self, polynomial: &[i64]) {
        let n = polynomial.len();
        let (re, im) = polynomial.split_at(n / 2);
        for (j, (point, (&re, &im))) in self.input.iter_mut().zip(re.iter().zip(im)).enumerate() {
            *point = c64 { re: re as f64, im: im as f64 } * twist(j, n);
        }
    }

    fn forward(&mut self) {
        self.spectrum.copy_from_slice(&self.input);
        self.plan.fwd(&mut self.spectrum, self.stack.stack());
    }

    fn clear_spectrum(&mut self) {
        self.spectrum.fill(c64::default());
    }

    fn inverse(&mut self) {
        self.scratch.copy_from_slice(&self.spectrum);
        self.plan.inv(&mut self.scratch, self.stack.stack());
    }

    fn multiply(&mut self, lhs: &[i64], rhs: &[i64]) -> Vec<u64> {
        let n = lhs.len();
        self.load(lhs);
        self.forward();
        let lhs = self.spectrum.clone();
        self.load(rhs);
        self.forward();
        self.spectrum.iter_mut().zip(lhs.iter()).for_each(|(r, l)| *r *= l);
        self.inverse();
        let points: Vec<c64> =
            self.scratch.iter().enumerate().map(|(j, x)| x * twist(j, n).conj() / (n / 2) as f64).collect();
        points.iter().map(|x| to_torus(x.re)).chain(points.iter().map(|x| to_torus(x.im))).collect()
    }
}

/// The transform of tfhe-rs: tfhe-fft with its own fold, conversion and twist, as its bootstrap uses it.
pub struct TfheRs {
    fft: Fft,
    stack: ComputationBuffers,
    polynomial: Polynomial<AVec<u64>>,
    spectrum: FourierPolynomialOwned,
    sum: Polynomial<AVec<u64>>,
}

/// Gives tfhe-rs the fastest plan for polynomials of `n` coefficients: it would choose one by mean times over 10 ms.
pub fn give_tfhe_rs_a_plan(n: usize) {
    setup_custom_fft_plan(fastest_plan(n / 2));
}

impl TfheRs {
    /// For polynomials of `n` coefficients.
    pub fn contender(n: usize) -> (Peer, Box<dyn FftContender>) {
        give_tfhe_rs_a_plan(n);
        let fft = Fft::new(PolynomialSize(n));
        let mut stack = ComputationBuffers::new();
        let required = fft.as_view().forward_scratch().or(fft.as_view().backward_scratch());
        stack.resize(required.unaligned_bytes_required());
        let zeros = || Polynomial::from_container(avec![0; n]);
        let spectrum = FourierPolynomialOwned::new(PolynomialSize(n));
        (TFHE, Box::new(Self { fft, stack, polynomial: zeros(), spectrum, sum: zeros() }))
    }
}

impl FftContender for TfheRs {
    fn load(&mut self, polynomial: &[i64]) {
        self.polynomial.as_mut().iter_mut().zip(polynomial).for_each(|(to, &from)| *to = from as u64);
    }

    fn forward(&mut self) {
        let (polynomial, stack) = (self.polynomial.as_view(), self.stack.stack());
        self.fft.as_view().forward_as_integer(self.spectrum.as_mut_view(), polynomial, stack);
    }

    fn clear_spectrum(&mut self) {
        self.spectrum.data.fill(c64::default());
    }

    fn inverse(&mut self) {
        let (spectrum, stack) = (self.spectrum.as_mut_view(), self.stack.stack());
        self.fft.as_view().add_backward_in_place_as_torus(self.sum.as_mut_view(), spectrum, stack);
    }

    fn multiply(&mut self, lhs: &[i64], rhs: &[i64]) -> Vec<u64> {
        self.load(lhs);
        self.forward();
        let lhs = self.spectrum.data.clone();
        // The second factor as torus elements, for the inverse yields torus elements.
        self.load(rhs);
        let (polynomial, stack) = (self.polynomial.as_view(), self.stack.stack());
        self.fft.as_view().forward_as_torus(self.spectrum.as_mut_view(), polynomial, stack);
        self.spectrum.data.iter_mut().zip(lhs.iter()).for_each(|(r, l)| *r *= l);
        self.sum.as_mut().fill(0);
        self.inverse();
        self.sum.as_ref().to_vec()
    }
}
