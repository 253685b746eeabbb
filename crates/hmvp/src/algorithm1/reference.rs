//! The plain definition of the paper's algorithm 1, on that of packing: the golden model of its RTL.

use ciphermill_math::Modulus;

use ciphermill_bfv::lwe::reference::{Keys, Lwe, Residues, Ring, Rlwe, product};

/// The plaintext of a row of at most N entries, for every prime of the chain: a_0 − Σ_(j>0) a_j·X^(N−j).
///
/// # Example
/// ```
/// use ciphermill_bfv::lwe::reference::Ring;
/// use ciphermill_hmvp::reference::algorithm1::encode_row;
///
/// let ring = Ring { n: 4, moduli: vec![97], special: vec![] };
/// // 5 − 6·X^3 modulo 97.
/// assert_eq!(encode_row(&ring, &[5, 6]), vec![vec![5, 0, 0, 91]]);
/// ```
pub fn encode_row(ring: &Ring, row: &[i64]) -> Residues {
    let limb = |p: u64| {
        let p = Modulus::new(p).expect("a prime of the chain");
        let mut limb = vec![0; ring.n];
        for (j, &entry) in row.iter().enumerate() {
            let place = (ring.n - j) % ring.n;
            limb[place] = p.reduce_signed(if j == 0 { entry } else { -entry });
        }
        limb
    };
    ring.extended().into_iter().map(limb).collect()
}

/// Stages 1 to 4 for one row: its products with the ciphertexts of the vector, which are over the whole chain and encode N
/// columns each, added up and divided by the special primes, and the constant coefficient of the result extracted.
///
/// # Example
/// ```
/// use ciphermill_bfv::lwe::reference::{Ring, Rlwe};
/// use ciphermill_hmvp::reference::algorithm1::dot_product;
///
/// let ring = Ring { n: 4, moduli: vec![97], special: vec![] };
/// // The vector (1, 2), not encrypted: c_1 is 0.
/// let vector = Rlwe { c0: vec![vec![1, 2, 0, 0]], c1: vec![vec![0; 4]] };
/// assert_eq!(dot_product(&ring, &[5, 6], &[vector]).body, [17]);
/// ```
pub fn dot_product(ring: &Ring, row: &[i64], vector: &[Rlwe]) -> Lwe {
    let extended = ring.extended();
    let mut sums: [Residues; 2] = [0, 1].map(|_| vec![vec![0; ring.n]; extended.len()]);
    for (columns, part) in row.chunks(ring.n).zip(vector) {
        let plaintext = encode_row(ring, columns);
        for (sum, part) in sums.iter_mut().zip([&part.c0, &part.c1]) {
            for (((sum, plaintext), part), &p) in sum.iter_mut().zip(&plaintext).zip(part).zip(&extended) {
                let term = product(plaintext, part, p);
                sum.iter_mut().zip(term).for_each(|(sum, term)| *sum = (*sum + term) % p);
            }
        }
    }
    let [c0, c1] = sums.map(|sum| ring.divide_by_special(&sum));
    ring.extract(&Rlwe { c0, c1 }, 0)
}

/// Algorithm 1 for at most N rows: the product with row i at the coefficient i·N/2^l, where 2^l is the number of rows or
/// the next power of two.
///
/// # Panics
/// If there are no rows or more than N, or `keys` lacks the key of a level.
///
/// # Example
/// ```
/// use ciphermill_bfv::lwe::reference::{Keys, Ring, Rlwe};
/// use ciphermill_hmvp::reference::algorithm1::multiply;
///
/// let ring = Ring { n: 4, moduli: vec![97], special: vec![] };
/// // The vector (1, 2), not encrypted: c_1 is 0. One row needs no key.
/// let vector = Rlwe { c0: vec![vec![1, 2, 0, 0]], c1: vec![vec![0; 4]] };
/// assert_eq!(multiply(&ring, &[vec![5, 6]], &[vector], &Keys::new()).c0[0][0], 17);
/// ```
pub fn multiply(ring: &Ring, rows: &[Vec<i64>], vector: &[Rlwe], keys: &Keys) -> Rlwe {
    let places = rows.len().next_power_of_two();
    let dot_product = |row: &Vec<i64>| dot_product(ring, row, vector);
    let mut inputs: Vec<Lwe> =
        rows.iter().map(|row| ring.divide_by_power_of_two(&dot_product(row), places.ilog2())).collect();
    inputs.resize(places, ring.zero_lwe());
    ring.pack(&inputs, keys)
}
