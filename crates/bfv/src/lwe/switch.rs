//! Secrets of other dimensions, and key switching to them.

use ciphermill_lattice::sampler;
use ciphermill_lattice::{Csprng, DecompositionBaseLog, KeyTag, Keystream, MaskStream, PublicSeed, SecretSeed};
use ciphermill_math::Modulus;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{LweCiphertext, add_masked, decrypt, inner_product};
use crate::context::Context;
use crate::encryption::require_tag;
use crate::error::{BfvError, require_length, require_range};
use crate::parameters::{ParameterError, ParameterId, SecurityPolicy, estimate};
use crate::secret_key::{SecretKey, error};

/// The greatest dimension of an [`LweSecretKey`].
pub const MAX_LWE_DIMENSION: usize = 32768;

/// Most bytes of an [`LweKeySwitchKey`].
const MAX_KEY_BYTES: u64 = 4 << 30;

/// The streams of the seed of a key.
const KEY_STREAM: u64 = 0;
const TAG_STREAM: u64 = 1;

/// Entries of the extracted secret that one task switches.
const TASK: usize = 64;

/// A secret key of LWE ciphertexts alone: a ternary vector of any dimension. It is wiped when dropped and does not show
/// its content.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let to = LweSecretKey::generate(&context, 20, &SecretSeed::from_os()?)?;
/// assert_eq!(to.dimension(), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LweSecretKey {
    context: Context,
    tag: KeyTag,
    coefficients: Zeroizing<Vec<i64>>,
}

impl std::fmt::Debug for LweSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LweSecretKey").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl LweSecretKey {
    /// A key of `dimension` coefficients drawn from `seed`, deterministically. Use a seed for nothing else.
    ///
    /// # Errors
    /// If the dimension is not from 1 to [`MAX_LWE_DIMENSION`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let seed = SecretSeed::from_os()?;
    /// assert!(LweSecretKey::generate(&context, 630, &seed).is_ok());
    /// assert!(LweSecretKey::generate(&context, 0, &seed).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(context: &Context, dimension: usize, seed: &SecretSeed) -> Result<Self, BfvError> {
        require_range("dimension of an LWE key", dimension as u64, 1, MAX_LWE_DIMENSION as u64)?;
        let mut coefficients = Zeroizing::new(vec![0; dimension]);
        sampler::ternary(&mut Csprng::from_secret(seed, KEY_STREAM), &mut coefficients);
        let tag = KeyTag(Csprng::from_secret(seed, TAG_STREAM).next_u64());
        Ok(Self { context: context.clone(), tag, coefficients })
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// The number of its coefficients.
    pub fn dimension(&self) -> usize {
        self.coefficients.len()
    }

    /// ⌊t·(b + ⟨a, z⟩)/Q⌉ modulo t.
    ///
    /// # Errors
    /// If the ciphertext is of another key or parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let to = LweSecretKey::generate(&context, 20, &SecretSeed::from_os()?)?;
    /// let key = LweKeySwitchKey::generate(&secret, &to, 1, DecompositionBaseLog(4), policy)?;
    /// let x = secret.encrypt(&context.encode(&[5])?, 1, &mut rng)?;
    /// let switched = key.switch(&context, &[context.extract_lwe(&x, 0)?])?;
    /// assert_eq!(to.decrypt(&switched[0])?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt(&self, lwe: &LweCiphertext) -> Result<u64, BfvError> {
        self.context.require_parameters("the LWE ciphertext", lwe.parameters)?;
        require_tag("the LWE ciphertext", lwe.tag, self.tag)?;
        require_length("dimension of the LWE ciphertext", lwe.dimension, self.dimension())?;
        Ok(decrypt(&self.context, lwe, &self.coefficients))
    }
}

/// A key that switches LWE ciphertexts of l limbs from the coefficients of a [`SecretKey`] to an [`LweSecretKey`].
///
/// The residues of each a_i modulo limb j are cut into balanced digits d with a_i ≡ Σ_k d_k·B^k, where B = 2^base_log.
/// The key has for each (i, j, k) an LWE ciphertext of s_i·B^k modulo limb j and of 0 modulo the others. The switched
/// ciphertext is Σ d·key, with b added. It adds noise of variance N·digits·(B²/12)·σ², for all digits of all limbs: no
/// special modulus divides it, so digits must be small.
///
/// Masks are expanded from a seed when they are needed: the key takes l words for each digit, not l·(n + 1).
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let to = LweSecretKey::generate(&context, 20, &SecretSeed::from_os()?)?;
/// let key = LweKeySwitchKey::generate(&secret, &to, 1, DecompositionBaseLog(4), policy)?;
/// let x = secret.encrypt(&context.encode(&[5])?, 1, &mut rng)?;
/// let switched = key.switch(&context, &[context.extract_lwe(&x, 0)?])?;
/// assert_eq!((switched[0].dimension(), switched[0].key_tag()), (20, key.to_tag()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LweKeySwitchKey {
    parameters: ParameterId,
    from: KeyTag,
    to: KeyTag,
    dimension: usize,
    limbs: usize,
    base_log: DecompositionBaseLog,
    seed: PublicSeed,
    /// By i, then digit (those of limb 0 first), then limb.
    bodies: Vec<u64>,
}

/// How many digits a limb has.
fn digit_count(p: Modulus, base_log: DecompositionBaseLog) -> usize {
    (p.bits() as usize).div_ceil(base_log.0)
}

/// The `count` balanced digits of the residue x, centred: in [−B/2, B/2), but that the last has room for the carry.
fn digits(x: u64, p: Modulus, base_log: DecompositionBaseLog, count: usize) -> impl Iterator<Item = i64> {
    let (w, half) = (base_log.0, 1i128 << (base_log.0 - 1));
    let centred = if x > p.value() / 2 { i128::from(x) - i128::from(p.value()) } else { i128::from(x) };
    let offset: i128 = (0..count).map(|k| half << (w * k)).sum();
    let shifted = centred + offset;
    (0..count).map(move |k| {
        let field = shifted >> (w * k);
        (if k + 1 < count { field & (2 * half - 1) } else { field } - half) as i64
    })
}

/// Uniform residues: 64-bit words of the stream cut to the length of p, those below p.
fn uniform(p: Modulus, stream: &mut MaskStream, out: &mut [u64]) {
    let mut done = 0;
    while done < out.len() {
        let filled = done;
        stream.fill_u64(&mut out[filled..]);
        for next in filled..out.len() {
            let word = out[next] & (u64::MAX >> p.value().leading_zeros());
            out[done] = word;
            done += usize::from(word < p.value());
        }
    }
}

/// An error unless `limbs` limbs at LWE dimension `dimension` have 128 bits of security, or `policy` accepts fewer.
fn judge(context: &Context, limbs: usize, dimension: usize, policy: SecurityPolicy) -> Result<(), ParameterError> {
    let log2_modulus = context.basis(limbs).log2();
    if policy.accepts(estimate(dimension, log2_modulus).bits) {
        return Ok(());
    }
    Err(ParameterError::insecure(format!("an LWE key of dimension {dimension}"), log2_modulus, dimension))
}

impl LweKeySwitchKey {
    /// The key from `from` to `to` for ciphertexts of `limbs` limbs, 1 to L, with digits of `base_log` bits, 1 to 32.
    ///
    /// # Errors
    /// If a number is out of range, the keys are of different parameter sets, or the key would take more than 4 GiB. If
    /// the modulus of these limbs is too large for 128 bits of security at the dimension of `to`, and `policy` does not accept
    /// that. If the operating system gives no randomness.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let to = LweSecretKey::generate(&context, 20, &SecretSeed::from_os()?)?;
    /// let key = LweKeySwitchKey::generate(&secret, &to, 1, DecompositionBaseLog(4), policy)?;
    /// assert_eq!((key.from_tag(), key.to_tag()), (secret.tag(), to.tag()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(
        from: &SecretKey,
        to: &LweSecretKey,
        limbs: usize,
        base_log: DecompositionBaseLog,
        policy: SecurityPolicy,
    ) -> Result<Self, BfvError> {
        let context = &from.context;
        context.require_parameters("the LWE secret key", to.context.parameters().id())?;
        require_range("number of limbs of LWE ciphertexts", limbs as u64, 1, context.top() as u64)?;
        require_range("log2 of the base of digits", base_log.0 as u64, 1, 32)?;
        judge(context, limbs, to.dimension(), policy)?;
        let moduli: Vec<Modulus> = context.basis(limbs).moduli().collect();
        let rows: usize = moduli.iter().map(|&p| digit_count(p, base_log)).sum();
        let needed = (context.n() * rows * limbs * size_of::<u64>()) as u64;
        if needed > MAX_KEY_BYTES {
            return Err(BfvError::Memory { what: "the LWE key-switching key", needed, limit: MAX_KEY_BYTES });
        }
        let (seed, noise) = (PublicSeed::from_os()?, SecretSeed::from_os()?);
        let mut bodies = vec![0; context.n() * rows * limbs];
        bodies.par_chunks_exact_mut(rows * limbs).zip(&from.coefficients[..]).enumerate().for_each_init(
            || vec![0; to.dimension()],
            |mask, (i, (bodies, &s))| {
                let mut stream = MaskStream::new(&seed, i as u64);
                let mut noise = Csprng::from_secret(&noise, i as u64);
                let mut entry = bodies.chunks_exact_mut(limbs);
                for (j, &q) in moduli.iter().enumerate() {
                    for k in 0..digit_count(q, base_log) {
                        let error = error(1, &mut noise)[0];
                        let bodies = entry.next().expect("an entry per digit");
                        for (l, (&p, body)) in moduli.iter().zip(bodies).enumerate() {
                            uniform(p, &mut stream, mask);
                            let gadget = if l == j { p.pow(2, (base_log.0 * k) as u64) } else { 0 };
                            // e + s·g − ⟨a, z⟩.
                            let message = inner_product(&[gadget], &[s], small_residue(error, p), p);
                            *body = p.sub(message, inner_product(mask, &to.coefficients, 0, p));
                        }
                    }
                }
            },
        );
        let parameters = context.parameters().id();
        Ok(Self { parameters, from: from.tag, to: to.tag, dimension: to.dimension(), limbs, base_log, seed, bodies })
    }

    /// The key set of its inputs.
    pub fn from_tag(&self) -> KeyTag {
        self.from
    }

    /// The key set of its results.
    pub fn to_tag(&self) -> KeyTag {
        self.to
    }

    /// Switches `inputs` in one pass over the key, whose masks are expanded once for all of them: the more, the cheaper
    /// each. Work is spread over the current rayon pool.
    ///
    /// # Errors
    /// If an input is of another key or parameter set, has another dimension than N or not the key's number of limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let to = LweSecretKey::generate(&context, 20, &SecretSeed::from_os()?)?;
    /// let key = LweKeySwitchKey::generate(&secret, &to, 1, DecompositionBaseLog(4), policy)?;
    /// let x = secret.encrypt(&context.encode(&[5])?, 1, &mut rng)?;
    /// let inputs = [context.extract_lwe(&x, 0)?, context.extract_lwe(&x, 1)?];
    /// let switched = key.switch(&context, &inputs)?;
    /// assert_eq!([to.decrypt(&switched[0])?, to.decrypt(&switched[1])?], [5, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch(&self, context: &Context, inputs: &[LweCiphertext]) -> Result<Vec<LweCiphertext>, BfvError> {
        context.require_parameters("the LWE key-switching key", self.parameters)?;
        for input in inputs {
            context.require_parameters("the LWE ciphertext", input.parameters)?;
            require_tag("the LWE ciphertext", input.tag, self.from)?;
            require_length("dimension of the LWE ciphertext", input.dimension, context.n())?;
            require_length("number of limbs of the LWE ciphertext", input.limb_count(), self.limbs)?;
        }
        let empty = || -> Vec<LweCiphertext> {
            let zero = LweCiphertext {
                parameters: self.parameters,
                tag: self.to,
                dimension: self.dimension,
                mask: vec![0; self.dimension * self.limbs],
                body: vec![0; self.limbs],
            };
            vec![zero; inputs.len()]
        };
        let tasks = context.n().div_ceil(TASK);
        let sums = (0..tasks).into_par_iter().fold(empty, |mut sums, task| {
            (task * TASK..((task + 1) * TASK).min(context.n()))
                .for_each(|i| self.add_row(context, i, inputs, &mut sums));
            sums
        });
        let mut outputs = sums.reduce(empty, |mut sums, others| {
            sums.iter_mut().zip(&others).for_each(|(sum, other)| add(context, sum, other));
            sums
        });
        for (output, input) in outputs.iter_mut().zip(inputs) {
            for ((p, body), &b) in context.basis(self.limbs).moduli().zip(&mut output.body).zip(&input.body) {
                *body = p.add(*body, b);
            }
        }
        Ok(outputs)
    }

    /// Adds the products of the digits of a_i of every input with their rows of the key.
    fn add_row(&self, context: &Context, i: usize, inputs: &[LweCiphertext], sums: &mut [LweCiphertext]) {
        let limbs = context.basis(self.limbs).limbs();
        let mut stream = MaskStream::new(&self.seed, i as u64);
        let (mut mask, mut term) = (vec![0; self.dimension], vec![0; self.dimension]);
        let rows = self.bodies.len() / context.n() / self.limbs;
        let mut bodies = self.bodies[i * rows * self.limbs..].chunks_exact(self.limbs);
        for (j, q) in limbs.iter().map(|limb| limb.modulus()).enumerate() {
            let count = digit_count(q, self.base_log);
            let digits: Vec<Vec<i64>> =
                inputs.iter().map(|input| digits(input.mask(j)[i], q, self.base_log, count).collect()).collect();
            for (k, bodies) in (0..count).zip(&mut bodies) {
                for (l, limb) in limbs.iter().enumerate() {
                    let p = limb.modulus();
                    uniform(p, &mut stream, &mut mask);
                    for (sum, digits) in sums.iter_mut().zip(&digits) {
                        let digit = p.reduce_signed(digits[k]);
                        term.copy_from_slice(&mask);
                        limb.kernels().multiply_scalar(&mut term, digit);
                        limb.kernels().add(&mut sum.mask[l * self.dimension..][..self.dimension], &term);
                        sum.body[l] = p.add(sum.body[l], p.mul(bodies[l], digit));
                    }
                }
            }
        }
    }
}

/// The residue of an error, which is less than any prime of a chain in magnitude, without a branch.
fn small_residue(error: i64, p: Modulus) -> u64 {
    (error + (error >> 63 & p.value() as i64)) as u64
}

/// sum ← sum + other.
fn add(context: &Context, sum: &mut LweCiphertext, other: &LweCiphertext) {
    for (l, limb) in context.basis(sum.limb_count()).limbs().iter().enumerate() {
        let words = l * sum.dimension..(l + 1) * sum.dimension;
        limb.kernels().add(&mut sum.mask[words.clone()], &other.mask[words]);
        sum.body[l] = add_masked(sum.body[l], other.body[l], limb.modulus().value());
    }
}

#[cfg(test)]
mod tests {
    use ciphermill_math::Isa;
    use ciphermill_math::modulus::ntt_primes;

    use super::*;
    use crate::noise::ERROR_VARIANCE;
    use crate::parameters::ParameterSet;

    #[test]
    fn digits_are_balanced_and_recompose() {
        let primes = [5, 14, 35, 62].map(|bits| ntt_primes(bits, 1).next().expect("a prime"));
        for p in primes {
            for base_log in 1..=32 {
                let (base_log, count) =
                    (DecompositionBaseLog(base_log), digit_count(p, DecompositionBaseLog(base_log)));
                for x in [0, 1, 2, p.value() / 2, p.value() / 2 + 1, p.value() - 1, p.value() / 3, p.value() / 5 * 4] {
                    let (mut sum, half) = (0i128, 1i64 << (base_log.0 - 1));
                    for (k, digit) in digits(x, p, base_log, count).enumerate() {
                        assert!((-half..half + i64::from(k + 1 == count)).contains(&digit), "digit {digit} of {x}");
                        sum += i128::from(digit) << (base_log.0 * k);
                    }
                    assert_eq!(sum.rem_euclid(i128::from(p.value())), i128::from(x), "{x} modulo {p}");
                    assert!(2 * sum.abs() <= i128::from(p.value()), "centred");
                }
            }
        }
    }

    /// Phases of switched ciphertexts less those of the inputs, over the model's standard deviation.
    fn noise_ratio(seed: &SecretSeed) -> f64 {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let parameters = ParameterSet::named("TEST_512", policy).expect("a named set");
        let context = Context::new(&parameters, Isa::current()).expect("available");
        let from = SecretKey::generate(&context, seed);
        let to = LweSecretKey::generate(&context, 96, seed).expect("a dimension");
        let (base_log, p) = (DecompositionBaseLog(8), context.basis(1).limbs()[0].modulus());
        let key = LweKeySwitchKey::generate(&from, &to, 1, base_log, policy).expect("fits");
        let mut stream = MaskStream::new(&PublicSeed([1; 32]), 0);
        let inputs: Vec<LweCiphertext> = (0..512)
            .map(|_| {
                let mut mask = vec![0; context.n()];
                uniform(p, &mut stream, &mut mask);
                let (parameters, tag) = (parameters.id(), from.tag);
                LweCiphertext { parameters, tag, dimension: context.n(), mask, body: vec![0] }
            })
            .collect();
        let switched = key.switch(&context, &inputs).expect("its inputs");
        let square = |(input, output): (&LweCiphertext, &LweCiphertext)| {
            let before = inner_product(&input.mask, &from.coefficients, input.body[0], p);
            let after = inner_product(&output.mask, &to.coefficients, output.body[0], p);
            let noise = p.sub(after, before);
            let noise = if noise > p.value() / 2 { noise as f64 - p.value() as f64 } else { noise as f64 };
            noise * noise
        };
        let variance = inputs.iter().zip(&switched).map(square).sum::<f64>() / inputs.len() as f64;
        let digits = digit_count(p, base_log) as f64;
        (variance / (context.n() as f64 * digits * 65536.0 / 12.0 * ERROR_VARIANCE)).sqrt()
    }

    #[test]
    fn noise_is_as_documented() {
        for seed in [[1; 32], ciphermill_testing::fresh_seed_bytes("switch")] {
            let ratio = noise_ratio(&SecretSeed::from_bytes(seed));
            println!("standard deviation over the model's: {ratio:.3}");
            assert!((0.8..1.2).contains(&ratio), "{ratio}");
        }
    }
}
