//! The named sets.
//!
//! Security is the lattice-estimator's figure in bits, next to the bound of the homomorphic-encryption standard of 2018 for
//! 128 bits.
//!
//! | name | N | ciphertext moduli | special | log2 QP (standard) | security | t | digits of a key switch |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | `CHAM_PAPER` | 4096 | 2^34 + 2^27 + 1, 2^34 + 2^19 + 1 | 2^38 + 2^23 + 1 | 106.0 (109) | 128.9 | 2^24 | a limb each |
//! | `BFV_1024_128` | 1024 | 1 of 26 bits | none: no key switch | 26.0 (27) | 131.1 | 12289 | – |
//! | `BFV_2048_128` | 2048 | 1 of 34 | 1 of 18 | 52.0 (54) | 131.3 | 65537 | 2 of 17 bits |
//! | `BFV_4096_128` | 4096 | 2 of 35 | 1 of 36 | 106.0 (109) | 128.9 | 1032193 | a limb each |
//! | `BFV_8192_128` | 8192 | 2 of 42, 2 of 43 | 1 of 43 | 213.0 (218) | 128.8 | 1032193 | a limb each |
//! | `BFV_16384_128` | 16384 | 6 of 47, 2 of 48 | 1 of 48 | 426.0 (438) | 129.6 | 786433 | a limb each |
//! | `BFV_32768_128` | 32768 | 8 of 47, 9 of 48 | 1 of 48 | 856.0 (881) | 129.8 | 786433 | a limb each |
//! | `BFV_1024` | 1024 | 1 of 27 | none: no key switch | 27.0 (27) | 126.1 | 12289 | – |
//! | `BFV_2048` | 2048 | 1 of 36 | 1 of 18 | 54.0 (54) | 126.2 | 65537 | 2 of 18 bits |
//! | `BFV_4096` | 4096 | 2 of 36 | 1 of 37 | 109.0 (109) | 125.1 | 1032193 | a limb each |
//! | `BFV_8192` | 8192 | 2 of 43, 2 of 44 | 1 of 44 | 218.0 (218) | 125.8 | 1032193 | a limb each |
//! | `BFV_16384` | 16384 | 3 of 48, 5 of 49 | 1 of 49 | 438.0 (438) | 125.9 | 786433 | a limb each |
//! | `BFV_32768` | 32768 | 1 of 48, 16 of 49 | 1 of 49 | 881.0 (881) | 126.1 | 786433 | a limb each |
//! | `TEST_32` | 32 | 3 of 30 | 1 of 31 | – | none | 12289 | a limb each |
//! | `TEST_512` | 512 | 3 of 40 | 1 of 41 | – | none | 1032193 | a limb each |
//!
//! But for the paper's, a set takes the largest primes that are 1 modulo 2N of each length, its special prime first, in
//! descending order; t is a prime and 1 modulo 2N, so that plaintexts have slots. The `BFV` sets without `_128` have the
//! moduli of the standard of 2018. They are below 128 bits today, and need the opt-in; their objects stay readable with it.
//! The `TEST` sets are for tests: they make keys of a few hundred bytes and tables in no time, and protect nothing.

use ciphermill_lattice::{DecompositionBaseLog, PolynomialSize};
use ciphermill_math::modulus::ntt_primes;

use super::names::{
    BFV_1024, BFV_1024_128, BFV_2048, BFV_2048_128, BFV_4096, BFV_4096_128, BFV_8192, BFV_8192_128, BFV_16384,
    BFV_16384_128, BFV_32768, BFV_32768_128, CHAM_PAPER, TEST_32, TEST_512,
};
use super::spec::ParameterSpec;
use crate::gadget::Gadget;

/// The numbers of a named set; `None` if there is none of this name.
pub(super) fn spec(name: &str) -> Option<ParameterSpec> {
    let limbs = Gadget::Limbs { limbs_per_digit: 1 };
    let bits = |base_log| Gadget::Bits { base_log: DecompositionBaseLog(base_log) };
    Some(match name {
        CHAM_PAPER => ParameterSpec {
            name: name.to_owned(),
            polynomial_size: PolynomialSize::new(4096).expect("a power of two"),
            ciphertext_moduli: vec![(1 << 34) + (1 << 27) + 1, (1 << 34) + (1 << 19) + 1],
            special_moduli: vec![(1 << 38) + (1 << 23) + 1],
            plaintext_modulus: 1 << 24,
            gadget: limbs,
        },
        BFV_1024_128 => largest(name, 1024, &[(26, 1)], None, 12289, limbs),
        BFV_2048_128 => largest(name, 2048, &[(34, 1)], Some(18), 65537, bits(17)),
        BFV_4096_128 => largest(name, 4096, &[(35, 2)], Some(36), 1_032_193, limbs),
        BFV_8192_128 => largest(name, 8192, &[(42, 2), (43, 2)], Some(43), 1_032_193, limbs),
        BFV_16384_128 => largest(name, 16384, &[(47, 6), (48, 2)], Some(48), 786_433, limbs),
        BFV_32768_128 => largest(name, 32768, &[(47, 8), (48, 9)], Some(48), 786_433, limbs),
        BFV_1024 => largest(name, 1024, &[(27, 1)], None, 12289, limbs),
        BFV_2048 => largest(name, 2048, &[(36, 1)], Some(18), 65537, bits(18)),
        BFV_4096 => largest(name, 4096, &[(36, 2)], Some(37), 1_032_193, limbs),
        BFV_8192 => largest(name, 8192, &[(43, 2), (44, 2)], Some(44), 1_032_193, limbs),
        BFV_16384 => largest(name, 16384, &[(48, 3), (49, 5)], Some(49), 786_433, limbs),
        BFV_32768 => largest(name, 32768, &[(48, 1), (49, 16)], Some(49), 786_433, limbs),
        TEST_32 => largest(name, 32, &[(30, 3)], Some(31), 12289, limbs),
        TEST_512 => largest(name, 512, &[(40, 3)], Some(41), 1_032_193, limbs),
        _ => return None,
    })
}

/// The set of the largest primes of these lengths, the special one first. `ciphertext`: (bits, how many).
fn largest(
    name: &str,
    n: usize,
    ciphertext: &[(u32, usize)],
    special: Option<u32>,
    plaintext_modulus: u64,
    gadget: Gadget,
) -> ParameterSpec {
    let primes = |bits, skip, count| ntt_primes(bits, n).skip(skip).take(count).map(|p| p.value());
    let ciphertext_moduli = ciphertext.iter().flat_map(|&(bits, count)| {
        let taken = usize::from(special == Some(bits));
        primes(bits, taken, count)
    });
    ParameterSpec {
        name: name.to_owned(),
        polynomial_size: PolynomialSize::new(n).expect("a power of two"),
        ciphertext_moduli: ciphertext_moduli.collect(),
        special_moduli: special.into_iter().flat_map(|bits| primes(bits, 0, 1)).collect(),
        plaintext_modulus,
        gadget,
    }
}
