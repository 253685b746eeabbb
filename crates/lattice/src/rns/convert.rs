//! From one residue number system to another.

use super::crt::{self, CrtSums, Target};
use super::kernels;
use super::{Coefficients, RnsBasis, RnsPoly};

/// Takes x ∈ Z_Q, represented by the integer of (−Q/2, Q/2], to the residues modulo the primes of another basis, exactly
/// except where |x| is within Q·2^-50 of Q/2, where it may be taken as x ± Q (S. Halevi, Y. Polyakov, V. Shoup, "An
/// improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019, §2). With a single prime in `from` it is
/// always exact, and so are the primes that both have. Time and places in memory do not depend on the values.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let other = RnsBasis::new(basis.polynomial_size(), &[65537], basis.isa())?;
/// let converted = BaseConverter::new(&basis, &other).convert(&monomial(5, -7));
/// assert_eq!(other.compose(&converted, 5).to_string(), "-7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BaseConverter {
    from: RnsBasis,
    to: RnsBasis,
    /// Runs of limbs of `to`, in order.
    runs: Vec<Run>,
}

/// How consecutive limbs are made.
#[derive(Clone, Debug)]
enum Run {
    /// One that is limb `from` as well.
    Copy { from: usize },
    /// Limb `to`, from the only limb.
    Lift { to: usize },
    /// Several, by sums over the limbs.
    Sums(CrtSums),
}

/// The run of the targets so far, if there are any.
fn sums(from: &RnsBasis, targets: &mut Vec<Target>) -> Option<Run> {
    let targets = std::mem::take(targets);
    (!targets.is_empty()).then(|| Run::Sums(CrtSums::new(from, 1, targets)))
}

impl BaseConverter {
    /// From basis `from` to basis `to`, of one N; they may share primes.
    pub fn new(from: &RnsBasis, to: &RnsBasis) -> Self {
        assert_eq!(from.polynomial_size(), to.polynomial_size(), "bases of one polynomial size");
        let mut runs = Vec::new();
        let mut targets = Vec::new();
        for (j, p) in to.moduli().enumerate() {
            let shared = from.moduli().position(|q| q == p);
            if shared.is_none() && from.len() > 1 {
                let p = p.value();
                let terms = (0..from.len()).map(|i| crt::cofactor(from, i, p));
                targets.push(Target::new(p, None, terms.chain([(p - crt::product(from.moduli(), p)) % p])));
                continue;
            }
            runs.extend(sums(from, &mut targets));
            runs.push(shared.map_or(Run::Lift { to: j }, |from| Run::Copy { from }));
        }
        runs.extend(sums(from, &mut targets));
        Self { from: from.clone(), to: to.clone(), runs }
    }

    /// The residues of `poly` in the basis `to`.
    pub fn convert(&self, poly: &RnsPoly<Coefficients>) -> RnsPoly<Coefficients> {
        self.from.check(poly);
        let mut out = self.to.zero();
        self.convert_words(poly.words(), out.words_mut());
        out
    }

    /// The same for words, limb after limb: those of `from` in `words`, those of `to` in `out`.
    ///
    /// # Panics
    /// If they are not as many as the limbs of both bases have.
    pub fn convert_words(&self, words: &[u64], out: &mut [u64]) {
        let (n, isa) = (self.from.polynomial_size().get(), self.from.isa());
        assert_eq!(words.len(), n * self.from.len(), "words of the polynomial");
        assert_eq!(out.len(), n * self.to.len(), "words of the result");
        let mut rest = out;
        for run in &self.runs {
            let limbs = if let Run::Sums(sums) = run { sums.target_count() } else { 1 };
            let (out, tail) = rest.split_at_mut(limbs * n);
            rest = tail;
            match run {
                Run::Copy { from } => out.copy_from_slice(&words[from * n..][..n]),
                Run::Lift { to } => {
                    let [q, p] = [&self.from.limbs()[0], &self.to.limbs()[*to]].map(|limb| limb.modulus());
                    kernels::lift(isa, q.value(), p.value(), words, out);
                }
                Run::Sums(sums) => sums.run(n, words, out),
            }
        }
    }
}
