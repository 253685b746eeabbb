//! Automorphisms of polynomials modulo X^N + 1.

/// p(X^exponent) modulo X^N + 1, for an odd exponent below 2N.
#[must_use]
pub fn automorphism(polynomial: &[u64], exponent: usize) -> Vec<u64> {
    let n = polynomial.len();
    let mut out = vec![0; n];
    for (i, &x) in polynomial.iter().enumerate() {
        let to = i * exponent % (2 * n);
        if to < n {
            out[to] = x;
        } else {
            out[to - n] = x.wrapping_neg();
        }
    }
    out
}
