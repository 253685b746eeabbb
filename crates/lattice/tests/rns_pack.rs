//! Packed polynomials: the bytes themselves, and what readers of hostile bytes refuse.

use crate::rns_support::{basis, polynomial};
use ciphermill_lattice::PolynomialSize;
use ciphermill_lattice::rns::{RnsBasis, RnsPoly, UnpackError};
use ciphermill_math::Isa;
use proptest::prelude::*;

/// 16 words of 7 bits modulo 97, then 16 of 8 bits modulo 193; the bytes are those of Python's `int.to_bytes`.
#[test]
fn known_bytes() {
    let n = PolynomialSize::new(16).unwrap();
    let basis = RnsBasis::new(n, &[97, 193], Isa::Portable).unwrap();
    let words = (0..16).map(|i| 6 * i).chain((0..16).map(|i| 192 - i)).collect();
    let poly = RnsPoly::from_words(n, words);
    let bytes = [
        0, 3, 67, 130, 241, 144, 84, 48, 27, 79, 136, 116, 82, 181, 192, 191, 190, 189, 188, 187, 186, 185, 184, 183,
        182, 181, 180, 179, 178, 177,
    ];
    assert_eq!(basis.packed_len(), bytes.len());
    assert_eq!(basis.pack(&poly), bytes);
    assert_eq!(basis.unpack(&bytes), Ok(poly));
}

#[test]
fn every_length_of_prime_comes_back() {
    for n in [16, 4096] {
        for bits in (if n == 16 { 7 } else { 16 })..=62 {
            let basis = basis(n, &[bits, 62], 0, Isa::best());
            let mut poly = polynomial(&basis, bits.into());
            // The greatest residue at both ends.
            for (p, limb) in basis.moduli().zip(poly.limbs_mut()) {
                (limb[0], limb[n - 1]) = (p.value() - 1, p.value() - 1);
            }
            let bytes = basis.pack(&poly);
            assert_eq!(bytes.len(), (bits as usize + 62) * n / 8);
            assert_eq!(basis.unpack(&bytes), Ok(poly), "{bits} bits");
        }
    }
}

#[test]
fn wrong_lengths_and_residues_are_refused() {
    let basis = basis(64, &[46, 62], 0, Isa::best());
    let bytes = basis.pack(&polynomial(&basis, 0));
    for given in [0, 1, bytes.len() - 1, bytes.len() + 1, 2 * bytes.len()] {
        let mut other = bytes.clone();
        other.resize(given, 0);
        assert_eq!(basis.unpack(&other), Err(UnpackError::Length { given, expected: bytes.len() }));
    }
    for (limb, modulus) in basis.moduli().map(|p| p.value()).enumerate() {
        for place in [0, 31, 63] {
            for residue in [modulus, modulus + 1, u64::MAX >> modulus.leading_zeros()] {
                let mut poly = basis.unpack(&bytes).unwrap();
                poly.limb_mut(limb)[place] = residue;
                assert_eq!(basis.unpack(&basis.pack(&poly)), Err(UnpackError::NotCanonical { limb, modulus }));
            }
        }
    }
}

proptest! {
    /// Accepted bytes equal the bytes that the writer would produce.
    #[test]
    fn readers_accept_one_form(bytes in prop::collection::vec(any::<u8>(), 30), damage in 0usize..2) {
        let basis = RnsBasis::new(PolynomialSize::new(16).unwrap(), &[97, 193], Isa::Portable).unwrap();
        let mut bytes = bytes;
        if damage == 0 {
            // Random words are hardly ever all canonical: make most of them small.
            bytes.iter_mut().for_each(|b| *b &= 0x15);
        }
        if let Ok(poly) = basis.unpack(&bytes) {
            prop_assert!(basis.is_canonical(&poly));
            prop_assert_eq!(basis.pack(&poly), bytes);
        }
    }
}
