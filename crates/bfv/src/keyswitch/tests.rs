//! Digits against their definition.

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{DecompositionBaseLog, MaskStream, PolynomialSize, PublicSeed};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;
use num_bigint::BigInt;
use num_traits::{One, Signed};
use proptest::prelude::*;

use super::Gadget;
use crate::context::Context;
use crate::parameters::{ParameterSet, ParameterSpec, SecurityPolicy};

const N: usize = 16;

fn context(bits: &[u32], gadget: Gadget, isa: Isa) -> Context {
    let mut moduli: Vec<u64> = Vec::new();
    for &bits in bits {
        let fresh = ntt_primes(bits, N).find(|p| !moduli.contains(&p.value()));
        moduli.push(fresh.expect("enough primes").value());
    }
    let special_moduli = moduli.split_off(bits.len() - 1);
    let spec = ParameterSpec {
        name: "DIGITS".to_owned(),
        polynomial_size: PolynomialSize::new(N).expect("a power of two"),
        ciphertext_moduli: moduli,
        special_moduli,
        plaintext_modulus: 3,
        gadget,
    };
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    Context::new(&ParameterSet::new(spec, policy).expect("an admissible set"), isa).expect("an available path")
}

/// The limbs of every coefficient: 0, 1, −1, both sides of q/2, and uniform ones.
fn samples(context: &Context, limbs: usize, seed: [u8; 32]) -> RnsPoly<Coefficients> {
    let basis = context.basis(limbs);
    let mut poly = basis.uniform(&mut MaskStream::new(&PublicSeed(seed), 0));
    for (limb, p) in poly.limbs_mut().zip(basis.moduli()) {
        let p = p.value();
        limb[..6].copy_from_slice(&[0, 1, p - 1, p / 2, p / 2 + 1, p / 2 - 1]);
    }
    poly
}

/// Digits are small integers in their ranges, the same modulo all primes, and Σ d_j·g_j is the polynomial modulo every
/// limb.
fn check(context: &Context, gadget: Gadget, limbs: usize, seed: [u8; 32]) {
    let (basis, extended) = (context.basis(limbs), context.extended(limbs));
    let poly = samples(context, limbs, seed);
    let hoisted = context.decompose(&poly, gadget);
    assert_eq!(hoisted.digits.len(), context.digit_count(gadget, limbs).expect("a gadget that fits"));
    let entries = context.gadget_entries(gadget).expect("a gadget that fits");
    let mut sum = basis.zero::<Coefficients>();
    for (digit, entry) in hoisted.digits.iter().zip(&entries) {
        let digit = extended.inverse(digit.clone());
        let own = entry.limbs.start..entry.limbs.end.min(limbs);
        let product: BigInt = own.clone().map(|i| BigInt::from(basis.limbs()[i].modulus().value())).product();
        for i in 0..N {
            let value = extended.compose(&digit, i);
            match gadget {
                Gadget::Limbs { .. } => assert!(value.abs() <= &product / 2 + 1, "{value} modulo {product}"),
                Gadget::Bits { base_log } => {
                    let half = BigInt::one() << (base_log.0 - 1);
                    let last = entry.shift + base_log.0 >= product.bits() as usize;
                    assert!(value >= -&half && value <= if last { half } else { half - 1 }, "{value}, {gadget:?}");
                }
            }
            for limb in own.clone() {
                let p = basis.limbs()[limb].modulus();
                let residue = extended.residues(&value)[limb];
                let term = p.mul(residue, p.pow(2, entry.shift as u64));
                let sum = &mut sum.limb_mut(limb)[i];
                *sum = p.add(*sum, term);
            }
        }
    }
    assert!(sum == poly, "{gadget:?}, {limbs} limbs");
}

fn gadgets() -> impl Strategy<Value = Gadget> {
    prop_oneof![
        (1usize..=3).prop_map(|limbs_per_digit| Gadget::Limbs { limbs_per_digit }),
        (1usize..=32).prop_map(|base_log| Gadget::Bits { base_log: DecompositionBaseLog(base_log) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The special prime is as large as any digit.
    #[test]
    fn digits_recompose_exactly(
        gadget in gadgets(),
        bits in proptest::array::uniform3(prop_oneof![Just(62u32), 10u32..=61]),
        seed in any::<[u8; 32]>(),
    ) {
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let context = context(&[bits[0], bits[1], bits[2], 62], gadget, isa);
            for limbs in 1..=3 {
                check(&context, gadget, limbs, seed);
            }
        }
    }
}
