//! Fast external products against the schoolbook definition, on every path.

use crate::support::{fresh_seed, seed};
use ciphermill_lattice::{Csprng, NoiseDistribution, PolynomialSize, PublicSeed, Torus};
use ciphermill_math::Isa;
use ciphermill_math::fft::rounding_error_std;
use ciphermill_tfhe::bootstrap::{BackendTorus, TransformedGgsw};
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension};
use ciphermill_tfhe::ggsw::{GgswCiphertext, GgswEncryptor};
use ciphermill_tfhe::glwe::{GlweCiphertext, GlweSecretKey};
use ciphermill_tfhe::{Backend, reference};

const SIZE: usize = 256;
const K: usize = 2;

struct Case<T> {
    key: GlweSecretKey,
    ggsw: [GgswCiphertext<T>; 2],
    glwe: [GlweCiphertext<T>; 2],
}

fn case<T: Torus>(decomposition: Decomposition, mut rng: Csprng) -> Case<T> {
    let size = PolynomialSize::new(SIZE).expect("a power of two");
    let key = GlweSecretKey::generate(GlweDimension(K), size, &mut rng);
    let noise = NoiseDistribution::Gaussian { std_dev: (-28f64).exp2() };
    let encryptor = GgswEncryptor::new(&key, decomposition, noise).expect("a transform of size 256");
    let rows = encryptor.shape().row_count() as u64;
    let masks = PublicSeed([9; 32]);
    let ggsw = [0, 1].map(|bit| encryptor.encrypt(bit, &masks, u64::from(bit) * rows, &mut rng));
    let glwe = [0, 1].map(|_| {
        let mut message = vec![T::ZERO; SIZE];
        T::fill_random(&mut rng, &mut message);
        key.encrypt(&message, noise, &mut rng).expect("N coefficients")
    });
    Case { key, ggsw, glwe }
}

/// Largest distance of two phase polynomials, as a fraction of the torus.
fn distance<T: Torus>(lhs: &[T], rhs: &[T]) -> f64 {
    lhs.iter().zip(rhs).map(|(&l, &r)| l.wrapping_sub(r).to_f64_signed().abs()).fold(0.0, f64::max)
}

fn unavailable_paths() {
    ciphermill_testing::available(Isa::ALL, |isa| isa.is_available());
}

/// The phases of fast and schoolbook external products agree within `bound`; an exact back end gives equal bits.
fn agrees<T: BackendTorus>(backend: Backend, decomposition: Decomposition, bound: f64, exact: bool) {
    unavailable_paths();
    for rng in [Csprng::from_secret(&seed(3), 0), Csprng::from_secret(&fresh_seed(), 0)] {
        let case = case::<T>(decomposition, rng);
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            for ggsw in &case.ggsw {
                let fast = TransformedGgsw::new(ggsw, backend, isa).expect("a transform of size 256");
                let expected = reference::external_product(ggsw, &case.glwe[0]).expect("one key");
                let got = fast.external_product(&case.glwe[0]).expect("one key");
                let phases = [&expected, &got].map(|c| case.key.decrypt_phase(c).expect("one key"));
                let error = distance(&phases[0], &phases[1]);
                assert!(error <= bound, "{isa}: 2^{:.1} exceeds 2^{:.1}", error.log2(), bound.log2());
                assert!(!exact || expected == got, "{isa}: not bit for bit");
                let expected = reference::cmux(ggsw, &case.glwe[0], &case.glwe[1]).expect("one key");
                let got = fast.cmux(&case.glwe[0], &case.glwe[1]).expect("one key");
                let phases = [&expected, &got].map(|c| case.key.decrypt_phase(c).expect("one key"));
                assert!(distance(&phases[0], &phases[1]) <= bound, "{isa}: CMux");
            }
        }
    }
}

/// Ten standard deviations of the f64 transform's error, which strikes the body and, through half of the key bits, the
/// masks; the digits have a standard deviation of B/√12.
fn fft_bound(decomposition: Decomposition) -> f64 {
    let rows = (K + 1) * decomposition.level_count.0;
    let digits = f64::from(1 << decomposition.base_log.0) / 12f64.sqrt();
    let ulps = rounding_error_std(SIZE, rows, digits, 64f64.exp2() / 12f64.sqrt());
    10.0 * ulps * (-64f64).exp2() * (1.0 + (K * SIZE) as f64 / 2.0).sqrt()
}

#[test]
fn fft_on_u64() {
    let decomposition = Decomposition::new(9, 5);
    agrees::<u64>(Backend::Fft, decomposition, fft_bound(decomposition), false);
}

/// Here the rounding to 2^−32 outweighs the transform's error: ten standard deviations of it.
#[test]
fn fft_on_u32() {
    let rounding = 10.0 * (-32f64).exp2() * ((1.0 + (K * SIZE) as f64 / 2.0) / 12.0).sqrt();
    let decomposition = Decomposition::new(8, 3);
    agrees::<u32>(Backend::Fft, decomposition, rounding + fft_bound(decomposition), false);
}

/// Decomposition over Z_p rounds where decomposition modulo 2^64 does, up to one step of the switch.
#[test]
fn ntt_on_u64() {
    agrees::<u64>(Backend::Ntt, Decomposition::new(9, 5), (-36f64).exp2(), false);
}

#[test]
fn ntt_on_u32_is_exact() {
    agrees::<u32>(Backend::Ntt, Decomposition::new(8, 3), 0.0, true);
}

/// A CMux chooses: the result's message is that of the chosen ciphertext.
#[test]
fn cmux_chooses() {
    let case = case::<u64>(Decomposition::new(9, 5), Csprng::from_secret(&seed(5), 0));
    for (bit, ggsw) in case.ggsw.iter().enumerate() {
        let out = reference::cmux(ggsw, &case.glwe[0], &case.glwe[1]).expect("one key");
        let chosen = case.key.decrypt_phase(&case.glwe[bit]).expect("one key");
        let error = distance(&case.key.decrypt_phase(&out).expect("one key"), &chosen);
        // (k+1)·l·N digits of up to 2^8 times noise of 2^−28: a standard deviation of 2^−15; ten of them.
        assert!(error < (-11.5f64).exp2(), "2^{:.1}", error.log2());
    }
}
