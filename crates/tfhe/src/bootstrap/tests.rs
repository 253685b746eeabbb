//! Every strategy of blind rotation gives the same bits.

use ciphermill_lattice::{Csprng, SecretSeed, Torus};

use super::batch::MAX_LOCKSTEP;
use super::private::Build;
use super::*;
use crate::dimension::{Decomposition, GlweDimension, PolynomialSize};

fn uniform<T: Torus>(rng: &mut Csprng, len: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; len];
    T::fill_random(rng, &mut out);
    out
}

/// Keys of uniform coefficients: their plaintexts do not matter here.
fn strategies_agree<T: BackendTorus>(k: usize, size: usize, gadget: Decomposition, steps: usize) {
    let shape = GgswShape {
        glwe_dimension: GlweDimension(k),
        polynomial_size: PolynomialSize::new(size).expect("a power of two"),
        decomposition: gadget,
    };
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([29; 32]), (k * size) as u64);
    let rows: Vec<T> = uniform(&mut rng, steps * shape.len());
    // One more than share a pass.
    let inputs: Vec<(Vec<usize>, GlweCiphertext<T>)> = (0..MAX_LOCKSTEP + 1)
        .map(|i| {
            let draws = uniform::<u64>(&mut rng, steps + 1);
            let mut exponents: Vec<usize> = draws.iter().map(|&x| x as usize % (2 * size)).collect();
            // Steps that are skipped change whose turn it is among the published sums.
            exponents[i % steps] = 0;
            let glwe = GlweCiphertext::from_coefficients(uniform(&mut rng, shape.row_len()), shape.polynomial_size);
            (exponents, glwe.expect("whole polynomials"))
        })
        .collect();
    let rotations: Vec<Rotation<'_, T>> =
        inputs.iter().map(|(exponents, accumulator)| Rotation { exponents, accumulator }).collect();
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for (backend, word) in [
            (Backend::Fft, PackedWord::Fixed48),
            (Backend::Fft, PackedWord::Float64),
            (Backend::Ntt, PackedWord::Float64),
        ] {
            let case = format!("{isa} {backend} {word:?}, {shape:?}");
            let mut builder = T::builder(backend, word, isa, &CpuNttProvider::new(isa), shape, steps)
                .expect("a size with a transform");
            for rows in rows.chunks(2 * shape.len()) {
                builder.push(rows).expect("whole ciphertexts");
            }
            let key = builder.finish().expect("all ciphertexts");
            assert_eq!(key.memory_bytes(), transformed_key_bytes(backend, word, shape, steps), "{case}");
            let alone: Vec<_> = rotations.iter().map(|&r| key.blind_rotate(r, 1).expect("its sizes")).collect();
            let count = if size > 4096 { 3 } else { rotations.len() };
            let batch = key.blind_rotate_batch(&rotations[..count]).expect("its sizes");
            assert!(batch == alone[..count], "{case}: a batch");
            for threads in 2..=5 {
                for (rotation, alone) in rotations.iter().zip(&alone).take(2) {
                    let team = key.blind_rotate(*rotation, threads).expect("its sizes");
                    assert!(team == *alone, "{case}: {threads} threads");
                }
            }
        }
    }
}

#[test]
fn batches_and_teams_give_the_bits_of_one_rotation_alone() {
    strategies_agree::<u64>(1, 1024, Decomposition::new(9, 5), 7);
    strategies_agree::<u64>(2, 2048, Decomposition::new(17, 2), 4);
    strategies_agree::<u32>(3, 2048, Decomposition::new(9, 2), 4);
    strategies_agree::<u64>(4, 64, Decomposition::new(20, 1), 5);
}

#[test]
fn batches_and_teams_at_the_papers_size() {
    strategies_agree::<u64>(1, 16384, Decomposition::new(9, 5), 3);
}

#[test]
fn rotations_of_other_sizes_are_refused() {
    let shape = GgswShape {
        glwe_dimension: GlweDimension(1),
        polynomial_size: PolynomialSize::new(64).expect("a power of two"),
        decomposition: Decomposition::new(9, 2),
    };
    let mut builder =
        u64::builder(Backend::Fft, PackedWord::Fixed48, Isa::Portable, &CpuNttProvider::default(), shape, 2)
            .expect("a size with a transform");
    builder.push(&vec![0; 2 * shape.len()]).expect("whole ciphertexts");
    assert!(builder.push(&vec![0; shape.len()]).is_err());
    let key = builder.finish().expect("all ciphertexts");
    let [right, wrong] = [64, 128].map(|size| {
        let size = PolynomialSize::new(size).expect("a power of two");
        GlweCiphertext::from_coefficients(vec![0u64; 2 * size.get()], size).expect("whole polynomials")
    });
    for threads in [1, 2] {
        let rotate = |exponents: &[usize], accumulator| key.blind_rotate(Rotation { exponents, accumulator }, threads);
        assert!(rotate(&[0; 3], &right).is_ok());
        assert!(rotate(&[0; 3], &wrong).is_err());
        assert!(rotate(&[0; 2], &right).is_err());
    }
    let rotations = [&right, &wrong].map(|accumulator| Rotation { exponents: &[0; 3], accumulator });
    assert!(key.blind_rotate_batch(&rotations).is_err());
}
