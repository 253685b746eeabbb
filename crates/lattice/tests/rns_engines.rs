//! A basis with transforms of another provider than the CPU's.

use std::sync::Arc;

use ciphermill_lattice::rns::{RnsBasis, RnsBasisError};
use ciphermill_lattice::{PolynomialSize, PublicSeed, rng::MaskStream};
use ciphermill_math::conformance::ReferenceNttProvider;
use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttError, NttProvider};
use ciphermill_math::{EngineInfo, Isa};

const N: usize = 256;
const MODULI: [u64; 3] = [7681, 12289, 1_099_511_603_713];

#[test]
fn products_are_the_same_with_transforms_by_definition() {
    let size = PolynomialSize::new(N).expect("a polynomial size");
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let cpu = RnsBasis::new(size, &MODULI, isa).expect("primes with transforms");
        let other = RnsBasis::with_engines(size, &MODULI, &ReferenceNttProvider, isa).expect("primes with transforms");
        assert!(other.limbs().iter().all(|limb| limb.engine().info().name == "reference-ntt"));
        let product = |basis: &RnsBasis| {
            let mut stream = MaskStream::new(&PublicSeed([9; 32]), 1);
            let (a, b) = (basis.uniform(&mut stream), basis.uniform(&mut stream));
            let (mut a, b) = (basis.forward(a), basis.forward(b));
            basis.multiply(&mut a, &b);
            basis.multiply_scalar(&mut a, &[3, 5, 7]);
            basis.inverse(a).into_words()
        };
        assert_eq!(product(&cpu), product(&other), "{isa}");
    }
}

/// Makes transforms of another size than the size asked for.
#[derive(Debug)]
struct Wrong(CpuNttProvider);

impl NttProvider for Wrong {
    fn info(&self) -> EngineInfo {
        self.0.info()
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        self.0.prime(polynomial_size / 2, modulus)
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        self.0.prime_u32(polynomial_size / 2, modulus)
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        self.0.goldilocks(polynomial_size / 2)
    }
}

#[test]
fn transforms_of_another_size_are_refused() {
    let size = PolynomialSize::new(N).expect("a polynomial size");
    let provider = Wrong(CpuNttProvider::default());
    let error = RnsBasis::with_engines(size, &[12289], &provider, Isa::current()).unwrap_err();
    assert!(matches!(error, RnsBasisError::Engine { modulus: 12289, .. }), "{error}");
}
